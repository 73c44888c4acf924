package import DibitCheckpoint
package import DibitFailure
package import DibitModelStore

/// The reasons for which a model cannot be compared with a reference.
package enum VerificationError: EngineError, Equatable {
  case checkpoint(CheckpointError)
  case store(ModelStoreError)
  case missing(tensor: String, reference: String)
  case shape(tensor: String, reference: String, expected: String, found: [Int])
  case tokenOutside(tensor: String, index: Int, token: Float, vocabulary: Int)
  case tooLong(reference: String, tokens: Int, context: Int)
  case nothingLabelled(reference: String)
  case unknownParameter(tensor: String, reference: String)
  case notFinite(tensor: String, reference: String, index: Int, found: Float)
}

extension VerificationError {
  /// One sentence: what, where, what was expected and found.
  package var description: String {
    switch self {
    case .checkpoint(let error): "\(error)"
    case .store(let error): "\(error)"
    case .missing(let tensor, let reference):
      "'\(reference)': the reference has no tensor '\(tensor)'; it needs input_ids and logits, and labels for a loss"
    case .shape(let tensor, let reference, let expected, let found):
      "'\(reference)': tensor '\(tensor)': shape \(expected) expected, \(found) found"
    case .tokenOutside(let tensor, let index, let token, let vocabulary):
      "tensor '\(tensor)', element \(index): a token id from 0 to \(vocabulary - 1) expected, \(token) found"
    case .tooLong(let reference, let tokens, let context):
      "'\(reference)': sequences of at most \(context) tokens expected, the model's context; \(tokens) found"
    case .nothingLabelled(let reference): "'\(reference)': labels: at least one position with a label expected, all are masked"
    case .unknownParameter(let tensor, let reference):
      "'\(reference)': '\(tensor)' belongs to no parameter of this model: is it the reference of another model?"
    case .notFinite(let tensor, let reference, let index, let found):
      "'\(reference)': tensor '\(tensor)', element \(index): a finite number expected, \(found) found; nothing can be compared with it"
    }
  }

  /// The kind of failure.
  package var kind: FailureKind { cause?.kind ?? .badData }

  /// The failure of the reference's file or of the model.
  package var cause: (any EngineError)? {
    switch self {
    case .checkpoint(let error): error
    case .store(let error): error
    default: nil
    }
  }
}
