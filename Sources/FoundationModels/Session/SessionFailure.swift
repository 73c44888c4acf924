internal import Dibit
internal import Foundation

/// The reasons for which a request has no answer. ``error`` names them as the framework does: as 26 does, and with the trait
/// `FoundationModels27` as 27.
enum SessionFailure {
  /// The conversation is longer than the context.
  case contextFull(tokens: Int, context: Int, String)
  /// The model, or an adapter, is not there or damaged.
  case assetsUnavailable(String)
  /// The deny list has what was said.
  case denied(String)
  /// The deny list has what was said behind these entries, and explains why.
  case refused(explanation: String, [Transcript.Entry], String)
  /// A guide cannot be enforced.
  case unsupportedGuide(String)
  /// The prompt is not in a script of the model's languages.
  case foreignScript(String)
  /// The model made something that is no value of the type, or calls no tool.
  case undecodable(raw: String, underlying: (any Error)? = nil, String)
  /// The session answers another request.
  case busy

  /// A value that could not be made of what the model made, which may be an error that the client's type has thrown on purpose.
  static func decoding(_ raw: String, _ error: any Error) -> any Error {
    if error is LanguageModelSession.GenerationError || error is LanguageModelError { return error }
    return Self.undecodable(raw: raw, underlying: error, "\(error.localizedDescription) The model made: \(raw)").error
  }

  /// A failure of the runtime; a cancelled job's is `CancellationError`.
  static func error(for error: DibitError, isOpening: Bool = false) -> any Error {
    if error.kind == .cancelled { return CancellationError() }
    let failure: Self =
      switch error.detail {
      case .contextFull(let tokens, let context)?: .contextFull(tokens: tokens, context: context, error.message)
      case .answerNeeds?: .undecodable(raw: "", error.message)
      case .form?: .unsupportedGuide(error.message)
      case nil: isOpening || error.kind == .missing ? .assetsUnavailable(error.message) : .undecodable(raw: "", error.message)
      }
    return failure.error
  }

  #if FoundationModels27
    var error: any Error {
      switch self {
      case .contextFull(let tokens, let context, let words):
        LanguageModelError.contextSizeExceeded(.init(contextSize: context, tokenCount: tokens, debugDescription: words))
      case .assetsUnavailable(let words): SystemLanguageModel.Error.assetsUnavailable(.init(debugDescription: words))
      case .denied(let words): LanguageModelError.guardrailViolation(.init(debugDescription: words))
      case .refused(let explanation, _, let words): LanguageModelError.refusal(.init(explanation: explanation, debugDescription: words))
      case .unsupportedGuide(let words): LanguageModelError.unsupportedGenerationGuide(.init(schemaName: nil, debugDescription: words))
      case .foreignScript(let words):
        // Which language it is nobody here knows.
        LanguageModelError.unsupportedLanguageOrLocale(.init(languageCode: .unidentified, debugDescription: words))
      case .undecodable(let raw, let underlying, let words):
        GeneratedContent.ParsingError(rawContent: raw, underlyingError: underlying, debugDescription: words)
      case .busy: LanguageModelSession.Error.concurrentRequests
      }
    }
  #else
    var error: any Error {
      typealias Named = LanguageModelSession.GenerationError
      return switch self {
      case .contextFull(_, _, let words): Named.exceededContextWindowSize(.init(debugDescription: words))
      case .assetsUnavailable(let words): Named.assetsUnavailable(.init(debugDescription: words))
      case .denied(let words): Named.guardrailViolation(.init(debugDescription: words))
      case .refused(let explanation, let entries, let words):
        Named.refusal(.init(transcriptEntries: entries, known: explanation), .init(debugDescription: words))
      case .unsupportedGuide(let words): Named.unsupportedGuide(.init(debugDescription: words))
      case .foreignScript(let words): Named.unsupportedLanguageOrLocale(.init(debugDescription: words))
      case .undecodable(_, _, let words): Named.decodingFailure(.init(debugDescription: words))
      case .busy: Named.concurrentRequests(.init(debugDescription: LanguageModelSession.Error.concurrentRequests.debugDescription))
      }
    }
  #endif
}
