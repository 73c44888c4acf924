internal import DibitCheckpoint
internal import DibitConstraint
internal import DibitConversion
internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitJinja
internal import DibitKernels
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTokenizer
internal import DibitTraining

/// Tells what engines say of a failure, as the library says it. This is the only place that knows their errors.
extension DibitError {
  init(_ error: any Error) {
    switch error {
    case let error as DibitError: self = error
    case let error as CheckpointError: self.init(error.errorClass, error)
    case let error as ModelStoreError: self.init(error.errorClass, error)
    case let error as any KnownFailure: self.init(error.kind, Self.libraryWords("\(error)"))
    default: self.init(.unexpected, "\(error)")
    }
  }

  private init(_ errorClass: CheckpointError.Class, _ error: any Error) { self.init(Kind(errorClass), Self.libraryWords("\(error)")) }

  /// Options of the command line that engines still name, and what they are called here.
  private static let names: [(option: String, name: String)] = [
    ("or pass --overwrite", "or set 'overwrites'"), ("pass --overwrite instead of --resume", "set 'overwrites' and not 'resumes'"),
    ("pass --resume to go on, or --overwrite to begin anew", "set 'resumes' to go on, or 'overwrites' to begin anew"),
    ("leave --resume out", "leave 'resumes' out"), ("raise --max-tokens", "raise 'maximumTokens'"),
    ("--memory-limit:", "'memoryLimit':"), ("--text-column", "'textColumn'"), ("--label-column", "'labelColumn'"),
    (" (--bits 32 keeps its weights)", ""), ("with --bits 2", "to 2 bits"),
    ("; 'dibit convert' takes one with --tokenizer", "; a conversion takes one of another place"),
    ("the output of 'dibit train' expected", "the output of a training expected"),
    ("the same training with --resume", "the same training with 'resumes'"),
  ]

  private static func libraryWords(_ sentence: String) -> String {
    // "run 'dibit convert …' first" names its arguments.
    let sentence = sentence.replacing(/run 'dibit convert [^']*'( first)?/, with: "convert it first")
    return names.reduce(sentence) { $0.replacing($1.option, with: $1.name) }
  }
}

/// An engine's error that knows its kind.
private protocol KnownFailure: Error { var kind: DibitError.Kind { get } }

extension DibitError.Kind {
  init(_ errorClass: CheckpointError.Class) {
    switch errorClass {
    case .missingInput: self = .missing
    case .badData: self = .invalidData
    case .cannotCreate: self = .cannotCreate
    case .inputOutput: self = .inputOutput
    }
  }
}

extension ConversionError: KnownFailure { var kind: DibitError.Kind { errorClass.map { DibitError.Kind($0) } ?? .cancelled } }
extension EvaluationError: KnownFailure { var kind: DibitError.Kind { self == .interrupted ? .cancelled : .invalidData } }
extension InferenceError: KnownFailure { var kind: DibitError.Kind { .invalidData } }
extension ConstraintError: KnownFailure { var kind: DibitError.Kind { .invalidArgument } }
extension PromptTemplateError: KnownFailure { var kind: DibitError.Kind { .invalidArgument } }
extension RecipeError: KnownFailure { var kind: DibitError.Kind { .invalidData } }
extension TokenizerError: KnownFailure { var kind: DibitError.Kind { .invalidData } }
extension JinjaError: KnownFailure { var kind: DibitError.Kind { .invalidData } }
extension KernelError: KnownFailure { var kind: DibitError.Kind { .invalidArgument } }
extension DatasetError: KnownFailure {
  var kind: DibitError.Kind {
    switch exitClass {
    case .missingInput: .missing
    case .badData: .invalidData
    case .inputOutput: .inputOutput
    }
  }
}
extension TrainingError: KnownFailure {
  var kind: DibitError.Kind {
    switch errorClass {
    case .usage: .invalidArgument
    case .badData: .invalidData
    case .missingInput: .missing
    case .failedRun: .diverged
    case .cannotCreate: .cannotCreate
    case .file(let file): DibitError.Kind(file)
    }
  }
}
extension PredictionFault: KnownFailure {
  var kind: DibitError.Kind {
    switch self {
    case .input(let error): error.kind
    case .model(let error): error.kind
    }
  }
}
