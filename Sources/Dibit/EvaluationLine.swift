internal import DibitCheckpoint
package import DibitDataset
package import DibitEvaluation
internal import DibitFiles
internal import DibitInference
package import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitQuantization
package import DibitReport

/// The models and adapters of an evaluation, opened and found to fit together before any text is run.
package struct EvaluationLine: Sendable {
  /// The first is the base; others are compared with it.
  package let models: [StoredModel]
  /// The forms in which each model is asked.
  package let prompts: [ModelPrompts]
  private let adapters: [Entry]

  private struct Entry {
    let opened: OpenedAdapter
    /// The index of its model.
    let model: Int
    let description: AdapterDescription
    /// Nil for an adapter that was made before sketches were kept, or elsewhere.
    let sketches: TextSketches?

    var path: String { opened.path }
  }

  /// Opens adapters of models, of which the first is the base.
  package init(_ models: [StoredModel], adapters: [String], on compute: Compute) throws {
    try Self.refuseRepeated(models.map(\.path), "model")
    try Self.refuseRepeated(adapters, "adapter")
    let opened = try adapters.map { path in
      let base = try StoredAdapter.readManifest(path)["base_digest"]?.string
      // An adapter says whose it is; one that is nobody's is told so by the first model.
      return try OpenedAdapter(path, of: models.first { $0.digest != nil && $0.digest == base } ?? models[0], on: compute)
    }
    try self.init(models, adapters: opened)
  }

  /// Takes adapters of models, of which the first is the base.
  package init(_ models: [StoredModel], adapters: [OpenedAdapter]) throws {
    try Self.refuseRepeated(models.map(\.path), "model")
    try Self.refuseRepeated(adapters.map(\.path), "adapter")
    self.models = models
    prompts = try models.map { try ModelPrompts($0) }
    self.adapters = try adapters.map { opened in
      guard let base = opened.baseDigest, let model = models.firstIndex(where: { $0.digest == base }) else {
        throw ModelStoreError.otherBase(
          adapter: opened.path, expected: opened.baseDigest ?? "none", found: models[0].digest ?? "a checkpoint")
      }
      return Entry(opened: opened, model: model, description: try opened.tagging().description, sketches: try opened.sketches())
    }
  }

  /// The same directory twice would be two runs of one name.
  private static func refuseRepeated(_ paths: [String], _ what: String) throws {
    let real = paths.map { realPath($0) ?? $0 }
    for (index, path) in paths.enumerated() where real[..<index].contains(real[index]) {
      throw DibitError(.invalidArgument, "'\(path)' is given twice; each \(what) runs once")
    }
  }

  // MARK: What is asked

  /// Labels and prompt of the adapters, which must agree but for the form of the prompt and the most tokens of a text: the base model, and
  /// what learns beside it, get the form of the first and the most tokens of all. Of the data and the first model when there is no adapter.
  package func description(
    for dataset: Dataset, at path: String, instruction: String?, form: AdapterTraining.PromptForm?, note: (String) -> Void
  ) throws -> AdapterDescription {
    guard let first = adapters.first else {
      var task = TaggingTask()
      task.instruction = instruction ?? task.instruction
      task.form = try prompts[0].form(form)
      task.maximumTokens = models.reduce(task.maximumTokens) { min($0, $1.configuration.contextLength) }
      return AdapterDescription(labels: dataset.labels, task: task.listing(dataset.labels, note: note), seed: 0, dataDigest: dataset.digest)
    }
    var description = first.description
    for other in adapters.dropFirst() {
      let differences = first.description.differences(from: other.description)
      guard differences.isEmpty else {
        let what = differences.joined(separator: " and ")
        throw DibitError(
          .invalidData, "adapters '\(first.path)' and '\(other.path)' were trained for different \(what): evaluate them one by one")
      }
      description.task.maximumTokens = max(description.task.maximumTokens, other.description.task.maximumTokens)
    }
    let unknown = dataset.labels.filter { label in !description.labels.contains { $0.utf8.elementsEqual(label.utf8) } }
    guard unknown.isEmpty else { throw EvaluationError.unknownLabels(unknown, known: description.labels.count) }
    return description
  }

  /// The digests of the models' chat templates, on which answers depend as they do on weights; null where there is none.
  package var templates: JSONValue { .array(prompts.map { $0.digest.map { .string($0) } ?? .null }) }

  /// Base first, its adapters, then the other models, each with its adapters. An adapter is asked as it was trained.
  package func subjects(_ task: TaggingTask) throws -> [EvaluationStudy.Subject] {
    var subjects: [EvaluationStudy.Subject] = []
    for (index, model) in models.enumerated() {
      func tokenized(_ task: TaggingTask) throws -> TokenizedTask {
        var own = task
        own.maximumTokens = min(task.maximumTokens, model.configuration.contextLength)
        return try prompts[index].tokenized(own)
      }
      let isFloat = model.scheme.map { !$0.isQuantized } ?? true
      let kind = index == 0 ? ReportedRun.Kind.base : isFloat ? .float : .model
      subjects.append(
        .init(
          kind,
          EvaluationSubject(
            name: index == 0 ? "base" : model.path, model: MeasuredModel(model.configuration, weights: model.weights),
            task: try tokenized(task))))
      for adapter in adapters where adapter.model == index {
        subjects.append(
          .init(
            // The verdict is about adapters of the model that was named first.
            index == 0 ? .adapter : kind,
            EvaluationSubject(
              name: adapter.path, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter.opened.loaded),
              task: try tokenized(adapter.description.task), words: adapter.opened.words)))
      }
    }
    return subjects
  }

  // MARK: What was learnt

  /// Finds how each example is known to an adapter or to what baselines learn from; nil where nothing has learnt that can be looked at.
  package func leaks(_ examples: [LabelledExample], _ training: [LabelledExample], _ split: SplitName) -> [TextSketches.Match?]? {
    var known = adapters.compactMap(\.sketches)
    // Adapters that keep no sketches have learnt from the training split too.
    if split == .train, adapters.contains(where: { $0.sketches == nil }) { known.append(TextSketches(examples.map(\.text))) }
    if !training.isEmpty { known.append(TextSketches(training.map(\.text))) }
    guard !known.isEmpty else { return nil }
    var found = [TextSketches.Match?](repeating: nil, count: examples.count)
    for sketches in known {
      for (index, match) in sketches.matches(of: examples.map(\.text)).enumerated() where found[index] != .exact {
        found[index] = match ?? found[index]
      }
    }
    return found
  }

  /// Returns the notes on the adapters that a reader should know.
  package func notes(_ dataset: Dataset, at path: String, _ split: SplitName) -> [HygieneNote] {
    var notes: [HygieneNote] = []
    for adapter in adapters {
      if adapter.description.dataDigest != dataset.digest {
        notes.append(
          HygieneNote(.other, count: 0, "'\(path)' is not the data that '\(adapter.path)' was trained on, or it has changed since."))
      }
      if let words = adapter.opened.words {
        notes.append(
          HygieneNote(.other, count: 0, "A classifier of words has a share of \(words.share) in the answers of '\(adapter.path)'."))
      }
      if adapter.sketches == nil {
        notes.append(
          HygieneNote(
            .other, count: 0, "'\(adapter.path)' does not say which texts it was trained on: whether these were among them is not known."))
      }
    }
    let lengths = adapters.map(\.description.task.maximumTokens)
    if let most = lengths.max(), Set(lengths).count > 1 {
      let own = adapters.map { "'\($0.path)' \($0.description.task.maximumTokens)" }.joined(separator: ", ")
      notes.append(
        HygieneNote(
          .other, count: 0, "Adapters read different lengths of a text, each as it was trained (\(own) tokens); the others read \(most)."))
    }
    let forms = adapters.map { Self.words(for: $0.description.task) }
    if let first = forms.first, Set(forms).count > 1 {
      let own = zip(adapters, forms).map { "'\($0.path)' \($1)" }.joined(separator: ", ")
      notes.append(
        HygieneNote(
          .other, count: 0, "Prompts of adapters have different forms, each as it was trained (\(own)); the others are asked in \(first)."))
    }
    if split == .validation, !adapters.isEmpty {
      notes.append(
        HygieneNote(
          .other, count: 0, "Training watched these texts: where it kept the step that did best on them, scores are a little too high."))
    }
    return notes
  }

  /// Names the form that a prompt is put into.
  private static func words(for task: TaggingTask) -> String {
    switch task.form {
    case .chat: "the chat template"
    case .turns: "turns"
    case .plain: "lines"
    // Adapters of before there were forms.
    case nil: task.template == nil ? "what the vocabulary has" : "a template of its own"
    }
  }

  /// SHA-256 of what was evaluated. Plain checkpoints have none.
  package func digests(data: String) -> Digests {
    Digests(
      model: models[0].digest, data: data,
      adapters: adapters.compactMap { entry in entry.opened.digest.map { .init(name: entry.path, digest: $0) } })
  }

  /// The identity of these models and adapters, which tells them from others, so that what they answered can be kept.
  package var identity: JSONValue {
    func known(_ path: String, _ members: JSONObject) -> JSONValue {
      .object(JSONObject([(key: "path", value: .string(path))] + members.members))
    }
    return [
      "models": .array(models.map { known($0.path, JSONObject([(key: "sha256", value: $0.digest.map { .string($0) } ?? .null)])) }),
      "adapters": .array(adapters.map { known($0.path, $0.opened.identity) }),
    ]
  }

  /// Checks whether digests say which bytes answer under this name; plain checkpoints have none, and their answers are not kept.
  package func isIdentified(_ name: String) -> Bool {
    if let adapter = adapters.first(where: { $0.path == name }) {
      return adapter.opened.digest != nil && models[adapter.model].digest != nil
    }
    return models.enumerated().contains { index, model in (index == 0 ? "base" : model.path) == name && model.digest != nil }
  }

  /// The losses of each adapter's training, where its event log is there.
  package var losses: [LossSeries] {
    adapters.flatMap { adapter -> [LossSeries] in
      guard let bytes = try? readBytes(StoreFile.eventLog, in: adapter.path) else { return [] }
      return LossSeries.read(eventLog: bytes).map { series in
        LossSeries(name: adapters.count > 1 ? "\(adapter.path), \(series.name)" : series.name, points: series.points)
      }
    }
  }
}
