internal import DibitDataset
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitTensor
internal import DibitTraining

/// The adapter, usually of a float model, whose answers an adapter in training learns to give.
struct AdapterTeacher: Sendable {
  private let options: AdapterTraining.Teacher
  private let model: StoredModel
  private let adapter: OpenedAdapter

  /// Opens the teacher of an adapter of `model`.
  ///
  /// - Throws: ``DibitError`` for one with another tokenizer.
  init(_ options: AdapterTraining.Teacher, for model: StoredModel, on compute: Compute) throws {
    self.options = options
    self.model = try StoredModel.openConverted(options.model)
    try self.model.checkTokenizer(against: model, as: "a teacher")
    adapter = try OpenedAdapter(options.adapter, of: self.model, on: compute)
  }

  /// Refuses one that learnt another task than what is to be learnt, or was asked in another way: its answers would say nothing.
  func check(_ task: AdapterDescription) throws(DibitError) {
    let asked = adapter.tagger?.description
    guard let asked, task.kind == .labelled else {
      guard asked == nil, task.kind != .labelled else {
        throw DibitError(
          .invalidData,
          "'\(adapter.path)': expected a teacher that learnt from \(task.kind == .labelled ? "labelled texts" : "conversations")")
      }
      return
    }
    var differences = asked.differences(from: task)
    if asked.task.form != task.task.form || asked.templateDigest != task.templateDigest { differences.append("forms of the prompt") }
    guard differences.isEmpty else {
      throw DibitError(
        .invalidData,
        "'\(adapter.path)': expected a teacher of the same labels and prompt, found other \(differences.joined(separator: ", "))")
    }
  }

  /// All of it that the bytes of an adapter depend on which learns from it.
  var identity: JSONObject {
    JSONObject([
      (key: "digest", value: adapter.digest.map { .string($0) } ?? .null),
      (key: "model_digest", value: model.digest.map { .string($0) } ?? .null),
      (key: "label_share", value: .number(options.labelShare)),
    ])
  }

  /// The value under `teacher` in a manifest.
  var json: JSONValue {
    var members = identity
    (members["adapter"], members["model"]) = (.string(adapter.path), .string(model.path))
    return .object(members)
  }

  /// The teacher, its weights whole.
  func trainer() throws -> TeacherModel {
    try model.check?.wait()
    return TeacherModel(
      model.configuration, weights: model.weights, adapter: adapter.loaded, targetShare: Float(options.labelShare))
  }
}
