import Foundation
import FoundationModels
import Testing

/// The failure of a task that is cancelled within so many milliseconds. A thread of its own cancels it: where tests beside this one block the
/// threads of all tasks, a task that sleeps wakes up long after the answer.
func failure<Value: Sendable>(cancelledWithin milliseconds: Int, _ body: @escaping @Sendable () async throws -> Value) async -> (any Error)?
{
  let task = Task { try await body() }
  let delay = Double.random(in: 0...Double(milliseconds)) / 1000
  Thread.detachNewThread {
    Thread.sleep(forTimeInterval: delay)
    task.cancel()
  }
  return await failure { try await task.value }
}

/// Cancels a long answer again and again: each time the session is free and as it was before the caller goes on.
func checkCancellation(of session: LanguageModelSession, times: Int, _ location: SourceLocation = #_sourceLocation) async {
  let before = session.transcript.count
  for _ in 0..<times {
    let error = await failure(cancelledWithin: 30) {
      try await session.respond(to: "the goal of the match", generating: LongList.self).content
    }
    #expect(error is CancellationError, sourceLocation: location)
    #expect(!session.isResponding && session.transcript.count == before, sourceLocation: location)
  }
}

/// The failure of a call; a success is reported by the caller's `#require`.
func failure<Value>(_ body: () async throws -> Value) async -> (any Error)? {
  do {
    _ = try await body()
    return nil
  } catch { return error }
}

/// The reasons for which a session gives no answer, under names that those of 26 and those of 27 share. A type that the module was not built
/// for is none of them.
enum SessionFault: Equatable {
  case contextFull, assetsUnavailable, guardrailViolation, unsupportedGuide, unsupportedLanguage, decodingFailure, busy, refusal

  init?(_ error: (any Error)?) {
    #if FoundationModels27
      switch error {
      case LanguageModelError.contextSizeExceeded?: self = .contextFull
      case LanguageModelError.guardrailViolation?: self = .guardrailViolation
      case LanguageModelError.unsupportedGenerationGuide?: self = .unsupportedGuide
      case LanguageModelError.unsupportedLanguageOrLocale?: self = .unsupportedLanguage
      case LanguageModelError.refusal?: self = .refusal
      case SystemLanguageModel.Error.assetsUnavailable?: self = .assetsUnavailable
      case LanguageModelSession.Error.concurrentRequests?: self = .busy
      case is GeneratedContent.ParsingError: self = .decodingFailure
      default: return nil
      }
    #else
      switch error as? LanguageModelSession.GenerationError {
      case .exceededContextWindowSize?: self = .contextFull
      case .assetsUnavailable?: self = .assetsUnavailable
      case .guardrailViolation?: self = .guardrailViolation
      case .unsupportedGuide?: self = .unsupportedGuide
      case .unsupportedLanguageOrLocale?: self = .unsupportedLanguage
      case .decodingFailure?: self = .decodingFailure
      case .concurrentRequests?: self = .busy
      case .refusal?: self = .refusal
      case .rateLimited?, nil: return nil
      }
    #endif
  }
}

/// The sentence for developers of a failure of a session.
func words(of error: (any Error)?) -> String {
  #if FoundationModels27
    error.map { String(reflecting: $0) } ?? ""
  #else
    (error as? LanguageModelSession.GenerationError)?.failureReason ?? ""
  #endif
}
