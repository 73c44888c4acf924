internal import DibitConstraint

/// A text that must satisfy a constraint, as far as it has been written.
struct GuidedText {
  private var state: ConstraintState
  private var mask: TokenMask
  /// Tokens that end the text; without any, it ends as soon as it may.
  private let endTokens: [Int32]

  /// - Throws: ``InferenceError/constraintNeedsTokens(_:available:)`` when `tokens` tokens cannot bring the text to an end.
  init(_ constraint: TokenConstraint, tokens: Int) throws(InferenceError) {
    state = constraint.start()
    mask = TokenMask(count: constraint.vocabulary.count)
    endTokens = constraint.vocabulary.endTokens
    guard state.tokensToEnd <= tokens else { throw .constraintNeedsTokens(state.tokensToEnd, available: tokens) }
  }

  /// True when nothing comes any more.
  var isOver: Bool { state.hasEnded || state.mustEnd || (endTokens.isEmpty && state.isComplete) }

  /// True when what has been written satisfies the constraint.
  var isComplete: Bool { state.hasEnded || state.isComplete || state.mustEnd }

  /// Tokens that come next whatever the model says, when `remaining` may still come.
  mutating func forced(remaining: Int) -> [Int32] { state.forcedTokens(remaining: remaining) }

  /// Calls `body` with the tokens that may come next: a bit for each.
  mutating func choose(remaining: Int, _ body: (Span<UInt64>) throws(InferenceError) -> Int32) throws(InferenceError) -> Int32 {
    state.mask(into: &mask, remaining: remaining)
    return try body(mask.words.span)
  }

  /// Goes on behind a token that was allowed.
  mutating func advance(_ token: Int32) { state.advance(token) }
}
