internal import DibitConstraint
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
internal import DibitModelStore

/// The failures of engines as the library tells them. This is the only place that knows their errors.
extension DibitError {
  init(_ error: any Error) {
    switch error {
    case let error as DibitError: self = error
    case let error as any EngineError: self.init(Kind(error), Self.sentence(of: error), detail: Self.detail(of: error.root))
    default: self.init(.unexpected, "\(error)")
    }
  }

  /// The sentence of an engine with what an app can do about it.
  private static func sentence(of error: any EngineError) -> String {
    let told = "\(error.root)"
    return "\(error)".replacing(told, with: told + advice(error.root)).replacing(
      "the output of 'dibit train'", with: "the output of a training")
  }

  private static func detail(of root: any EngineError) -> Detail? {
    switch root {
    case InferenceError.contextFull(let tokens, let context), ChatError.contextFull(let tokens, let context):
      .contextFull(tokens: tokens, context: context)
    case InferenceError.constraintNeedsTokens(let tokens, let available): .answerNeeds(tokens: tokens, available: available)
    case is ConstraintError: .form
    default: nil
    }
  }

  private static func advice(_ root: any EngineError) -> String {
    switch root {
    case FileError.outputExists: " or set 'overwrites'"
    case ModelStoreError.notConverted: ": convert it first"
    case ModelStoreError.noTokenizer: "; a conversion takes one of another place"
    case ModelStoreError.trainedScales: ": convert it"
    default: ""
    }
  }
}

extension DibitError.Kind {
  init(_ error: any EngineError) {
    switch error.kind {
    case .notFound, .noPermission: self = .missing
    // A schema is what the caller asks for, whoever wrote it.
    case .badData: self = error is ConstraintError ? .invalidArgument : .invalidData
    case .invalidRequest: self = .invalidArgument
    case .cannotCreate: self = .cannotCreate
    case .inputOutput: self = .inputOutput
    case .failedRun: self = .diverged
    case .interrupted: self = .cancelled
    }
  }
}
