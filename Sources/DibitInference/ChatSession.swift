package import DibitConstraint
package import DibitFailure
package import DibitJinja
package import DibitTokenizer

/// A chat in progress: its messages, and a session that has read them as far as the last answer.
///
/// Each prompt is the whole chat, as ``ChatFormat`` writes it, and a ``PromptSession`` reads what is new of it: of a further turn only the
/// new message, and where a template writes an earlier answer otherwise than the model did (without its thoughts, say) what follows from
/// there.
///
/// A turn that fails, or is interrupted before its first text, leaves the messages as they were.
package struct ChatSession: ~Copyable {
  /// The format in which the chat is written.
  package let format: ChatFormat
  /// The messages of the chat so far.
  package private(set) var messages: [ChatMessage]
  private var session: PromptSession

  /// A chat that goes on behind `messages`, over `session`, which it takes over.
  package init(_ session: consuming Session, format: ChatFormat, messages: [ChatMessage] = []) {
    self.format = format
    self.messages = messages
    self.session = PromptSession(session, tokenizer: format.tokenizer)
  }

  /// The most tokens of the chat.
  package var context: Int { session.context }

  /// True when the user has the last word: then ``answer(_:options:receive:reading:)`` needs no text.
  package var awaitsAnswer: Bool { messages.last?.role == .user }

  /// The system message; nil for none.
  package var system: String? {
    get { messages.first.flatMap { $0.role == .system ? $0.content : nil } }
    set {
      if system != nil { messages.removeFirst() }
      if let newValue { messages.insert(ChatMessage(role: .system, content: newValue), at: 0) }
    }
  }

  /// Takes back the user's last message and the answer to it; false where there is none.
  package mutating func undo() -> Bool {
    guard let last = messages.lastIndex(where: { $0.role == .user }) else { return false }
    messages.removeSubrange(last...)
    return true
  }

  /// Forgets all but the system message.
  package mutating func reset() { messages.removeAll { $0.role != .system } }

  /// Says `text`, if there is one, and gets the answer, which becomes a message too.
  ///
  /// - Parameters:
  ///   - options: how the answer is made; it ends at the tokens of the format as well.
  ///   - constraint: what the answer must satisfy; nil for any text.
  ///   - receive: gets each piece of the answer, as in ``Session/generate(_:past:tokenizer:options:constraint:receive:reading:)``.
  ///   - reading: is told how many of the chat's tokens have been read.
  package mutating func answer(
    _ text: String?, options: GenerationOptions, constraint: TokenConstraint? = nil, receive: (String) -> Bool = { _ in true },
    reading: (_ done: Int, _ of: Int) -> Bool = { _, _ in true }
  ) throws(ChatError) -> ChatAnswer {
    let said = messages + (text.map { [ChatMessage(role: .user, content: $0)] } ?? [])
    let prompt: [Int32]
    do throws(JinjaError) { prompt = try format.prompt(said) } catch { throw .template(error) }
    guard prompt.isEmpty || prompt.count < context else { throw .contextFull(tokens: prompt.count, context: context) }
    var options = options
    options.stopTokens.formUnion(format.endTokens)
    do throws(InferenceError) {
      let answer = try session.answer(prompt, options: options, constraint: constraint, receive: receive, reading: reading)
      let result = answer.generation
      if result.finishReason != .interrupted || !result.text.isEmpty {
        messages = said + [ChatMessage(role: .assistant, content: result.text)]
      }
      return answer
    } catch { throw .inference(error) }
  }
}

/// An answer to a prompt of which only a part had to be read.
package struct ChatAnswer: Equatable, Sendable {
  /// Its text and tokens, and why it ended.
  package let generation: Generation
  /// Tokens of the prompt: in a chat, of all that was said before.
  package let promptTokens: Int
  /// The number of these that the session did not hold.
  package let readTokens: Int
  /// True when it ended because the context is full.
  package let isCutByContext: Bool
}

/// The reasons for which there is no answer.
package enum ChatError: EngineError, Equatable {
  /// The chat leaves no room for an answer.
  case contextFull(tokens: Int, context: Int)
  case template(JinjaError)
  case inference(InferenceError)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// The failure of the model.
  package var cause: (any EngineError)? { if case .inference(let error) = self { error } else { nil } }

  /// One sentence: what, what was expected and found.
  package var description: String {
    switch self {
    case .contextFull(let tokens, let context):
      "the chat would have \(tokens) tokens, and the model's context of \(context) leaves no room for an answer"
    case .template(let error): "the model's chat template: \(error)"
    case .inference(let error): "\(error)"
    }
  }
}
