public import Foundation

extension LanguageModelSession {
  /// The failures of a request for which the session is to blame, or whoever uses it.
  public enum Error: LocalizedError, CustomDebugStringConvertible, Hashable {
    /// The session answers another request. Thrown with the trait `FoundationModels27`; without it
    /// ``GenerationError/concurrentRequests(_:)`` is.
    case concurrentRequests
    /// Somebody took the prompt out of the transcript while it was being answered: by setting ``LanguageModelSession/transcript`` or
    /// ``SessionPropertyValues/history``.
    case transcriptMutationWhileResponding

    /// A sentence for developers.
    public var debugDescription: String {
      switch self {
      case .concurrentRequests: "a session answers one request at a time, and one is being answered"
      case .transcriptMutationWhileResponding:
        "the transcript was set while a request was being answered, and does not have its prompt any more"
      }
    }

    /// A sentence for people that says what happened.
    public var errorDescription: String? { debugDescription }
  }
}

extension SystemLanguageModel {
  /// The failures of a model of this machine. Thrown with the trait `FoundationModels27`; without it
  /// ``LanguageModelSession/GenerationError`` is.
  public enum Error: LocalizedError, CustomDebugStringConvertible {
    /// The model, or an adapter, is not there or damaged.
    case assetsUnavailable(AssetsUnavailable)

    /// A model, or an adapter, that is not there or damaged.
    public struct AssetsUnavailable: Sendable {
      /// A sentence for developers.
      public var debugDescription: String

      /// Facts of a failure.
      ///
      /// - Parameter debugDescription: A sentence for developers.
      public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    /// A sentence for developers.
    public var debugDescription: String {
      switch self {
      case .assetsUnavailable(let facts): facts.debugDescription
      }
    }

    /// A sentence for people that says what happened.
    public var errorDescription: String? { debugDescription }
  }
}
