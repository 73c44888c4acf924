internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitJSON

/// A chat with whoever writes lines to standard input: a person at a terminal, or a pipe.
struct Talk: ~Copyable {
  private var chat: ChatSession
  private var options: Response.Options
  private let tools: CommandTools
  private var lines = InputLines()
  private var answers = 0
  /// Files that this chat has written, which it may replace.
  private var written: Set<String> = []
  private let isInteractive: Bool
  private let json: Bool
  private let save: String?
  /// The inputs that no chat may be written over. The messages that it began with are none: what is kept holds them too.
  private let inputs: JobInputs
  /// True while anybody reads the answers.
  private var isRead = true

  /// - Parameter replacesSaved: whether a file that lies at `save` already may be replaced.
  init(
    _ chat: consuming ChatSession, options: Response.Options, tools: CommandTools, isInteractive: Bool, json: Bool, save: String?,
    replacesSaved: Bool, inputs: JobInputs
  ) {
    self.chat = chat
    self.chat.tools = tools.offered
    (self.options, self.tools, self.isInteractive, self.json, self.save, self.inputs) = (options, tools, isInteractive, json, save, inputs)
    if let save, replacesSaved { written.insert(save) }
  }

  /// The most tokens of the chat.
  var context: Int { chat.context }

  /// Answers until there is no further line, or nobody reads the answers any more and they are not kept either.
  mutating func run() throws {
    if chat.awaitsAnswer { try say(nil, origin: "--messages") }
    while isRead || save != nil, let line = try nextLine() {
      if line.allSatisfy(\.isWhitespace) { continue }
      guard isInteractive, line.hasPrefix("/") else {
        try say(line, origin: "line \(lines.count)")
        continue
      }
      // A second slash says that the first one is meant.
      if line.hasPrefix("//") { try say(String(line.dropFirst()), origin: "") } else if try !obey(line) { return }
    }
    if isInteractive { Terminal.write("\n") }
  }

  /// The next line; nil at the end.
  private mutating func nextLine() throws -> String? {
    while true {
      if isInteractive { Terminal.write("> ") }
      switch try lines.next() {
      case .line(let line):
        if isInteractive { Interrupt.clear() }
        return line
      case .end: return nil
      case .interrupted:
        // The second Ctrl-C in a row ends the process at once.
        guard isInteractive, !Interrupt.isTermination, !lines.toldOfInterrupt else { throw interruption }
        Terminal.write("\n(Ctrl-C again or Ctrl-D ends)\n")
        lines.toldOfInterrupt = true
      case .invalid(let bytes, let offset):
        let fault = "line \(lines.count) of standard input: \(UTF8Text.message(bytes, offset))"
        guard isInteractive else { throw Failure(.badData, fault) }
        Terminal.write("error: \(fault)\n")
      }
    }
  }

  private var interruption: Failure { Failure(.interrupted, "interrupted after \(counted(answers, "answer"))") }

  // MARK: Turns

  /// Says `text`, or lets the last message be answered, and prints the answer. In a terminal what goes wrong ends the turn, not the chat.
  private mutating func say(_ text: String?, origin: String) throws {
    // What helps against a full context depends on what fills it.
    let hasEarlierTurns = chat.messages.contains { if case .assistant = $0 { true } else { false } }
    do {
      let (answer, progress, calls) = try answer(text)
      if !Output.write((json ? Self.record(answer, progress, calls).serialized() : "") + "\n") { isRead = false }
      answers += 1
      if answer.isCutByContext {
        let hint = hasEarlierTurns ? advice : ""
        Terminal.note("the answer ends here because the model's context of \(grouped(context)) tokens is full\(hint)")
      }
    } catch let error as DibitError where error.kind == .cancelled {
      // Interrupted before there was an answer: see below.
    } catch {
      guard let failure = Failure(error) else { throw error }
      let hint = if case ChatError.contextFull = error { hasEarlierTurns ? advice : ": shorten the message" } else { "" }
      let message = (isInteractive ? "" : "\(origin): ") + failure.message + hint
      guard isInteractive else { throw Failure(failure.code, message) }
      Terminal.write("error: \(message)\n")
      return
    }
    if let save {
      do { try keep(in: save) } catch {
        // The chat is nowhere but here: what goes wrong with a file must not end it.
        guard isInteractive, let failure = Failure(error) else { throw error }
        Terminal.write("error: --save: \(failure.message); /save FILE keeps the chat elsewhere\n")
      }
    }
    guard Interrupt.isRequested else { return }
    guard isInteractive, !Interrupt.isTermination else { throw interruption }
    Interrupt.clear()
  }

  /// Gets the answer, and prints it as it comes unless it is printed as JSON.
  private mutating func answer(_ text: String?) throws -> (ChatAnswer, GenerationProgress, [JSONValue]) {
    var (progress, calls, isRead, hasText) = (GenerationProgress(), [JSONValue](), true, false)
    let (streams, isKept) = (!json, save != nil)
    defer {
      progress.finish()
      self.isRead = isRead
    }
    let answer = try chat.answer(
      text, options: options,
      receive: { piece in
        switch piece {
        case .text(let text, _):
          if streams, !text.isEmpty {
            if !Output.write(text) { isRead = false }
            hasText = true
          }
        case .restart:
          if hasText, !Output.write("\n") { isRead = false }
          hasText = false
        }
        return (isRead || isKept) && !Interrupt.isRequested
      },
      reading: { done, total in
        progress.read(done, of: total)
        return !Interrupt.isRequested
      },
      calling: { [tools] call in
        if streams { Terminal.write("[\(call.name) \(call.arguments.serialized())]\n") }
        let output = try tools.call(call)
        calls.append(["name": .string(call.name), "arguments": call.arguments, "output": .string(output)])
        return output
      })
    return (answer, progress, calls)
  }

  /// The advice against a full context.
  private var advice: String {
    isInteractive
      ? ": nothing is lost; /undo takes back the last turn, /save keeps the chat, /reset begins anew"
      : ": begin another chat, or let fewer turns come before"
  }

  /// An answer for machines.
  private static func record(_ answer: ChatAnswer, _ progress: GenerationProgress, _ calls: [JSONValue]) -> JSONValue {
    let called: [(key: String, value: JSONValue)] = calls.isEmpty ? [] : [(key: "tool_calls", value: .array(calls))]
    return .object(
      JSONObject(
        [(key: "role", value: "assistant"), (key: "content", value: .string(answer.generation.text))] + called + [
          (key: "finish_reason", value: .string(answer.generation.finishReason.rawValue)),
          (key: "prompt_tokens", value: .integer(answer.promptTokens)), (key: "read_tokens", value: .integer(answer.readTokens)),
          (key: "tokens", value: .integer(answer.generation.tokens.count)),
          (key: "prompt_seconds", value: .number(progress.readingSeconds)),
          (key: "seconds", value: .number(progress.seconds)),
        ]))
  }

  private mutating func keep(in path: String) throws {
    try TranscriptFile.write(chat.messages, to: path, overwrites: written.contains(path), inputs: inputs)
    written.insert(path)
  }

  // MARK: Commands

  private static let help = """
    /undo         take back the last message and its answer
    /reset        forget all but the system message
    /system TEXT  set the system message; without TEXT there is none
    /schema FILE  answer with JSON of this schema, a file or {...}; without FILE in words
    /save FILE    keep the chat as JSON, for --messages
    /exit         end, as Ctrl-D does
    //text        a message that begins with a slash
    Ctrl-C ends an answer; what has come of it stays in the chat.

    """

  /// Does what a line with a slash says; false to end.
  private mutating func obey(_ line: String) throws -> Bool {
    let name = line.prefix { !$0.isWhitespace }
    let argument = Self.trimmed(line.dropFirst(name.count))
    switch name {
    case "/help": Terminal.write(Self.help)
    case "/exit", "/quit": return false
    case "/undo":
      guard chat.undo() else {
        Terminal.write("there is no message to take back\n")
        break
      }
      Terminal.write("taken back; \(counted(chat.messages.count, "message")) left\n")
    case "/reset":
      chat.reset()
      Terminal.write("the chat begins anew\n")
    case "/system":
      chat.system = argument.isEmpty ? nil : argument
      Terminal.write(argument.isEmpty ? "no system message\n" : "system message set\n")
    case "/schema": try obeySchema(argument)
    case "/save":
      guard !argument.isEmpty else {
        Terminal.write("error: /save: the name of a file expected, found none\n")
        break
      }
      do {
        try keep(in: argument)
        Terminal.wrote(argument)
      } catch FileError.outputExists(let path) {
        Terminal.write("error: /save: '\(path)' exists already; choose another name\n")
      } catch { try tell(error) }
    default: Terminal.write("error: there is no command '\(name)'; /help lists them, and //... is a message that begins with a slash\n")
    }
    return true
  }

  private mutating func obeySchema(_ argument: String) throws {
    guard !argument.isEmpty else {
      options.format = .text
      Terminal.write("answers in words\n")
      return
    }
    guard options.stopStrings.isEmpty else {
      Terminal.write("error: /schema: a chat without --stop expected, which could cut such an answer\n")
      return
    }
    do {
      let schema = try SchemaText(argument, "/schema")
      try schema.check()
      options.format = schema.format
      Terminal.write("answers as JSON of the schema\n")
    } catch { try tell(error) }
  }

  private func tell(_ error: any Error) throws {
    guard let failure = Failure(error) else { throw error }
    Terminal.write("error: \(failure.message)\n")
  }

  private static func trimmed(_ text: Substring) -> String {
    guard let start = text.firstIndex(where: { !$0.isWhitespace }), let end = text.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(text[start...end])
  }
}
