internal import Dibit

extension ModelLine {
  /// Makes a step that keeps to the list of words that is installed. Text that it refuses with an explanation is the explanation instead.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - asked: The entries that are new in it.
  ///   - trace: What the step is told to.
  ///   - receive: The receiver of the pieces of the answer.
  /// - Throws: ``LanguageModelSession/GenerationError/guardrailViolation(_:)``, ``LanguageModelSession/GenerationError/refusal(_:_:)`` for values
  ///   of types, and what the model throws.
  func checkedStep(
    _ request: StepRequest, asked: [Transcript.Entry], trace: SessionTrace, _ receive: (StepPiece) throws -> Void
  ) async throws -> ModelStep {
    guard let list = denied(in: request.form) else { return try await step(request, trace: trace, receive) }
    var text = CheckedText(list)
    do {
      try list.check(asked)
      let step = try await step(request, trace: trace) { piece in
        try text.read(piece)
        try receive(piece)
      }
      try list.check(step.text)
      return step
    } catch let match as DenyList.Match {
      guard request.form.schema == nil, let explanation = match.explanation else { throw match.failure(after: request.entries).error }
      try receive(.restart)
      try receive(.text(explanation, text.usage))
      var step = ModelStep()
      (step.text, step.usage) = (explanation, text.usage)
      return step
    }
  }
}

/// A text that is checked against a list of words as it grows.
private struct CheckedText {
  private let list: DenyList
  private var text = ""
  /// The tokens so far.
  private(set) var usage = LanguageModelSession.Usage()

  init(_ list: DenyList) { self.list = list }

  /// Takes a piece in, unless the text would have a word of the list.
  mutating func read(_ piece: StepPiece) throws {
    switch piece {
    case .restart: text = ""
    case .text(let words, let usage):
      text += words
      self.usage = usage
      try list.check(text, isWhole: false)
    }
  }
}
