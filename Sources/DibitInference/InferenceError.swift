package import DibitFailure

/// The reasons for which text cannot be run through a model.
package enum InferenceError: EngineError, Equatable {
  case emptyPrompt
  case emptyText
  case contextFull(tokens: Int, context: Int)
  case unknownToken(Int32, vocabulary: Int)
  case notFinite(position: Int)
  case noAllowedToken(position: Int)
  case constraintNeedsTokens(Int, available: Int)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what, what was expected and found, and what to do.
  package var description: String {
    switch self {
    case .emptyPrompt: "the prompt has no tokens"
    case .emptyText: "a text of at least one token expected, none found"
    case .contextFull(let tokens, let context):
      "\(tokens) tokens do not fit the model's context of \(context): shorten the prompt"
    case .unknownToken(let id, let vocabulary): "token id \(id) is outside the model's vocabulary of \(vocabulary)"
    case .notFinite(let position): "the model's output at position \(position) is not a number: its weights are damaged"
    case .constraintNeedsTokens(let needed, let available):
      "a text that satisfies the constraint may take \(needed) tokens, and only \(available) may come: allow more"
    case .noAllowedToken(let position): "no token that is allowed behind position \(position) can be: the constraint does not fit the model"
    }
  }
}
