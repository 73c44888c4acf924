internal import DibitInference
internal import DibitModelStore
internal import DibitTokenizer
internal import Synchronization

/// A line to a model that answers whole dialogues, one request after the other, and reads of each only what it has not read before.
///
/// Dialogues of one model are answered side by side, a token of each in turn, over one set of weights. A dialogue holds keys and values for
/// the model's whole context from its first request on.
package final class Dialogue: Sendable {
  /// The model that answers.
  package let model: Model
  private let adapter: Adapter?
  private let format: DialogueFormat
  private let worker: Worker
  private let state = Mutex(State())

  private struct State: ~Copyable {
    var session: PromptSession?
    /// The calls so far, for their identifiers.
    var calls = 0
  }

  /// Opens a line to a model, under an adapter or under none.
  ///
  /// - Throws: ``DibitError`` for a model that cannot tell who speaks, and for an adapter of another model.
  package init(_ model: Model, adapter: Adapter? = nil) async throws(DibitError) {
    self.model = model
    self.adapter = adapter
    format = try await model.worker.run { _ in
      try model.check(adapter)
      let chat = try model.stored.chatFormat()
      guard chat.tellsRoles || adapter?.opened.tagger != nil else { throw StoredModel.noChat(model.path) }
      return DialogueFormat(chat)
    }
    worker = Worker("dialogue", turns: model.worker.turns)
  }

  /// Makes the next step of a dialogue. The job tells each piece of an answer as soon as it is certain; its value is the whole.
  package func step(_ request: DialogueRequest) -> Job<String, DialogueStep> {
    Job(on: worker) { [self] report in
      let prompt = try prompt(request)
      return try withSession { session, calls in
        var run = DialogueRun(
          request: request, prompt: prompt, format: format, constraints: model.runtime.constraints, turns: worker.turns, report: report,
          calls: calls)
        defer { calls = run.calls }
        return try run.step(&session)
      }
    }
  }

  /// Reads the prompt of a request ahead. The job's value is the number of tokens that had to be read.
  package func read(_ request: DialogueRequest) -> Job<Never, Int> {
    Job(on: worker) { [self] report in
      let prompt = try prompt(request)
      return try withSession { session, _ in
        try session.read(prompt.tokens) { _ in
          worker.turns.yield()
          return !report.isCancelled
        }
      }
    }
  }

  /// Returns the number of tokens that the prompt of a request has: the longest, where there are several.
  package func promptTokens(_ request: DialogueRequest) async throws(DibitError) -> Int {
    try await worker.run { [self] _ in
      let tokens = try prompt(request).tokens.count
      guard !request.callable.isEmpty, format.callForm == nil else { return tokens }
      return max(tokens, try format.choicePrompt(request.messages, request.tools).count)
    }
  }

  /// The prompt in the words that an adapter that tags has learnt, or the dialogue as the model reads it.
  private func prompt(_ request: DialogueRequest) throws -> DialoguePrompt {
    guard let tagger = adapter?.opened.tagger else { return try format.prompt(request.messages, tools: request.callable) }
    let text = request.messages.reversed().lazy.compactMap { if case .user(let text) = $0 { text } else { nil } }.first ?? ""
    let asked = try ModelPrompt(.user(text), adapter: tagger, model: model.stored)
    return DialoguePrompt(tokens: asked.tokens, text: nil, endTokens: asked.endTokens, answer: asked.answer)
  }

  private func withSession<Value: Sendable>(_ body: (inout PromptSession, inout Int) throws -> Value) throws -> Value {
    try state.withLock { state in
      var session: PromptSession
      if let kept = state.session.take() {
        session = kept
      } else {
        let stored = model.stored
        session = PromptSession(
          Session(
            stored.configuration, weights: stored.weights, adapter: adapter?.opened.loaded, on: model.runtime.compute(for: .writing)),
          tokenizer: stored.tokenizer)
      }
      var calls = state.calls
      let result = Result { try body(&session, &calls) }
      state.session = consume session
      state.calls = calls
      return try result.get()
    }
  }
}
