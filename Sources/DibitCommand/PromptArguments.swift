internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFiles
internal import DibitTokenizer

/// The source of the prompt of `dibit generate`, and the way in which it is read.
struct PromptArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The text to continue or to answer; - reads it from standard input, as does a pipe without any of these options.", valueName: "text"))
  var prompt: String?
  @Option(help: ArgumentHelp("The file with the text; - for standard input.", valueName: "path")) var promptFile: String?
  @Option(
    help: ArgumentHelp(
      "A chat to go on with: JSON, a list of {\"role\", \"content\"} or one of them on each line; - for standard input.", valueName: "path")
  )
  var messages: String?
  @Option(help: ArgumentHelp("The system message of the chat template.", valueName: "text")) var system: String?
  @Flag(help: "Do not use a chat template, nor the prompt of an adapter that tags.") var raw = false
  @Flag(
    help: ArgumentHelp(
      "With --raw: take control tokens that are spelled out in the prompt as such. Not for texts of others: they could speak for anybody."))
  var specialTokens = false

  func validate() throws {
    let given = [("--prompt", prompt), ("--prompt-file", promptFile), ("--messages", messages)].filter { $0.1 != nil }.map(\.0)
    if given.count > 1 { throw ValidationError("\(given[1]): expected either it or \(given[0]), found both") }
    if raw, messages != nil { throw ValidationError("--messages: a chat needs a chat template, which --raw leaves out") }
    if raw, system != nil { throw ValidationError("--system: a system message needs a chat template, which --raw leaves out") }
    if specialTokens, !raw { throw ValidationError("--special-tokens: goes with --raw") }
  }

  /// The option that an adapter which tags texts, and has an instruction of its own, has no use for.
  var chatOption: String? { messages != nil ? "--messages" : system != nil ? "--system" : nil }

  /// Reads the prompt.
  func read() throws -> Prompt {
    if let messages {
      let read = try TranscriptFile.readInput(messages)
      guard read.last?.role == .user else {
        throw Failure(
          .badData,
          "'\(messages)': a last message of the user expected, which is answered; found \(read.last.map { "one of the \($0.role.rawValue)" } ?? "none")"
        )
      }
      if system != nil, read.first?.role == .system {
        throw Failure(.usage, "--system: '\(messages)' has a system message of its own; leave out one of them")
      }
      return Prompt(.chat((system.map { [ChatMessage(role: .system, content: $0)] } ?? []) + read))
    }
    // A prompt that was rendered elsewhere may end with a line end of its own.
    if let promptFile { return asked(try UTF8Text.read(promptFile, keepsLineEnd: specialTokens)) }
    if let prompt, prompt != TextLocation.standardInput { return asked(prompt) }
    let help = "--prompt, --prompt-file, --messages or a text on standard input expected, found none; see 'dibit generate --help'"
    guard prompt != nil || !StandardInput.isTerminal else { throw Failure(.usage, help) }
    let text = try UTF8Text.read(TextLocation.standardInput, keepsLineEnd: specialTokens)
    guard prompt != nil || !text.isEmpty else { throw Failure(.usage, help) }
    return asked(text)
  }

  private func asked(_ text: String) -> Prompt {
    if !raw, text.allSatisfy(\.isWhitespace) { Terminal.note("the prompt is empty") }
    return raw ? .text(text, parsesSpecialTokens: specialTokens) : .user(text, system: system)
  }
}

extension TranscriptFile {
  /// The messages in a file, or in standard input for "-".
  static func readInput(_ path: String) throws -> [ChatMessage] { try parse(path) { try ChatTranscript.messages(parsing: $0) } }

  /// The messages in a file, or in standard input for "-", calls of tools and what these gave among them.
  static func readDialogue(_ path: String) throws -> [DialogueMessage] { try parse(path) { try DialogueMessage.messages(parsing: $0) } }

  private static func parse<Message>(_ path: String, _ body: ([UInt8]) throws -> [Message]) throws -> [Message] {
    let text = try UTF8Text.read(path)
    return try Failure.context(path == TextLocation.standardInput ? "standard input" : "'\(path)'") { try body(Array(text.utf8)) }
  }
}
