package import DibitCheckpoint
package import DibitFailure
package import DibitInference
package import DibitModelStore
package import DibitTraining

/// The reasons for which nothing was measured.
package enum BenchmarkError: EngineError, Equatable {
  case store(ModelStoreError)
  case checkpoint(CheckpointError)
  case inference(InferenceError)
  case context(needed: Int, available: Int)
  case trainingContext(needed: Int, available: Int)
  case training(TrainingError)
  case interrupted

  /// One sentence: what was expected and found, and what to do.
  package var description: String {
    switch self {
    case .store(let error): "\(error)"
    case .checkpoint(let error): "\(error)"
    case .inference(let error): "\(error)"
    case .context(let needed, let available):
      "\(needed) tokens do not fit the model's context of \(available): ask for fewer with \(optionName("promptTokens")), \(optionName("decodeTokens")) or \(optionName("context"))"
    case .trainingContext(let needed, let available):
      "sequences of \(needed) tokens do not fit the model's context of \(available): ask for shorter ones with \(optionName("tokens"))"
    case .training(let error): "\(error)"
    case .interrupted: "interrupted"
    }
  }

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .context, .trainingContext: .invalidRequest
    case .interrupted: .interrupted
    default: cause?.kind ?? .badData
    }
  }

  /// The failure of the model, its files or its use.
  package var cause: (any EngineError)? {
    switch self {
    case .store(let error): error
    case .checkpoint(let error): error
    case .inference(let error): error
    case .training(let error): error
    default: nil
    }
  }
}
