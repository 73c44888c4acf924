internal import DibitDataset
internal import DibitFiles
internal import DibitInference
internal import DibitTokenizer
internal import Synchronization

/// A conversation with a model, which keeps what it has read: of a further turn only what is new goes through the model.
///
/// Each answer is the one that a fresh chat with the same messages would give. A chat holds keys and values for the whole context of the
/// model as long as it lives. What is asked of it is done in the order of the calls, between what else the model does.
///
/// ```swift
/// let chat = try await model.chat(system: "Answer in one sentence.")
/// for try await piece in chat.respond(to: "Name a river.") { print(piece, terminator: "") }
/// print(try await chat.respond(to: "Where does it end?").value.text)
/// ```
public final class Chat: Sendable {
  /// The model that answers.
  public let model: Model
  private let session: Mutex<ChatSession>
  /// The messages as of the last call that is done: nobody waits for an answer to see them.
  private let transcript: Mutex<[Message]>

  /// Takes a session over.
  fileprivate init(_ model: Model, _ session: consuming sending ChatSession) {
    self.model = model
    transcript = Mutex(session.messages.compactMap { Message($0) })
    self.session = Mutex(session)
  }

  /// The messages so far, the system's first if there is one; without a turn that is going on.
  ///
  /// ```swift
  /// let kept = chat.messages
  /// let later = try await model.chat(messages: kept)
  /// ```
  public var messages: [Message] { transcript.withLock { $0 } }

  /// Says a text to the model. The job tells each piece of the answer as soon as it is certain; its value is the whole.
  ///
  /// The text and the answer become messages when the answer is there. A turn that fails, or that is cancelled before its first piece,
  /// leaves the messages as they were; of one that is cancelled later what has come stays, and ``undo()`` takes it back.
  ///
  /// ```swift
  /// let response = try await chat.respond(to: "Where does it end?").value
  /// print(response.text, response.readTokens, "of", response.promptTokens, "tokens were new")
  /// ```
  ///
  /// - Parameters:
  ///   - text: What the user says; nil where the last message is the user's already, which is then answered.
  ///   - options: How tokens are chosen, how many, and the form of the answer.
  /// - Returns: The job. It fails with ``DibitError`` where the chat does not fit the model's context any more.
  public func respond(to text: String? = nil, options: Response.Options = Response.Options()) -> Job<String, Response> {
    Job(on: model.worker) { [self] report in
      try update { session in
        guard session.awaitsAnswer == (text == nil) else {
          throw DibitError(
            .invalidArgument, option: "text",
            text == nil
              ? "expected some, as the last message is not the user's" : "expected none, as a message of the user has no answer yet")
        }
        let answer = try session.answer(
          text, options: options,
          receive: { [turns = model.worker.turns] piece in
            turns.yield()
            guard case .text(let text, _) = piece, !text.isEmpty else { return !report.isCancelled }
            return report(text)
          }, reading: { _, _ in !report.isCancelled })
        return try Response(answer.generation, promptTokens: answer.promptTokens, readTokens: answer.readTokens)
      }
    }
  }

  /// Takes back the user's last message with the answer to it.
  ///
  /// ```swift
  /// if try await chat.undo() { print("the last turn is forgotten") }
  /// ```
  ///
  /// - Returns: False where the user has said nothing.
  /// - Throws: ``DibitError`` where the task is cancelled.
  @discardableResult
  public func undo() async throws(DibitError) -> Bool { try await edit { $0.undo() } }

  /// Forgets all messages but the system's.
  ///
  /// ```swift
  /// try await chat.reset()
  /// ```
  ///
  /// - Throws: ``DibitError`` where the task is cancelled.
  public func reset() async throws(DibitError) { try await edit { $0.reset() } }

  /// Sets the message of the system, in place of the one before.
  ///
  /// ```swift
  /// try await chat.setSystem("Answer in verse.")
  /// ```
  ///
  /// - Parameters:
  ///   - text: The message; nil for none.
  /// - Throws: ``DibitError`` where the task is cancelled.
  public func setSystem(_ text: String?) async throws(DibitError) { try await edit { $0.system = text } }

  /// Keeps the messages in a file, which ``messages(at:)`` reads: JSON, a list of objects with `role` and `content`.
  ///
  /// ```swift
  /// try await chat.save(to: "chat.json")
  /// ```
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - overwrites: Whether a chat that lies there is replaced.
  /// - Throws: ``DibitError`` where the file cannot be created, or lies there and is not to be replaced or is no chat.
  public func save(to path: String, overwrites: Bool = false) async throws(DibitError) {
    try await edit { [model] session in
      try TranscriptFile.write(session.messages, to: path, overwrites: overwrites, inputs: JobInputs([model.path]))
    }
  }

  /// Reads the messages of a chat from a file: JSON, a list of objects with `role` and `content`, or such an object on each line.
  ///
  /// ```swift
  /// let chat = try await model.chat(messages: Chat.messages(at: "chat.json"))
  /// ```
  ///
  /// - Parameters:
  ///   - path: The file.
  /// - Returns: The messages, in order.
  /// - Throws: ``DibitError`` where there is no file, or it holds something else.
  public static func messages(at path: String) async throws(DibitError) -> [Message] {
    try await Worker("transcript").run { _ in try TranscriptFile.read(path).map { Message($0) } }
  }

  private func edit<Value: Sendable>(_ body: @escaping @Sendable (inout ChatSession) throws -> Value) async throws(DibitError) -> Value {
    try await model.worker.run { [self] _ in try update(body) }
  }

  /// Calls `body` with the session, on the model's worker alone, and shows others what the messages are then.
  private func update<Value: Sendable>(_ body: (inout ChatSession) throws -> Value) throws -> Value {
    try session.withLock { session in
      defer { transcript.withLock { $0 = session.messages.compactMap { Message($0) } } }
      return try body(&session)
    }
  }
}

extension Model {
  /// Begins a conversation, or goes on with one.
  ///
  /// ```swift
  /// let chat = try await model.chat(system: "Answer in one sentence.")
  /// ```
  ///
  /// - Parameters:
  ///   - system: The message of the system, in place of one in `messages`; nil for that, or none.
  ///   - messages: What has been said, such as ``Chat/messages`` of an earlier chat.
  ///   - adapter: An adapter of this model that learnt from conversations; nil for the model alone.
  /// - Returns: The chat.
  /// - Throws: ``DibitError`` for a model without a chat template, for an adapter that tags texts, and for messages that are out of turn.
  public func chat(
    system: String? = nil, messages: [Message] = [], adapter: Adapter? = nil
  ) async throws(DibitError) -> Chat {
    try await worker.run { [stored, runtime] _ in
      try check(adapter)
      let said = messages.map(\.chatMessage)
      try ChatTranscript.check(said)
      var session = try ChatSession(
        stored, adapter: adapter?.opened, messages: said.map { DialogueMessage($0) }, constraints: runtime.constraints,
        on: runtime.compute(for: .writing))
      if let system { session.system = system }
      return Chat(self, session)
    }
  }
}
