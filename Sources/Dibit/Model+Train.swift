internal import DibitDataset
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

extension Model {
  /// Trains an adapter on labelled texts or conversations. The model's weights stay as they are.
  ///
  /// While it trains, checkpoints are kept in `output` with `.checkpoints` behind it. A job that is cancelled writes one more before it ends, and the
  /// same call with ``AdapterTraining/Options/resumes`` goes on; the adapter then has the same bytes as without the stop.
  ///
  /// ```swift
  /// let training = model.train(on: "notes", to: "notes-adapter")
  /// for try await case .step(let step) in training { print(step.step, "of", step.totalSteps, step.loss) }
  /// let adapter = try await model.adapter(at: training.value.path)
  /// ```
  ///
  /// - Parameters:
  ///   - data: A folder with one folder of texts for each label, or with train, validation and test and such folders in them; or a file of
  ///     rows in CSV, TSV or JSONL, or a folder with such files called train, validation and test. Without a validation split a stratified
  ///     part is held out.
  ///   - output: The adapter's directory, which appears when it is whole.
  ///   - options: How it is trained.
  /// - Returns: The job. It fails with ``DibitError`` for a model that was not converted, for data that cannot be read, for an output that
  ///   is in the way, and for a loss that is no number any more.
  public func train(
    on data: String, to output: String, options: AdapterTraining.Options = AdapterTraining.Options()
  ) -> Job<AdapterTraining.Event, AdapterTraining.Report> {
    // A training takes its time, and the model goes on answering.
    Job(on: Worker("training")) { [stored, runtime] report in
      try options.check()
      guard stored.digest != nil else { throw ModelStoreError.notConverted(path: stored.path) }
      let tell = { (event: AdapterTraining.Event?) in event.map { report($0) } ?? !report.isCancelled }
      let preparation = TeacherPreparation(for: options, recipe: try options.readRecipe(), output: output)
      try preparation?.run(before: output, of: stored, on: data, runtime, report: tell)
      let training = try preparation?.training { _ = tell(.note(DibitError.words(for: $0))) } ?? options
      return try AdapterTraining.run(training, of: stored, on: data, to: output, runtime, report: tell)
    }
  }
}

extension AdapterTraining {
  /// Trains an adapter of `model` by a teacher that lacks nothing, or none. `report` is told what happens, now and then nothing, and stops the run
  /// by returning false.
  fileprivate static func run(
    _ options: Options, of model: StoredModel, on data: String, to output: String, _ runtime: Runtime, report: (Event?) -> Bool
  ) throws -> Report {
    func note(_ text: String) { _ = report(.note(DibitError.words(for: text))) }
    let recipe = try options.readRecipe()
    let dataset = try Dataset.read(data, rows: RowOptions(textColumn: options.textColumn, labelColumn: options.labelColumn))
    let asked = try AdapterTrainingJob(
      options, recipe: recipe, model: model, dataset: dataset, at: data,
      on: runtime.compute(for: .training(ProductPrecision(recipe: recipe?.optimization))), note: note
    ).answering(scoring: runtime.compute(for: .scoring), note: note) { done, total in
      report(.preparing(.init(part: .labels, done: done, total: total)))
    }
    guard let asked else { throw DibitError.cancelled }
    var destination = AdapterTrainingJob.Output(output, inputs: options.inputs(of: model.path, data))
    (destination.overwrites, destination.resumes) = (options.overwrites, options.resumes)
    try destination.inputs.check(output: output)
    if options.resumes, let manifest = try asked.completed(destination) { return Report(manifest, path: output) }
    try destination.check()
    for finding in dataset.report.summary { note(finding) }
    let job = try asked.searching(options, into: destination, scoring: runtime.compute(for: .scoring), note: note) { report(Event($0)) }
    guard let job else { throw DibitError.cancelled }
    var run = try AdapterTrainingJob.Run(job, job.makeTrainer(note: note), into: destination, note: note)
    let result = try run.train { report(Event($0)) }
    guard !result.wasInterrupted else { throw DibitError.cancelled }
    _ = try run.write(result, note: note)
    return Report(try StoredAdapter.readManifest(output), path: output)
  }
}

extension TeacherPreparation {
  /// Makes what is lacking before the training of an adapter of `model` into `output`; `report` is told of it, now and then nothing, and stops it
  /// by returning false.
  fileprivate func run(
    before output: String, of model: StoredModel, on data: String, _ runtime: Runtime, report: (AdapterTraining.Event?) -> Bool
  ) throws {
    func dataset() throws -> Dataset {
      try Dataset.read(data, rows: RowOptions(textColumn: options.textColumn, labelColumn: options.labelColumn))
    }
    try check(output, inputs: options.inputs(of: model.path, data), beside: dataset())
    let teacher = try StoredModel.openConverted(self.model)
    try teacher.checkTokenizer(against: model, as: "a teacher")
    try teacher.check?.wait()
    if let texts {
      var job = try SynthesisJob(teacher, like: dataset(), at: data, options: texts.options, on: runtime.compute(for: .scoring))
      var file = try WrittenTexts(
        at: texts.path, limit: texts.options.limit, resumes: options.resumes, overwrites: options.overwrites,
        inputs: JobInputs([self.model, model.path, data, output]), identity: job.identity)
      for finding in file.findings { _ = report(.note(DibitError.words(for: finding))) }
      try file.begin()
      var count = file.kept.count
      let attempts = try job.run(behind: file.kept) { written in
        try file.append(written)
        count += written.count
        return report(.preparing(.init(part: .texts, done: count, total: texts.options.limit)))
      }
      try file.sync()
      guard attempts != nil else { throw DibitError.cancelled }
    }
    guard let adapter else { return }
    _ = try AdapterTraining.run(adapter.options, of: teacher, on: data, to: adapter.path, runtime) { event in
      switch event {
      case .step(let step): report(.preparing(.init(part: .adapter, done: step.step, total: step.totalSteps)))
      case .note, .tried: report(event)
      default: report(nil)
      }
    }
  }
}

extension AdapterTraining.Report {
  /// Reads the manifest of a trained adapter.
  init(_ manifest: JSONValue, path: String) {
    let training = manifest["training"]
    self.init(
      path: path, steps: training?["steps"]?.int ?? 0, keptStep: training?["kept_step"]?.int ?? 0,
      endedEarly: training?["end"]?.string == TrainingResult.End.stoppedEarly.rawValue, tokens: training?["tokens"]?.int ?? 0,
      trainingLoss: training?["training_loss"]?.double ?? .nan, validationLoss: training?["validation_loss"]?.double,
      validationContentLoss: training?["validation_content_loss"]?.double, truncatedTexts: training?["truncated_examples"]?.int ?? 0,
      manifest: manifest.serialized(pretty: true))
  }
}
