internal import DibitFailure
internal import DibitFiles
internal import DibitModelStore
internal import DibitReport

/// The sentences of engines, in the words of a command line.
///
/// Their sentences name an option as a program does, and know nothing of commands: `maxTokens` becomes --max-tokens here,
/// and where another command helps its call is added.
enum Advice {
  /// The sentence of an error with what to do about it here.
  static func sentence(of error: any EngineError) -> String {
    let root = error.root
    let told = "\(root)"
    return options(in: "\(error)".replacing(told, with: told + advice(root)))
  }

  /// The text with the options that it names as they are given to a command.
  static func options(in text: String) -> String { namingOptions(in: text, as: flag) }

  /// "--top-k" for "topK".
  static func flag(_ option: String) -> String {
    flags[option] ?? "--" + option.map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }.joined()
  }

  /// Options that have a shorter name here.
  private static let flags = ["maximumTokens": "--max-tokens", "start": "--from", "stopStrings": "--stop"]

  /// Returns the advice that a command line has to offer for a failure.
  private static func advice(_ root: any EngineError) -> String {
    switch root {
    case FileError.outputExists: " or pass --overwrite"
    case ModelStoreError.notConverted(let path): ": run 'dibit convert \(path) --output MODEL' first (--bits 32 keeps its weights)"
    case ModelStoreError.noTokenizer: "; 'dibit convert' takes one with --tokenizer"
    case ModelStoreError.trainedScales: ": run 'dibit convert'"
    case ModelStoreError.isAdapter(let path, isForeign: true):
      ", or make it one of that model with 'dibit convert \(path) --base MODEL --output ADAPTER'"
    case ModelStoreError.isForeignAdapter(let path):
      ": run 'dibit convert \(path) --base MODEL --output ADAPTER' first, with --labels where it does not say them"
    case ReportError.missing: "; 'dibit evaluate --json' writes reports"
    default: ""
    }
  }
}
