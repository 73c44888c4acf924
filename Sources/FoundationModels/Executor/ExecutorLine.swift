internal import Dibit
internal import Foundation
internal import Synchronization

/// An executor of a configuration, made when it is first needed.
final class KeptExecutor<Executor: LanguageModelExecutor>: Sendable {
  let configuration: Executor.Configuration
  private let made = Mutex<Executor?>(nil)

  init(_ configuration: Executor.Configuration) { self.configuration = configuration }

  /// The executor. One that cannot be made is tried again the next time.
  func executor() throws -> Executor {
    if let executor = made.withLock({ $0 }) { return executor }
    let executor = try Executor(configuration: configuration)
    return made.withLock { made in
      if let made { return made }
      made = executor
      return executor
    }
  }
}

/// The executors of a session: what they hold, such as keys and values, is there when a model is asked again.
final class KeptExecutors: Sendable {
  private let kept = Mutex<[any Sendable]>([])

  /// Executors that are kept: those that were asked last.
  private static let limit = 8

  /// The line to a model.
  func line<Model: LanguageModel>(to model: Model) -> any ModelLine {
    if let model = model as? SystemLanguageModel {
      // Such an executor can always be made.
      if let executor = try? kept(SystemLanguageModel.Executor.self, model.executorConfiguration).executor() {
        return NativeLine(model: model, line: executor.line)
      }
    }
    return ExecutorLine(model: model, kept: kept(Model.Executor.self, model.executorConfiguration))
  }

  private func kept<Executor>(_ type: Executor.Type, _ configuration: Executor.Configuration) -> KeptExecutor<Executor> {
    kept.withLock { kept in
      let index = kept.firstIndex { ($0 as? KeptExecutor<Executor>)?.configuration == configuration }
      let executor = index.flatMap { kept.remove(at: $0) as? KeptExecutor<Executor> } ?? KeptExecutor<Executor>(configuration)
      kept.insert(executor, at: 0)
      kept.removeLast(max(0, kept.count - Self.limit))
      return executor
    }
  }
}

/// The line of a session to a model that an executor runs.
struct ExecutorLine<Model: LanguageModel>: ModelLine {
  let model: Model
  let kept: KeptExecutor<Model.Executor>

  var capabilities: LanguageModelCapabilities { model.capabilities }
  var assetID: String? { nil }

  func denied(in form: LanguageModelSession.AnswerForm) -> DenyList? { DenyList.installed() }

  func step(_ request: StepRequest, trace: SessionTrace, _ receive: (StepPiece) throws -> Void) async throws -> ModelStep {
    let executor = try kept.executor()
    return try await trace.measure(.step, \.traceMembers) {
      let channel = LanguageModelExecutorGenerationChannel()
      let asked = request.executorRequest
      // A task of its own: nobody waits for an executor that does not care that it was cancelled.
      let task = Task { [model] in
        do {
          try await executor.respond(to: asked, model: model, streamingInto: channel)
          channel.finish()
        } catch { channel.finish(throwing: error) }
      }
      defer { task.cancel() }
      var reader = ChannelReader(isText: request.form.schema == nil)
      // A cancelled task sees the end of the channel at once.
      for try await event in channel {
        for piece in reader.read(event) { try receive(piece) }
      }
      try Task.checkCancellation()
      let step = try reader.step()
      if !step.calls.isEmpty, !step.text.isEmpty { try receive(.restart) }
      return step
    }
  }

  func prewarm(_ request: StepRequest, trace: SessionTrace) async throws {
    try kept.executor().prewarm(model: model, transcript: Transcript(entries: request.entries))
  }
}

extension StepRequest {
  /// The request as an executor gets it.
  var executorRequest: LanguageModelExecutorGenerationRequest {
    LanguageModelExecutorGenerationRequest(
      id: UUID(), transcript: Transcript(entries: entries), enabledTools: enabledTools, schema: form.schema, generationOptions: options,
      contextOptions: contextOptions, metadata: metadata)
  }
}
