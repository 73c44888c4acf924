internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModelStore
internal import DibitTokenizer

struct TokenizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tokenize",
    abstract: "Show the token ids of a text.",
    discussion: """
      Example: dibit tokenize ./model --text "Once upon a time"

      SOURCE is a model directory or a tokenizer file of any kind that 'dibit convert' reads. Bytes that are not UTF-8 count as U+FFFD.
      With --lines every line of the file is a text of its own, and gets a line of ids.
      """)

  @Argument(help: "A model (directory or file), or a tokenizer file.") var source: String
  @Argument(help: "The file with the text.") var file: String?
  @Option(help: "The text itself.") var text: String?
  @Flag(help: "Take special tokens that are spelled out in the text as plain text.") var plain = false
  @Flag(help: "Do not add what the tokenizer adds, such as a token for the start of a text.") var bare = false
  @Flag(help: "Each line of the file is a text.") var lines = false
  @Flag(help: "Print ids and tokens as JSON.") var json = false

  /// Far above any text that somebody wants to see the ids of.
  private static let largest = 1 << 30

  func validate() throws {
    guard (file == nil) != (text == nil) else {
      throw ValidationError("expected a FILE or --text, found \(file == nil ? "neither" : "both")")
    }
    guard !lines || file != nil else { throw ValidationError("--lines: expected a FILE, found none") }
  }

  func run() throws {
    let tokenizer = try TokenizerSource.open(source).tokenizer
    let input = try text ?? String(decoding: readFile(file ?? "", limit: Self.largest), as: UTF8.self)
    guard lines else { return show(tokenizer, encode(input, tokenizer)) }
    var rest = Substring(input)
    if rest.unicodeScalars.last == "\n" { rest = Substring(rest.unicodeScalars.dropLast()) }
    for line in rest.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
      show(tokenizer, encode(String(line), tokenizer))
    }
  }

  private func encode(_ text: String, _ tokenizer: Tokenizer) -> [Int32] {
    tokenizer.encode(text, addingSpecialTokens: !bare, parsingSpecialTokens: !plain)
  }

  private func show(_ tokenizer: Tokenizer, _ ids: [Int32]) {
    guard json else { return Output.print(ids.map(String.init).joined(separator: " ")) }
    let object: JSONValue = [
      "ids": .array(ids.map { .integer(Int($0)) }), "tokens": .array(ids.map { .string(tokenizer.token(of: $0) ?? "") }),
    ]
    Output.print(object.serialized())
  }
}
