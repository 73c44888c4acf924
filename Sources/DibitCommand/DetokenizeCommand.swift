internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitModelStore
internal import DibitTokenizer

struct DetokenizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "detokenize",
    abstract: "Show the text of token ids.",
    discussion: """
      Example: dibit detokenize ./model --ids 504,3021,314
      Example: dibit tokenize ./model note.txt | dibit detokenize ./model -

      Ids stand between spaces, commas or line ends, as 'dibit tokenize' prints them. Control tokens are spelled out. With --lines every line \
      of ids is a text of its own, and gets a line.
      """)

  @Argument(help: "A model (directory or file), or a tokenizer file.") var source: String
  @Argument(help: "The file with the ids, or - for standard input.") var file: String?
  @Option(help: ArgumentHelp("The ids themselves.", valueName: "1,2,...")) var ids: String?
  @Flag(help: "Leave control tokens out.") var plain = false
  @Flag(help: "Each line of ids is a text.") var lines = false

  func validate() throws {
    guard (file == nil) != (ids == nil) else {
      throw ValidationError("expected a FILE or --ids, found \(file == nil ? "neither" : "both")")
    }
  }

  func run() throws {
    Interrupt.listen()
    let tokenizer = try TokenizerSource.open(source).tokenizer
    let input = try ids ?? UTF8Text.read(file ?? "")
    guard lines else { return Output.print(tokenizer.decode(try parse(input, tokenizer), skippingSpecialTokens: plain)) }
    for line in TokenizeCommand.lines(of: input) {
      Output.print(tokenizer.decode(try parse(String(line), tokenizer), skippingSpecialTokens: plain))
    }
  }

  /// The ids of a text.
  private func parse(_ text: String, _ tokenizer: Tokenizer) throws -> [Int32] {
    let parts = text.split { $0 == "," || $0.isWhitespace }
    return try parts.enumerated().map { index, part in
      guard let id = Int32(part), id >= 0, tokenizer.token(of: id) != nil else {
        let expected = "the id of a token, from 0 to \(tokenizer.vocabularyCount - 1), expected"
        let found = part.count > 40 ? part.prefix(40) + "..." : part
        throw Failure(.badData, "id \(index + 1): \(expected), '\(found)' found")
      }
      return id
    }
  }
}
