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
      func note(_ text: String) { _ = report(.note(DibitError.words(for: text))) }
      try options.check()
      guard stored.digest != nil else { throw ModelStoreError.notConverted(path: stored.path) }
      let recipe = try options.readRecipe()
      var rows = RowOptions()
      (rows.textColumn, rows.labelColumn) = (options.textColumn, options.labelColumn)
      let dataset = try Dataset.read(data, rows: rows)
      let asked = try AdapterTrainingJob(
        options, recipe: recipe, model: stored, dataset: dataset, at: data,
        on: runtime.compute(for: .training(ProductPrecision(recipe: recipe?.optimization))), note: note
      ).answering(scoring: runtime.compute(for: .scoring), note: note) { _, _ in !report.isCancelled }
      guard let asked else { throw DibitError.cancelled }
      var destination = AdapterTrainingJob.Output(output, inputs: options.inputs(of: stored.path, data))
      (destination.overwrites, destination.resumes) = (options.overwrites, options.resumes)
      try destination.inputs.check(output: output)
      if options.resumes, let manifest = try asked.completed(destination) { return AdapterTraining.Report(manifest, path: output) }
      try destination.check()
      for finding in dataset.report.summary { note(finding) }
      let job = try asked.searching(options, into: destination, scoring: runtime.compute(for: .scoring), note: note) { event in
        AdapterTraining.Event(event).map { report($0) } ?? !report.isCancelled
      }
      guard let job else { throw DibitError.cancelled }
      var run = try AdapterTrainingJob.Run(job, job.makeTrainer(note: note), into: destination, note: note)
      let result = try run.train { event in AdapterTraining.Event(event).map { report($0) } ?? !report.isCancelled }
      guard !result.wasInterrupted else { throw DibitError.cancelled }
      _ = try run.write(result, note: note)
      return AdapterTraining.Report(try StoredAdapter.readManifest(output), path: output)
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
