internal import DibitInference
internal import Synchronization

/// A line to a model that answers whole dialogues, one request after the other, and reads of each only what it has not read before.
///
/// Dialogues of one model are answered side by side, a token of each in turn, over one set of weights. A dialogue holds keys and values for
/// the model's whole context from its first request on.
package final class Dialogue: Sendable {
  /// The model that answers.
  package let model: Model
  private let adapter: Adapter?
  private let format: DialogueFormat
  private let worker: Worker
  /// Made when it is first needed.
  private let session = Mutex<DialogueSession?>(nil)

  /// Opens a line to a model, under an adapter or under none.
  ///
  /// - Throws: ``DibitError`` for a model that cannot tell who speaks, and for an adapter of another model.
  package init(_ model: Model, adapter: Adapter? = nil) async throws(DibitError) {
    self.model = model
    self.adapter = adapter
    format = try await model.worker.run { _ in
      try model.check(adapter)
      return try DialogueFormat(model.stored, adapter: adapter?.opened)
    }
    worker = Worker("dialogue", turns: model.worker.turns)
  }

  /// Makes the next step of a dialogue. The job tells each piece of an answer as soon as it is certain; its value is the whole.
  package func step(_ request: DialogueRequest) -> Job<DialoguePiece, DialogueStep> {
    Job(on: worker) { [self] report in
      let listener = DialogueListener(
        receive: { [turns = worker.turns] piece in
          turns.yield()
          if case .text("", _) = piece { return !report.isCancelled }
          return report(piece)
        },
        reading: { [turns = worker.turns] _, _ in
          turns.yield()
          return !report.isCancelled
        })
      let step = try withSession { try $0.step(request, listener) }
      guard step.generation.finishReason != .interrupted else { throw DibitError.cancelled }
      return step
    }
  }

  /// Reads the prompt of a request ahead. The job's value is the number of tokens that had to be read.
  package func read(_ request: DialogueRequest) -> Job<Never, Int> {
    Job(on: worker) { [self] report in
      try withSession { session in
        try session.read(request) { _ in
          worker.turns.yield()
          return !report.isCancelled
        }
      }
    }
  }

  /// Returns the number of tokens that the prompt of a request has: the longest, where there are several.
  package func promptTokens(_ request: DialogueRequest) async throws(DibitError) -> Int {
    try await worker.run { [format] _ in try format.promptTokens(request) }
  }

  private func withSession<Value: Sendable>(_ body: (inout DialogueSession) throws -> Value) throws -> Value {
    try session.withLock { kept in
      var session =
        kept.take()
        ?? DialogueSession(
          model.stored, adapter: adapter?.opened, format: format, constraints: model.runtime.constraints,
          on: model.runtime.compute(for: .writing))
      let result = Result { try body(&session) }
      kept = consume session
      return try result.get()
    }
  }
}
