internal import DibitCheckpoint
package import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitModelStore
package import DibitRecipe
internal import DibitReport
package import DibitTraining

/// The training of an adapter from data on the disk: what is trained on what, and how. ``Run`` does it.
package struct AdapterTrainingJob: Sendable {
  /// The model.
  package let model: StoredModel
  /// The data, as the caller named it.
  package let dataPath: String
  /// The data that was read there, split.
  package let dataset: Dataset
  /// The number of texts in each split.
  package let split: SplitSummary
  /// The adapter that training goes on from; nil for a new adapter.
  package let start: AdapterStart?
  /// The adapter that answers are learnt from, beside the labels; nil for none.
  private let teacher: AdapterTeacher?
  /// The texts that the teacher has labelled, which are learnt from beside those of the data.
  package let answered: [LabelledExample]
  /// The options of the training.
  package let options: TrainingOptions
  /// The task in which the model is asked about labelled texts.
  package let task: TaggingTask
  /// The identity of the run: all that the bytes of the adapter depend on.
  package let identity: RunIdentity
  /// The search that chose some of the options; nil for none.
  private let search: SearchResult?
  private let recipe: String?
  /// The forms in which the model is asked.
  package let prompts: ModelPrompts
  private let compute: Compute

  /// Finds what is in the data, and all that follows from it; nothing is computed or written yet.
  ///
  /// - Parameters:
  ///   - recipe: what ``AdapterTraining/Options/readRecipe()`` found.
  ///   - dataset: What was read at `path`.
  ///   - note: is told what a user should know of the adapter's scale and of the prompt.
  package init(
    _ options: AdapterTraining.Options, recipe: TrainingRecipe?, model: StoredModel, dataset: Dataset, at path: String,
    on compute: Compute, note: (String) -> Void
  ) throws {
    (self.model, dataPath, self.recipe, self.compute, search, answered) = (model, path, options.recipe, compute, nil, [])
    start = try options.start.map { try AdapterStart($0, for: model, on: compute) }
    teacher = try options.teacher.map {
      try AdapterTeacher(
        $0, for: model, beside: dataset, seed: options.engineOptions(recipe).optimization.seed, textColumn: options.textColumn, on: compute)
    }
    self.options = options.engineOptions(
      recipe, from: start?.configuration,
      defaults: TrainingOptions(
        weights: model.weights.elementCount, examples: dataset.train.count + (teacher?.texts?.examples.count ?? 0),
        labels: dataset.labels.count))
    if let changed = options.noteOfRank(in: self.options.adapter) { note(changed) }
    // A start of another shape is told before the texts are looked at.
    _ = try start?.adapter(as: self.options.adapter)
    try self.options.classWeights.check(labels: dataset.labels, recipe: options.recipeName)
    try Self.check(wordShare: self.options.wordShare, dataset)
    var dataset = dataset
    split = dataset.splitAutomatically(seed: self.options.optimization.seed)
    self.dataset = dataset
    prompts = try ModelPrompts(model)
    var task = try options.task(recipe, for: model, asked: prompts, labels: dataset.labels, note: note)
    // A text without a label teaches that there may be none; so does an adapter that has learnt it.
    task.allowsNone = dataset.unlabelledCount(.train) > 0 || start?.allowsNone == true
    self.task = task
    let unlabelled = dataset.unlabelledCount(.train)
    if unlabelled > 0 {
      note(
        "\(counted(unlabelled, "training text")) without a label: an answer may be empty, as evaluation and prediction ask with "
          + "\(optionName("tags")) 2 or more")
    }
    try teacher?.check(Self.description(of: dataset, task, self.options, prompts))
    identity = RunIdentity(
      model: model.digest ?? "", data: dataset.digest + dataset.digest(of: .train) + dataset.digest(of: .validation),
      options: Self.members(self.options, task, prompts, start, teacher, compute),
      lengths: self.options.optimization.dependsOnLength ? [] : ["epochs"])
  }

  /// Refuses a classifier of words for what it cannot answer.
  private static func check(wordShare: Double, _ dataset: Dataset) throws(DibitError) {
    guard wordShare > 0 else { return }
    guard dataset.kind == .labelled, dataset.labelled(.train).allSatisfy({ $0.labels.count == 1 }) else {
      throw DibitError(
        .invalidArgument, option: "wordShare",
        "is for texts of one label each; expected 0, found \(wordShare) for "
          + (dataset.kind == .labelled ? "texts with several labels or none" : "conversations"))
    }
  }

  /// The same job with the settings that a search found best, or with the texts that its teacher has labelled.
  private init(_ job: AdapterTrainingJob, taking search: SearchResult? = nil, answered: [LabelledExample] = []) {
    (model, dataPath, dataset, split, start) = (job.model, job.dataPath, job.dataset, job.split, job.start)
    (teacher, task, recipe, prompts, compute) = (job.teacher, job.task, job.recipe, job.prompts, job.compute)
    var (options, identity) = (job.options, job.identity)
    if let best = search?.best {
      (options.optimization.learningRate, options.epochs) = (best.settings.learningRate, best.settings.epochs)
      options.wordShare = best.wordShare?.share ?? options.wordShare
    }
    identity.options = Self.members(options, task, prompts, start, teacher, compute)
    if !answered.isEmpty { identity.data += Dataset(train: answered).digest(of: .train) }
    (self.options, self.identity, self.search, self.answered) = (options, identity, search, answered)
  }

  /// All options that the bytes of the adapter depend on.
  private static func members(
    _ options: TrainingOptions, _ task: TaggingTask, _ prompts: ModelPrompts, _ start: AdapterStart?, _ teacher: AdapterTeacher?,
    _ compute: Compute
  ) -> JSONObject {
    let begins: [(key: String, value: JSONValue)] =
      (start.map { [(key: "from", value: .string($0.digest))] } ?? [])
      + (teacher.map { [(key: "teacher", value: .object($0.identity))] } ?? [])
    return JSONObject(options.members(compute, task) + prompts.identity(of: task) + begins)
  }

  /// The directory where a run writes, and the point from which it begins.
  package struct Output: Sendable {
    /// The directory.
    package var path: String
    /// True to replace an adapter there, and to begin a stopped run anew.
    package var overwrites = false
    /// True to go on with a stopped run.
    package var resumes = false
    /// The interval at which checkpoints are written.
    package var interval = CheckpointInterval.seconds(120)
    /// The inputs that no output may destroy.
    package var inputs: JobInputs

    /// The mark that an existing directory must bear to be replaced.
    private let mark: DirectoryMark

    /// An output at `path`, which may replace what bears the mark.
    package init(_ path: String, inputs: JobInputs, mark: DirectoryMark = StoredAdapter.mark) {
      (self.path, self.inputs, self.mark) = (path, inputs, mark)
    }

    var replaced: DirectoryMark? { overwrites ? mark : nil }

    /// Finds out before the work, not behind it, that the output may not be created.
    package func check() throws { _ = try StagedDirectory(destination: path, replacing: replaced, inputs: inputs) }
  }

  /// The manifest of an output that is that of this very job, which was stopped after its last step, or of a search that began with it; its
  /// checkpoints are removed. Nil for any other.
  package func completed(_ output: Output) throws -> JSONValue? {
    guard let manifest = try? StoredAdapter.readManifest(output.path),
      [manifest["training"], manifest["search"]].contains(where: { $0?["run_sha256"]?.string == identity.digest })
    else { return nil }
    try CheckpointStore.remove(of: output.path, inputs: output.inputs)
    return manifest
  }

  /// All that is learnt from.
  private var learnt: [DatasetExample] { dataset.train + answered.map { .labelled($0) } }

  /// Makes the trainer, with all texts in tokens.
  package func makeTrainer(note: (String) -> Void) throws -> AdapterTrainer {
    let learnt = learnt
    let encoder = try prompts.encoder(task, for: learnt + dataset.validation)
    let examples = try encoder.encode(learnt, weighing: options.classWeights)
    let validation = try encoder.encode(dataset.validation)
    if validation.isEmpty, options.optimization.keepsBest || options.optimization.patience > 0 {
      note("there are no validation texts, so neither patience nor the best validation can count")
    }
    return try AdapterTrainer(
      model.makeDecoder(), examples: examples, validation: validation, options: options, from: start?.adapter(as: options.adapter),
      teacher: teacher?.trainer(), on: compute)
  }

  /// A training into a directory, which appears when it is done.
  package struct Run: ~Copyable {
    /// The directory of its checkpoints.
    package let checkpoints: CheckpointStore
    private let job: AdapterTrainingJob
    private var trainer: AdapterTrainer
    private let directory: StagedDirectory

    /// Opens the output and finds the checkpoint to go on from; `note` is told of those that were passed over.
    package init(_ job: AdapterTrainingJob, _ trainer: consuming AdapterTrainer, into output: Output, note: (String) -> Void) throws {
      let directory = try StagedDirectory(destination: output.path, replacing: output.replaced, inputs: output.inputs)
      let checkpoints = try CheckpointStore(
        output: output.path, inputs: output.inputs, identity: job.identity, interval: output.interval, resumes: output.resumes,
        discards: output.overwrites)
      for finding in checkpoints.findings { note(finding) }
      self.checkpoints = checkpoints
      self.job = job
      self.trainer = trainer
      self.directory = directory
    }

    /// Trains; `report` is told what happens and stops the run, which then leaves a checkpoint, by returning false.
    package mutating func train(report: (TrainingEvent) -> Bool) throws(TrainingError) -> TrainingResult {
      try trainer.run(checkpoints: checkpoints, report: report)
    }

    /// Writes the adapter of a run that came to its end and removes its checkpoints; returns what its manifest says. `note` is told what the
    /// adapter does not.
    package consuming func write(_ result: TrainingResult, note: (String) -> Void) throws -> JSONObject {
      let model = job.model
      var facts = AdapterFacts(manifest: job.manifest(result))
      if let sketches = job.sketches(note: note) { facts.setTrainingTexts(sketches) }
      if job.options.wordShare > 0 {
        let texts = job.dataset.labelled(.train) + job.answered
        // Long texts take it a minute or two.
        note("a classifier of words learns from the same \(counted(texts.count))")
        try facts.setWords(
          WordHead(learning: texts, labels: job.dataset.labels, share: job.options.wordShare, threads: job.compute.threads))
      }
      facts.card = try AdapterCard(base: model, facts: facts).text
      try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
      try directory.write(RecipeText(job.options, job.compute, job.task).text, to: StoreFile.recipe)
      try directory.write(LossChart(result.curve, title: "Loss").svg, to: StoreFile.lossChart)
      try StoredAdapter.write(trainer.trainedAdapter(), base: model, facts: facts, into: directory)
      try directory.commit()
      checkpoints.removeAll()
      return facts.manifest
    }
  }

  /// Sketches of all texts that the adapter has learnt from, also before this run; nil where nobody knows.
  private func sketches(note: (String) -> Void) -> TextSketches? {
    guard dataset.kind == .labelled else { return nil }
    let own = TextSketches((dataset.labelled(.train) + answered).map(\.text))
    guard let start else { return own }
    guard var all = start.sketches else {
      note("'\(start.path)' does not say which texts it was trained on, and so the new adapter does not either")
      return nil
    }
    all.formUnion(own)
    return all
  }

  private static func description(
    of dataset: Dataset, _ task: TaggingTask, _ options: TrainingOptions, _ prompts: ModelPrompts
  ) -> AdapterDescription {
    AdapterDescription(
      kind: dataset.kind, labels: dataset.labels, task: task, seed: options.optimization.seed, dataDigest: dataset.digest,
      templateDigest: prompts.templateDigest(for: task))
  }

  private func manifest(_ result: TrainingResult) -> JSONObject {
    var manifest = Self.description(of: dataset, task, options, prompts).json
    if let start { manifest["from"] = start.json }
    if let teacher { manifest["teacher"] = teacher.json }
    if let search { manifest["search"] = search.json }
    manifest["split"] = [
      "train": .integer(split.train), "validation": .integer(split.validation), "test": .integer(split.test),
      "automatic": .array(split.automatic.map { .string($0.rawValue) }), "train_sha256": .string(dataset.digest(of: .train)),
      "validation_sha256": .string(dataset.digest(of: .validation)),
    ]
    manifest["recipe"] = .object(
      JSONObject([(key: "file", value: recipe.map { .string($0) } ?? .null)] + options.members(compute).filter { $0.key != "seed" }))
    // Neither times nor rates: the same seed must give the same bytes.
    manifest["training"] = [
      "run_sha256": .string(identity.digest), "end": .string(result.end.rawValue), "kept_step": .integer(result.keptStep),
      "steps": .integer(result.steps), "total_steps": .integer(result.totalSteps), "tokens": .integer(result.tokens),
      "training_loss": .number(Double(result.trainingLoss)), "validation_loss": result.validationLoss.map { .number(Double($0)) } ?? .null,
      "validation_content_loss": result.validationContentLoss.map { .number(Double($0)) } ?? .null,
      "truncated_examples": .integer(result.truncatedExamples), "truncated_tokens": .integer(result.truncatedTokens),
    ]
    return manifest
  }
}

extension AdapterTrainingJob {
  /// Has the teacher label the texts that nobody has labelled: the job with these; itself where there are none, nil where `report`, told how
  /// many are done, stopped it.
  ///
  /// The same texts and teacher give the same labels, so a run that is taken up again asks once more.
  ///
  /// - Parameter scoring: What asks about texts; its products must not depend on how many share a pass.
  package func answering(
    scoring: @autoclosure () throws -> Compute, note: (String) -> Void, report: (_ done: Int, _ total: Int) -> Bool
  ) throws -> AdapterTrainingJob? {
    guard let teacher, teacher.texts != nil else { return self }
    let most = dataset.labelled(.train).lazy.map(\.labels.count).max() ?? 1
    let answers = try teacher.answers(most: most, allowsNone: task.allowsNone, on: scoring(), note: note, report: report)
    return answers.map { AdapterTrainingJob(self, answered: $0) }
  }

  /// Finds the settings with which this job's adapter answers best, within the budget of `options`: the job with these. Itself where there is
  /// no room for a search or there are too few texts, which `note` is told; nil where `report` stopped it.
  ///
  /// Trials that are done are kept beside `output` until the adapter is whole.
  ///
  /// - Parameters:
  ///   - options: Those that the job was made of.
  ///   - scoring: What asks about texts; its products must not depend on how many share a pass.
  package func searching(
    _ options: AdapterTraining.Options, into output: Output, scoring: Compute, note: (String) -> Void,
    report: (SettingsSearch.Event) -> Bool
  ) throws -> AdapterTrainingJob? {
    guard let budget = options.budget.map({ $0 / .seconds(1) }) else { return self }
    guard dataset.kind == .labelled else {
      throw DibitError(.invalidArgument, option: "budget", "is for labelled texts; settings for conversations are chosen by hand")
    }
    let texts = dataset.labelled(.train) + dataset.labelled(.validation)
    let trial = try AdapterTrial(
      model, prompts: prompts, task: task, labels: dataset.labels, examples: texts, training: compute, inference: scoring)
    let search: SettingsSearch
    var variation = options.variation
    variation.wordShare = variation.wordShare && self.options.wordShare == 0 && texts.allSatisfy { $0.labels.count == 1 }
    do { search = try SettingsSearch(trial, dataset, options: self.options, varying: variation) } catch let error as DatasetError {
      note("no search for better settings: \(error)")
      return self
    }
    let folder = try JobDirectory.path(of: output.path)
    if !(output.resumes && isDirectory(folder)) {
      var trainer = try makeTrainer(note: { _ in })
      let training = trainer.estimate(seconds: 2).seconds
      let least = search.leastSeconds(training: training)
      guard least <= budget else {
        note(
          "no search for better settings: \(counted(search.leastTrials, "trial")) and the training itself would take about "
            + "\(Int(least.rounded(.up))) s, and the budget is \(Int(budget)) s")
        if training > budget, let length = trainer.textLength(forShare: budget / training) {
          note(
            "the training alone takes about \(Int(training.rounded(.up))) s; with \(optionName("maximumTokens")) \(length) it learns from the "
              + "beginnings of texts, within the budget")
        }
        return self
      }
    }
    var completed = try CompletedParts(
      in: folder, resumes: output.resumes, overwrites: output.overwrites, inputs: output.inputs, identity: identity, names: nil,
      of: .training, note: note, check: {})
    var current = 1
    let result = try search.run(budget: budget, completed: &completed) { event in
      if case .trying(let number, _, _) = event { current = number }
      return report(event)
    }
    guard var result else { throw completed.interruption("trial \(current)") }
    result.identity = identity.digest
    if let (share, score) = result.best.wordShare {
      note(
        "a classifier of words gets a share of \(share) in answers: Brier score \(fixed(score, 3)) for \(fixed(result.best.score, 3)) without"
      )
    }
    return AdapterTrainingJob(self, taking: result)
  }
}

extension AdapterTraining.Options {
  /// The settings that a search may vary: those that no option and no setting chooses.
  var variation: SettingsSearch.Variation {
    func isSet(_ key: String) -> Bool { settings.contains { $0.prefix { $0 != "=" }.filter { !$0.isWhitespace } == key } }
    return SettingsSearch.Variation(
      learningRate: learningRate == nil && !isSet("learning_rate"), epochs: epochs == nil && !isSet("epochs"),
      wordShare: wordShare == nil && !isSet("word_share"))
  }
}
