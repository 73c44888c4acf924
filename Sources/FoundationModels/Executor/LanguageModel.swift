/// A model that answers sessions, whoever made it: one that runs here, or one that something else runs, such as a server.
///
/// The type says what the model can do and how it is reached; its ``Executor`` does the work.
///
/// ```swift
/// struct Echo: LanguageModel {
///   var capabilities: LanguageModelCapabilities { LanguageModelCapabilities( []) }
///   var executorConfiguration: Int { 0 }
///
///   struct Executor: LanguageModelExecutor {
///     init(configuration: Int) {}
///     func respond(
///       to request: LanguageModelExecutorGenerationRequest, model: Echo, streamingInto channel: LanguageModelExecutorGenerationChannel
///     ) async throws {
///       await channel.send(.response(action: .appendText("Hello", tokenCount: 1)))
///     }
///   }
/// }
///
/// let session = LanguageModelSession(model: Echo())
/// ```
public protocol LanguageModel: Sendable {
  /// The type that makes the model's answers.
  associatedtype Executor: LanguageModelExecutor where Self == Self.Executor.Model

  /// The things that the model can do beyond text. A session asks for no others: a request that needs them fails with
  /// ``LanguageModelError/unsupportedCapability(_:)``.
  var capabilities: LanguageModelCapabilities { get }
  /// The configuration of an executor that can run this model. A session makes one executor for each that it meets.
  var executorConfiguration: Self.Executor.Configuration { get }
}

/// Something that makes the answers of a model, and says them into a channel as they come.
public protocol LanguageModelExecutor: Sendable {
  /// All that an executor has to know to be made.
  associatedtype Configuration: Hashable, Sendable
  /// The models that it runs.
  associatedtype Model: LanguageModel

  /// Gets ready for a request that will come soon. It returns at once.
  ///
  /// - Parameters:
  ///   - model: The model that will be asked.
  ///   - transcript: The beginning of what it will be asked.
  func prewarm(model: Self.Model, transcript: Transcript)

  /// An executor of a configuration.
  ///
  /// - Parameter configuration: The configuration.
  /// - Throws: Any error. It ends the turn for which the executor was needed.
  init(configuration: Self.Configuration) throws

  /// Makes one step: an answer, or calls of tools. When it returns the step is whole.
  ///
  /// A session calls it again when the tools have been called, with what they gave at the end of the transcript. It is cancelled when the
  /// turn is.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - model: The model, as it is now.
  ///   - channel: The receiver of what is made.
  /// - Throws: Any error. It ends the turn.
  nonisolated(nonsending) func respond(
    to request: LanguageModelExecutorGenerationRequest, model: Self.Model, streamingInto channel: LanguageModelExecutorGenerationChannel
  ) async throws
}

extension LanguageModelExecutor {
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - model: The model that will be asked.
  ///   - transcript: The beginning of what it will be asked.
  public func prewarm(model: Self.Model, transcript: Transcript) {}
}
