public import Foundation

/// A failure of a language model, whoever made it.
///
/// Without the trait `FoundationModels27` sessions here throw ``LanguageModelSession/GenerationError``, as an app does that was built for 26,
/// and of this only ``unsupportedCapability(_:)``; with it they throw this, ``SystemLanguageModel/Error``, ``LanguageModelSession/Error`` and
/// ``GeneratedContent/ParsingError``. What executors of other models throw comes as it is.
public enum LanguageModelError: LocalizedError, CustomDebugStringConvertible {
  /// The request is longer than the context.
  case contextSizeExceeded(ContextSizeExceeded)
  /// Too much was asked in too short a time.
  case rateLimited(RateLimited)
  /// A list does not allow what was said.
  case guardrailViolation(GuardrailViolation)
  /// The model does not want to answer.
  case refusal(Refusal)
  /// The model cannot do what was asked of it.
  case unsupportedCapability(UnsupportedCapability)
  /// The transcript has something that the model cannot read.
  case unsupportedTranscriptContent(UnsupportedTranscriptContent)
  /// A guide cannot be enforced.
  case unsupportedGenerationGuide(UnsupportedGenerationGuide)
  /// The model does not know the language.
  case unsupportedLanguageOrLocale(UnsupportedLanguageOrLocale)
  /// The answer took too long.
  case timeout(Timeout)

  /// A request that is longer than the context.
  public struct ContextSizeExceeded: Sendable {
    /// The tokens of the context.
    public var contextSize: Int
    /// The tokens of the request.
    public var tokenCount: Int
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - contextSize: The tokens of the context.
    ///   - tokenCount: The tokens of the request.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(contextSize: Int, tokenCount: Int, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.contextSize = contextSize
      self.tokenCount = tokenCount
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// Too much that was asked in too short a time.
  public struct RateLimited: Sendable {
    /// The time from which on more may be asked; nil where nobody knows.
    public var resetDate: Date?
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - resetDate: The time from which on more may be asked; nil where nobody knows.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(resetDate: Date?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.resetDate = resetDate
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// Something that a list does not allow.
  public struct GuardrailViolation: Sendable {
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// An answer that the model refused.
  public struct Refusal: Sendable {
    private let words: String
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - explanation: A sentence for people that says why.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(explanation: String, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      words = explanation
      self.debugDescription = debugDescription
      self.metadata = metadata
    }

    /// A sentence for people that says why.
    public nonisolated(nonsending) var explanation: LanguageModelSession.Response<String> {
      get async throws { try await explanationStream.collect() }
    }

    /// The sentence of ``explanation``, as a stream.
    public var explanationStream: LanguageModelSession.ResponseStream<String> { .saying(words) }
  }

  /// Something that the model cannot do.
  public struct UnsupportedCapability: Sendable {
    /// The thing that it cannot do.
    public var capability: LanguageModelCapabilities.Capability
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - capability: The thing that it cannot do.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(capability: LanguageModelCapabilities.Capability, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.capability = capability
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// Something that the model cannot read.
  public struct UnsupportedTranscriptContent: Sendable {
    /// The entries that it cannot read.
    public var unsupportedContent: [Transcript.Entry]
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - unsupportedContent: The entries that it cannot read.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(unsupportedContent: [Transcript.Entry], debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.unsupportedContent = unsupportedContent
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// A guide that cannot be enforced.
  public struct UnsupportedGenerationGuide: Sendable {
    /// The name of the schema; nil where it has none.
    public var schemaName: String?
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - schemaName: The name of the schema; nil where it has none.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(schemaName: String?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.schemaName = schemaName
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// A language that the model does not know.
  public struct UnsupportedLanguageOrLocale: Sendable {
    /// The language.
    public var languageCode: Locale.LanguageCode
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - languageCode: The language.
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(languageCode: Locale.LanguageCode, debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.languageCode = languageCode
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// An answer that took too long.
  public struct Timeout: Sendable {
    /// A sentence for developers.
    public var debugDescription: String
    /// Values that whoever throws it wants to tell.
    public var metadata: [String: any Sendable]

    /// Facts of a failure.
    ///
    /// - Parameters:
    ///   - debugDescription: A sentence for developers.
    ///   - metadata: Values that whoever throws it wants to tell.
    public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
      self.debugDescription = debugDescription
      self.metadata = metadata
    }
  }

  /// A sentence for developers.
  public var debugDescription: String {
    switch self {
    case .contextSizeExceeded(let facts): facts.debugDescription
    case .rateLimited(let facts): facts.debugDescription
    case .guardrailViolation(let facts): facts.debugDescription
    case .refusal(let facts): facts.debugDescription
    case .unsupportedCapability(let facts): facts.debugDescription
    case .unsupportedTranscriptContent(let facts): facts.debugDescription
    case .unsupportedGenerationGuide(let facts): facts.debugDescription
    case .unsupportedLanguageOrLocale(let facts): facts.debugDescription
    case .timeout(let facts): facts.debugDescription
    }
  }

  /// A sentence for people that says what happened.
  public var errorDescription: String? { debugDescription }
}
