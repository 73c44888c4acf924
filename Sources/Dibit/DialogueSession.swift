package import DibitInference
internal import DibitKernels
internal import DibitModelStore
package import DibitTokenizer

/// Dialogues answered one request after the other, on the caller's thread: of each is read only what the request before did not have.
package struct DialogueSession: ~Copyable {
  private let format: DialogueFormat
  private let constraints: ConstraintCache
  private var session: PromptSession
  /// The calls so far, for their identifiers.
  private var calls = 0

  /// A session of a model, under an adapter or under none.
  init(
    _ model: StoredModel, adapter: OpenedAdapter?, format: DialogueFormat, constraints: ConstraintCache = ConstraintCache(),
    on compute: Compute
  ) {
    self.init(
      Session(model.configuration, weights: model.weights, adapter: adapter?.loaded, on: compute), tokenizer: model.tokenizer,
      format: format, constraints: constraints)
  }

  /// Takes a session over whose prompts are written in a format.
  package init(_ session: consuming Session, format: ChatFormat) {
    self.init(session, tokenizer: format.tokenizer, format: DialogueFormat(format), constraints: ConstraintCache())
  }

  private init(_ session: consuming Session, tokenizer: Tokenizer, format: DialogueFormat, constraints: ConstraintCache) {
    (self.format, self.constraints) = (format, constraints)
    self.session = PromptSession(session, tokenizer: tokenizer)
  }

  /// The most tokens of a prompt with its answer.
  package var context: Int { session.context }

  /// Makes the next step of a dialogue.
  mutating func step(_ request: DialogueRequest, _ listener: DialogueListener) throws -> DialogueStep {
    var run = DialogueRun(request, try format.prompt(request), format, constraints, listener, calls: calls)
    defer { calls = run.calls }
    return try run.step(&session)
  }

  /// Reads the prompt of a request ahead, as far as `reading` lets it, and returns the number of tokens that had to be read.
  mutating func read(_ request: DialogueRequest, reading: (Int) -> Bool) throws -> Int {
    try session.read(format.prompt(request).tokens, reading: reading)
  }
}

/// Somebody who is told how a step of a dialogue goes, and may end it.
struct DialogueListener {
  /// Gets a piece of the answer as soon as it is certain; false ends the step.
  var receive: (DialoguePiece) -> Bool
  /// Is told how many of the prompt's tokens have been read, of how many; false ends the step.
  var reading: (_ done: Int, _ of: Int) -> Bool = { _, _ in true }
}

/// A piece of what a model says in a dialogue.
package enum DialoguePiece: Equatable, Sendable {
  /// Text that goes on behind the text before, with the tokens of the step so far; empty for a token that is none of the answer's text.
  case text(String, DialogueCounts)
  /// The text so far is taken back: it led to calls, or to an answer that begins anew.
  case restart
}
