internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
internal import DibitInference
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
  /// Texts that nobody has labelled; nil where none were asked for.
  let texts: UnlabelledTexts?

  /// Opens the teacher of an adapter of `model`, and reads the texts that it is to label, none of which is in `dataset`. It lacks nothing: see
  /// ``TeacherPreparation``.
  ///
  /// - Throws: ``DibitError`` for one with another tokenizer, and for texts of which none is left.
  init(
    _ options: AdapterTraining.Teacher, for model: StoredModel, beside dataset: Dataset, seed: UInt64, textColumn: String?,
    on compute: Compute
  ) throws {
    self.options = options
    self.model = try StoredModel.openConverted(options.model)
    try self.model.checkTokenizer(against: model, as: "a teacher")
    guard let path = options.adapter else { preconditionFailure("a teacher without an adapter") }
    adapter = try OpenedAdapter(path, of: self.model, on: compute)
    texts = try Self.texts(for: options, beside: dataset, seed: seed, textColumn: textColumn)
  }

  /// Reads the texts that a teacher is to label, none of which is in `dataset`; nil where none are asked for.
  ///
  /// - Throws: ``DibitError`` where none is left.
  static func texts(
    for options: AdapterTraining.Teacher, beside dataset: Dataset, seed: UInt64, textColumn: String?
  ) throws -> UnlabelledTexts? {
    guard let path = options.unlabelledTexts else { return nil }
    // A column of that name is the data's; the model's own file has another.
    let column = options.writtenTexts == nil ? textColumn : nil
    let texts = try UnlabelledTexts(at: path, limit: options.unlabelledLimit, seed: seed, beside: dataset, textColumn: column)
    guard texts.examples.isEmpty else { return texts }
    throw DibitError(
      .invalidData,
      "'\(path)': expected texts that are not labelled already, found \(texts.found) that the data has too, or that are empty")
  }

  /// Refuses one that learnt another task than what is to be learnt, or was asked in another way: its answers would say nothing.
  func check(_ task: AdapterDescription) throws(DibitError) {
    let asked = adapter.tagger?.description
    guard let asked, task.kind == .labelled else {
      if texts != nil, task.kind != .labelled {
        throw DibitError(.invalidArgument, option: "unlabelledTexts", "is for labelled texts, and these are conversations")
      }
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
    if let texts {
      members["texts"] = [
        "path": .string(texts.path), "found": .integer(texts.found), "repeated": .integer(texts.repeated),
        "taken": .integer(texts.examples.count),
      ]
    }
    return .object(members)
  }

  /// Labels the texts that nobody has labelled, each with up to `most` labels, with none where `allowsNone` says so; `note` is told of texts
  /// that cannot be, and `report`, told how many are done, stops it by returning false: nil then.
  ///
  /// - Parameter compute: what asks; its products must not depend on how many texts share a pass.
  func answers(
    most: Int, allowsNone: Bool, on compute: Compute, note: (String) -> Void, report: (_ done: Int, _ total: Int) -> Bool
  ) throws -> [LabelledExample]? {
    guard let texts, let (description, task) = adapter.tagger else { return [] }
    if texts.repeated > 0 {
      note("\(counted(texts.repeated, "text")) of '\(texts.path)' passed over: the data has them, they come twice, or they are empty")
    }
    try model.check?.wait()
    var options = TaggingOptions()
    if most > 1 { options.selection = .several(most: min(most, description.labels.count)) }
    let subject = EvaluationSubject(
      name: adapter.path, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter.loaded), task: task,
      words: adapter.words)
    var job = try PredictionJob(labels: description.labels, subject: subject, options: options, on: compute)
    var answers = [Result<TextPrediction, EvaluationError>?](repeating: nil, count: texts.examples.count)
    var (done, continues) = (0, true)
    job.run(texts.examples.lazy.map(\.text)) { index, answer in
      answers[index] = answer
      done += 1
      continues = report(done, texts.examples.count)
      return continues
    }
    guard continues else { return nil }
    let labelled = zip(texts.examples, answers).compactMap { example, answer -> LabelledExample? in
      guard let tags = try? answer?.get().tags, allowsNone || !tags.isEmpty else { return nil }
      return LabelledExample(path: example.path, line: example.line, text: example.text, labels: tags)
    }
    let left = texts.examples.count - labelled.count + texts.unreadable.count
    if left > 0 {
      let fault: (any Error)? =
        texts.unreadable.first ?? answers.lazy.compactMap { if case .failure(let error) = $0 { error } else { nil } }.first
      note("\(counted(left)) of '\(texts.path)' left out, the first because \(fault.map { "\($0)" } ?? "no label applies")")
    }
    return labelled
  }

  /// The teacher, its weights whole.
  func trainer() throws -> TeacherModel {
    try model.check?.wait()
    return TeacherModel(
      model.configuration, weights: model.weights, adapter: adapter.loaded, targetShare: Float(options.labelShare))
  }
}
