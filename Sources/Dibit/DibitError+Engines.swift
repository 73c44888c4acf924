internal import DibitFailure

/// The failures of engines, as the library tells them. This is the only place that knows their errors.
extension DibitError {
  init(_ error: any Error) {
    switch error {
    case let error as DibitError: self = error
    case let error as any EngineError: self.init(Kind(error.kind), "\(error)".replacing("`", with: "'"))
    default: self.init(.unexpected, "\(error)")
    }
  }
}

extension DibitError.Kind {
  init(_ kind: FailureKind) {
    switch kind {
    case .notFound, .noPermission: self = .missing
    case .badData: self = .invalidData
    case .invalidRequest: self = .invalidArgument
    case .cannotCreate: self = .cannotCreate
    case .inputOutput: self = .inputOutput
    case .failedRun: self = .diverged
    case .interrupted: self = .cancelled
    }
  }
}
