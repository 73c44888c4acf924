internal import DibitDataset
package import DibitFailure
package import DibitInference
package import DibitJinja
package import DibitKernels
package import DibitModelStore

/// A chat in progress, on the caller's thread: its messages, and a session that has read them as far as the last answer.
///
/// A turn that fails, or is interrupted before its first text, leaves the messages as they were.
package struct ChatSession: ~Copyable {
  /// The messages of the chat so far.
  package private(set) var messages: [DialogueMessage]
  /// The tools that the model may call.
  package var tools: [OfferedTool] = []
  private var session: DialogueSession

  /// A chat with a model that can tell who speaks, under an adapter that did not learn to tag.
  package init(_ model: StoredModel, adapter: OpenedAdapter?, messages: [DialogueMessage] = [], on compute: Compute) throws {
    try self.init(model, adapter: adapter, messages: messages, constraints: ConstraintCache(), on: compute)
  }

  /// A chat whose constraints are kept with others of the model.
  init(
    _ model: StoredModel, adapter: OpenedAdapter?, messages: [DialogueMessage], constraints: ConstraintCache, on compute: Compute
  ) throws {
    if let adapter, adapter.tagger != nil {
      throw DibitError(.invalidData, "the adapter '\(adapter.path)' was trained to tag texts, not to talk", .tagInstead)
    }
    let format = try DialogueFormat(model, adapter: adapter)
    self.init(DialogueSession(model, adapter: adapter, format: format, constraints: constraints, on: compute), messages: messages)
  }

  /// A chat that goes on behind `messages`, over a session that it takes over.
  package init(_ session: consuming DialogueSession, messages: [DialogueMessage] = []) {
    self.session = session
    self.messages = messages
  }

  /// The most tokens of the chat.
  package var context: Int { session.context }

  /// True when the user, or a tool, has the last word: then ``answer(_:options:receive:reading:calling:)`` needs no text.
  package var awaitsAnswer: Bool {
    switch messages.last {
    case .user?, .result?: true
    default: false
    }
  }

  /// The system message; nil for none.
  package var system: String? {
    get { if case .system(let text)? = messages.first { text } else { nil } }
    set {
      if system != nil { messages.removeFirst() }
      if let newValue { messages.insert(.system(newValue), at: 0) }
    }
  }

  /// Takes back the user's last message and all behind it; false where there is none.
  package mutating func undo() -> Bool {
    guard let last = messages.lastIndex(where: { if case .user = $0 { true } else { false } }) else { return false }
    messages.removeSubrange(last...)
    return true
  }

  /// Forgets all but the system message.
  package mutating func reset() { messages.removeAll { if case .system = $0 { false } else { true } } }

  /// Says `text`, if there is one, lets the model call tools, and gets the answer; all of it becomes messages.
  ///
  /// - Parameters:
  ///   - options: how the answer is made, and its form.
  ///   - receive: gets each piece of the answer as soon as it is certain, and an empty one for each token that is none of its text; false
  ///     interrupts it.
  ///   - reading: is told how many of the chat's tokens have been read; false interrupts the turn.
  ///   - calling: calls one of ``tools`` and returns what it gave.
  package mutating func answer(
    _ text: String?, options: Response.Options, receive: @escaping (DialoguePiece) -> Bool = { _ in true },
    reading: @escaping (_ done: Int, _ of: Int) -> Bool = { _, _ in true },
    calling: (ToolCall) throws -> String = { _ in "" }
  ) throws -> ChatAnswer {
    var said = messages + (text.map { [.user($0)] } ?? [])
    var made: [ToolCall] = []
    var readTokens = 0
    for round in 0... {
      var request = DialogueRequest(said)
      (request.tools, request.made, request.options) = (tools, made, options)
      request.toolUse = round < DialogueRequest.roundLimit ? .allowed : .disallowed
      let step = try Self.naming { try session.step(request, DialogueListener(receive: receive, reading: reading)) }
      readTokens += step.counts.read
      guard !step.calls.isEmpty else {
        if step.generation.finishReason != .interrupted || !step.text.isEmpty { messages = said + [.assistant(step.text)] }
        return ChatAnswer(
          generation: step.generation, promptTokens: step.counts.prompt, readTokens: readTokens, isCutByContext: step.isCutByContext)
      }
      made += step.calls
      said.append(.calls(step.calls))
      for call in step.calls { said.append(.result(call, try calling(call))) }
    }
    throw DibitError.cancelled
  }

  /// Names what is wrong with a chat as one.
  private static func naming<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch InferenceError.contextFull(let tokens, let context) {
      throw ChatError.contextFull(tokens: tokens, context: context)
    } catch let error as JinjaError { throw ChatError.template(error) }
  }
}

/// The reasons for which a chat has no answer.
package enum ChatError: EngineError, Equatable {
  /// The chat leaves no room for an answer.
  case contextFull(tokens: Int, context: Int)
  case template(JinjaError)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what, what was expected and found.
  package var description: String {
    switch self {
    case .contextFull(let tokens, let context):
      "the chat would have \(tokens) tokens, and the model's context of \(context) leaves no room for an answer"
    case .template(let error): "the model's chat template: \(error)"
    }
  }
}
