internal import Dibit
internal import DibitJSON
internal import Synchronization

/// A line to a model that runs here, opened when it is first needed.
final class DialogueLine: Sendable {
  private let opening = Mutex<Task<Dialogue, any Error>?>(nil)

  /// The line, to the model that it was opened for or to another of the same configuration.
  private func dialogue(of model: SystemLanguageModel, _ trace: SessionTrace) async throws -> Dialogue {
    let task = opening.withLock { opening in
      if let opening { return opening }
      let made = Task {
        try await trace.measure(.load, { _ in [("model", .string(model.assetID))] }) { try await model.dialogue() }
      }
      opening = made
      return made
    }
    do { return try await task.value } catch {
      // The model may be there the next time.
      opening.withLock { if $0 == task { $0 = nil } }
      throw error
    }
  }

  /// Makes a step, and tells the pieces of its answer.
  func step(
    _ asked: StepRequest, of model: SystemLanguageModel, trace: SessionTrace, _ receive: (StepPiece) throws -> Void
  ) async throws -> ModelStep {
    try model.checkScript(of: asked.entries)
    let dialogue = try await dialogue(of: model, trace)
    var request = try asked.dialogueRequest()
    request.options = try asked.options.engineOptions(asked.form, context: dialogue.model.facts.contextLength)
    return try await trace.measure(.step, \.traceMembers) {
      let job = dialogue.step(request)
      for try await piece in job {
        switch piece {
        case .text(let words, let counts): try receive(.text(words, LanguageModelSession.Usage(counts)))
        case .restart: try receive(.restart)
        }
      }
      return ModelStep(try await job.value)
    }
  }

  /// Reads a request ahead.
  func prewarm(_ asked: StepRequest, of model: SystemLanguageModel, trace: SessionTrace) async throws {
    let dialogue = try await dialogue(of: model, trace)
    let request = try asked.dialogueRequest()
    _ = try await trace.measure(.prewarm, { [("read_tokens", .integer($0))] }) { try await dialogue.read(request).value }
  }
}

/// The line of a session to a model that runs here.
struct NativeLine: ModelLine {
  let model: SystemLanguageModel
  let line: DialogueLine

  var capabilities: LanguageModelCapabilities { model.capabilities }
  var assetID: String? { model.assetID }

  func denied(in form: LanguageModelSession.AnswerForm) -> DenyList? { model.denied(in: form) }

  func step(_ request: StepRequest, trace: SessionTrace, _ receive: (StepPiece) throws -> Void) async throws -> ModelStep {
    try await line.step(request, of: model, trace: trace, receive)
  }

  func prewarm(_ request: StepRequest, trace: SessionTrace) async throws {
    try await line.prewarm(request, of: model, trace: trace)
  }
}

extension ModelStep {
  /// A step of the runtime.
  init(_ step: DialogueStep) {
    (text, usage) = (step.text, LanguageModelSession.Usage(step.counts))
    calls = step.calls.map { Call(call: $0) }
    (firstSeconds, end) = (step.firstSeconds, step.end)
  }
}
