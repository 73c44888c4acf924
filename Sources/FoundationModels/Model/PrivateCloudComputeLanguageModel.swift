public import Foundation
public import Observation

/// The model of Apple's servers, which can be reached from Apple's devices alone: here it says so.
///
/// It is never available, for ``Availability/UnavailableReason/deviceNotEligible``, so that apps which prefer it fall back to what they have
/// for devices without it; a request to it fails with ``Error/serviceUnavailable(_:)``. Nothing is ever sent anywhere.
public final class PrivateCloudComputeLanguageModel: Sendable, Observable {
  /// The server model.
  public init() {}

  /// True where the model can be asked. Never here.
  public final var isAvailable: Bool { availability == .available }

  /// An answer to whether the model can be asked: here, why not.
  public final var availability: Availability { .unavailable(.deviceNotEligible) }

  /// The use of the quota: nothing is used here.
  public final var quotaUsage: QuotaUsage { QuotaUsage(status: .belowLimit(.init(isApproachingLimit: false))) }

  /// The languages of the model, of which nothing is known here.
  public nonisolated final var supportedLanguages: Set<Locale.Language> { [] }

  /// True for a locale whose language the model knows.
  ///
  /// - Parameter locale: The locale.
  /// - Throws: ``Error/serviceUnavailable(_:)``, always: only the service knows.
  public nonisolated final func supportsLocale(_ locale: Locale = Locale.current) throws -> Bool { throw Error.unreachable }

  /// The tokens of the model's context.
  ///
  /// - Throws: ``Error/serviceUnavailable(_:)``, always: only the service knows.
  public nonisolated(nonsending) final var contextSize: Int { get async throws { throw Error.unreachable } }

  /// An answer to whether the model can be asked.
  @frozen public enum Availability: Equatable, Sendable {
    /// It can.
    case available
    /// It cannot.
    case unavailable(UnavailableReason)

    /// The reasons for which the model cannot be asked.
    public enum UnavailableReason: Equatable, Sendable {
      /// This is no device of Apple's that may ask it.
      case deviceNotEligible
      /// The system is not ready yet.
      case systemNotReady
    }
  }

  /// The use of a quota.
  public struct QuotaUsage: Sendable {
    /// The part of the quota that is used.
    public var status: Status
    /// A way to a larger quota; nil where there is none.
    public var limitIncreaseSuggestion: LimitIncreaseSuggestion?
    /// The time from which on the quota is there again; nil where nobody knows.
    public var resetDate: Date?

    /// True where the quota is used up.
    public var isLimitReached: Bool { if case .limitReached = status { true } else { false } }

    /// The parts of a quota that may be used.
    public enum Status: Sendable {
      /// Some of it is left.
      case belowLimit(BelowLimit)
      /// None of it is left.
      case limitReached(LimitReached)

      /// A quota of which some is left.
      public struct BelowLimit: Sendable {
        /// True where it is nearly used up.
        public var isApproachingLimit: Bool
      }

      /// A quota that is used up.
      public struct LimitReached: Sendable {}
    }

    /// A way to a larger quota.
    public struct LimitIncreaseSuggestion: Sendable {
      /// Shows it to the user. There is nothing to show here, and nobody is ever given one.
      public func show() {}
    }
  }

  /// The failures of the service.
  public enum Error: LocalizedError, CustomDebugStringConvertible {
    /// The network failed.
    case networkFailure(NetworkFailure)
    /// The quota is used up.
    case quotaLimitReached(QuotaLimitReached)
    /// The service cannot be reached. The only failure here.
    case serviceUnavailable(ServiceUnavailable)

    /// A failure of the network.
    public struct NetworkFailure: Sendable {
      /// A sentence for developers.
      public var debugDescription: String

      /// Facts of a failure.
      ///
      /// - Parameter debugDescription: A sentence for developers.
      public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    /// A quota that is used up.
    public struct QuotaLimitReached: Sendable {
      /// A way to a larger quota; nil where there is none.
      public var limitIncreaseSuggestion: QuotaUsage.LimitIncreaseSuggestion?
      /// The time from which on the quota is there again; nil where nobody knows.
      public var resetDate: Date?
      /// A sentence for developers.
      public var debugDescription: String

      /// Facts of a failure.
      ///
      /// - Parameters:
      ///   - limitIncreaseSuggestion: A way to a larger quota; nil where there is none.
      ///   - resetDate: The time from which on the quota is there again; nil where nobody knows.
      ///   - debugDescription: A sentence for developers.
      public init(limitIncreaseSuggestion: QuotaUsage.LimitIncreaseSuggestion? = nil, resetDate: Date? = nil, debugDescription: String) {
        (self.limitIncreaseSuggestion, self.resetDate, self.debugDescription) = (limitIncreaseSuggestion, resetDate, debugDescription)
      }
    }

    /// A service that cannot be reached.
    public struct ServiceUnavailable: Sendable {
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
      case .networkFailure(let facts): facts.debugDescription
      case .quotaLimitReached(let facts): facts.debugDescription
      case .serviceUnavailable(let facts): facts.debugDescription
      }
    }

    /// A sentence for people that says what happened.
    public var errorDescription: String? { debugDescription }

    static let unreachable = Self.serviceUnavailable(
      .init(debugDescription: "Private Cloud Compute answers devices of Apple's alone; ask a model of this machine instead"))
  }
}

extension PrivateCloudComputeLanguageModel: LanguageModel {
  /// The things that the model can do beyond text, where it can be reached.
  public final var capabilities: LanguageModelCapabilities {
    LanguageModelCapabilities([.vision, .guidedGeneration, .reasoning, .toolCalling])
  }

  /// There is nothing to configure.
  public final var executorConfiguration: Executor.Configuration { Executor.Configuration() }

  /// Says that the model cannot be reached.
  public struct Executor: LanguageModelExecutor {
    /// The model that it cannot reach.
    public typealias Model = PrivateCloudComputeLanguageModel

    /// There is nothing to configure.
    public struct Configuration: Hashable, Sendable {}

    /// An executor.
    ///
    /// - Parameter configuration: Nothing.
    public init(configuration: Configuration) {}

    /// Fails.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - model: The model.
    ///   - channel: The receiver of what is made. It gets nothing.
    /// - Throws: ``PrivateCloudComputeLanguageModel/Error/serviceUnavailable(_:)``
    public nonisolated(nonsending) func respond(
      to request: LanguageModelExecutorGenerationRequest, model: PrivateCloudComputeLanguageModel,
      streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws {
      throw Error.unreachable
    }
  }
}
