internal import Dibit
internal import Synchronization

/// A model on the disk, opened once for all that use it at the same time.
final class OpenedModel: Sendable {
  let path: String
  private let model = Mutex<Task<Model, any Error>?>(nil)
  private let known = Mutex<ModelSummary?>(nil)

  private init(_ path: String) { self.path = path }

  private struct Holder { weak var model: OpenedModel? }

  private static let shared = Mutex<[String: Holder]>([:])

  /// The model at a path: the same object as long as somebody uses it.
  static func at(_ path: String) -> OpenedModel {
    shared.withLock { shared in
      if let model = shared[path]?.model { return model }
      shared = shared.filter { $0.value.model != nil }
      let model = OpenedModel(path)
      shared[path] = Holder(model: model)
      return model
    }
  }

  /// Facts of the model; they are read again as long as it is not there.
  func summary() throws(DibitError) -> ModelSummary {
    if let summary = known.withLock({ $0 }) { return summary }
    let summary = try ModelSummary(at: path)
    known.withLock { $0 = summary }
    return summary
  }

  /// The model, opened when it is first needed.
  func open() async throws -> Model {
    let task = model.withLock { model in
      if let model { return model }
      let made = Task { [path] in try await Model(at: path) }
      model = made
      return made
    }
    do { return try await task.value } catch {
      model.withLock { if $0 == task { $0 = nil } }
      throw error
    }
  }
}
