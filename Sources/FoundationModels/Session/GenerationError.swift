public import Foundation

extension LanguageModelSession {
  /// The reasons for which a session gives no answer.
  ///
  /// With the trait `FoundationModels27` sessions throw what 27 has in its place: ``LanguageModelError``, ``SystemLanguageModel/Error``,
  /// ``LanguageModelSession/Error`` and, for ``decodingFailure(_:)``, ``GeneratedContent/ParsingError``.
  public enum GenerationError: Swift.Error, LocalizedError {
    /// The details of a failure, for developers.
    public struct Context: Sendable {
      /// One sentence that says what happened, with its numbers.
      public let debugDescription: String

      /// Details in these words.
      ///
      /// - Parameter debugDescription: The sentence.
      public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    /// The transcript with the prompt does not fit the model's context.
    case exceededContextWindowSize(Context)
    /// The model, or an adapter, is not there or damaged.
    case assetsUnavailable(Context)
    /// A prompt or an answer has a word of an installed deny list.
    case guardrailViolation(Context)
    /// A guide cannot be enforced, or does not apply to its type.
    case unsupportedGuide(Context)
    /// Most letters of the prompt are of a script that none of the languages is written in which the model's makers name.
    case unsupportedLanguageOrLocale(Context)
    /// The model made something that is no value of the type.
    case decodingFailure(Context)
    /// More was asked than may be asked in a time. Models that run here have no such bound: it is never thrown by them.
    case rateLimited(Context)
    /// The session answers another request.
    case concurrentRequests(Context)
    /// The model does not want to answer: what was asked, or what it began to say, is on an installed deny list with an explanation. Text
    /// is answered with the explanation instead, so that this is thrown for values of types alone.
    case refusal(Refusal, Context)

    /// The details of the failure.
    var context: Context {
      switch self {
      case .exceededContextWindowSize(let context), .assetsUnavailable(let context), .guardrailViolation(let context),
        .unsupportedGuide(let context), .unsupportedLanguageOrLocale(let context), .decodingFailure(let context),
        .rateLimited(let context), .concurrentRequests(let context), .refusal(_, let context):
        context
      }
    }

    /// A sentence for people that says what happened, with its numbers.
    public var errorDescription: String? {
      switch self {
      case .exceededContextWindowSize: "The conversation exceeds the model's context window: \(context.debugDescription)"
      case .assetsUnavailable: "The model cannot be used: \(context.debugDescription)"
      case .guardrailViolation: "The deny list does not allow this: \(context.debugDescription)"
      case .unsupportedGuide: "A guide cannot be enforced: \(context.debugDescription)"
      case .unsupportedLanguageOrLocale: "The model does not know the language: \(context.debugDescription)"
      case .decodingFailure: "The answer is not what was asked for: \(context.debugDescription)"
      case .rateLimited: "Too much was asked: \(context.debugDescription)"
      case .concurrentRequests: "The session is busy: \(context.debugDescription)"
      case .refusal: "The model does not want to answer: \(context.debugDescription)"
      }
    }

    /// A step that may help.
    public var recoverySuggestion: String? {
      switch self {
      case .exceededContextWindowSize: "Begin a new session with the entries of the transcript that matter, or shorten the prompt."
      case .assetsUnavailable: "Install a model, or name one in DIBIT_MODEL."
      case .guardrailViolation: "Ask in other words, or change the deny list."
      case .unsupportedGuide: "Use a guide that applies to the type."
      case .unsupportedLanguageOrLocale: "Use a language of 'supportedLanguages'."
      case .decodingFailure: "Allow more tokens, or ask for a simpler type."
      case .rateLimited: "Try again later."
      case .concurrentRequests: "Wait until 'isResponding' is false, or use another session."
      case .refusal: "Ask for the explanation of the refusal, or ask in other words."
      }
    }

    /// The reason, for developers.
    public var failureReason: String? { context.debugDescription }

    /// An answer that the model refused to give.
    public struct Refusal: Sendable {
      let transcriptEntries: [Transcript.Entry]
      /// The explanation, where somebody has written it.
      private let known: String?

      /// A refusal at the end of these entries.
      ///
      /// - Parameter transcriptEntries: What was said before.
      public init(transcriptEntries: [Transcript.Entry]) { self.init(transcriptEntries: transcriptEntries, known: nil) }

      init(transcriptEntries: [Transcript.Entry], known: String?) { (self.transcriptEntries, self.known) = (transcriptEntries, known) }

      private var session: LanguageModelSession { LanguageModelSession(transcript: Transcript(entries: transcriptEntries)) }
      private static let question = "Say in one sentence why you do not answer."

      /// The reason: what the list says, and otherwise the words of the model, which are made now.
      public var explanation: Response<String> {
        get async throws { try await explanationStream.collect() }
      }

      /// The reason, as ``explanation`` has it, as it is made.
      public var explanationStream: ResponseStream<String> {
        known.map { .saying($0) } ?? session.streamResponse(to: Self.question)
      }
    }
  }

  /// The failure of a tool that the model called.
  public struct ToolCallError: Swift.Error, LocalizedError {
    /// The tool.
    public var tool: any Tool
    /// Its failure.
    public var underlyingError: any Swift.Error

    /// The failure of a tool.
    ///
    /// - Parameters:
    ///   - tool: The tool.
    ///   - underlyingError: Its failure.
    public init(tool: any Tool, underlyingError: any Swift.Error) {
      self.tool = tool
      self.underlyingError = underlyingError
    }

    /// A sentence for people that says what happened.
    public var errorDescription: String? { "The tool '\(tool.name)' failed: \(underlyingError.localizedDescription)" }
  }
}
