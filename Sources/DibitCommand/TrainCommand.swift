internal import ArgumentParser
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTokenizer
internal import DibitTraining

struct TrainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "train",
    abstract: "Train an adapter on labelled texts or conversations.",
    discussion: """
      Example: dibit train ./model --data ./notes --output ./notes-adapter --epochs 4

      PATH is a folder with one folder for each label, or with train, validation and test and such folders in them; or a file of rows in
      CSV, TSV or JSONL, or a folder with such files called train, validation and test. A row is a text with its label or labels,
      a list of messages, or a prompt and its completion. 'dibit dataset PATH' says what is in it. Without a validation split
      a stratified part is held out: none below 50, a tenth below 200, a twentieth above.
      The model's weights stay as they are; the adapter directory opens in PEFT. Its recipe.yaml holds every setting and repeats the run.
      Labelled texts are put into the model's chat template, if it has one; evaluate and predict ask in the same way.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the adapter has the same bytes as without the stop.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: ArgumentHelp("The data: a folder or a file.", valueName: "path")) var data: String
  @Option(name: .shortAndLong, help: "The adapter directory to create; only --plan can do without.") var output: String?
  @Option(
    help: ArgumentHelp(
      "Go on from this adapter of the same model, which gives the start and the shape; its labels may be others.", valueName: "adapter"))
  var from: String?
  @OptionGroup var adapter: AdapterRecipeArguments
  @Flag(help: "Replace an existing adapter, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @Flag(help: "Print the result as JSON.") var json = false
  @Flag(help: "Only say how much memory the run would take, for what, and how long: that is measured for three seconds.") var plan = false
  @OptionGroup var training: RunOptions
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    guard output != nil || plan else { throw ValidationError("--output: the adapter directory to create is missing") }
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try adapter.load(settings: training.settings.set)
    let compute = try compute.makeCompute(for: recipe?.optimization)
    let model = try OpenedModels.openConverted(model)
    var dataset = try rows.read(data)
    let start = try from.map { try AdapterStart($0, for: model, on: compute) }
    var options = adapter.options(recipe, from: start?.configuration)
    let parameters = try start?.adapter(as: options.adapter)
    try options.classWeights.check(labels: dataset.labels, recipe: adapter.recipe)
    options.optimization.memoryLimit = try training.memoryLimitBytes()
    let split = dataset.splitAutomatically(seed: options.optimization.seed)
    let prompts = try ModelPrompts(model)
    let task = try adapter.task(recipe, for: model, asked: prompts, labels: dataset.labels)
    let begins: [(key: String, value: JSONValue)] = start.map { [(key: "from", value: .string($0.digest))] } ?? []
    let identity = RunIdentity(
      model: model.digest ?? "", data: dataset.digest + dataset.digest(of: .train) + dataset.digest(of: .validation),
      options: JSONObject(AdapterRecipeArguments.members(options, compute, task) + prompts.identity(of: task) + begins),
      lengths: options.optimization.dependsOnLength ? [] : ["epochs"])
    // Without an output there is only a plan: see validate().
    let output = output ?? ""
    let inputs = JobInputs([self.model, data, adapter.recipe, from])
    let replaced = overwrite ? StoredAdapter.mark : nil
    if !plan {
      try training.checkOutputs(output, inputs)
      if training.resume, try isDone(output, identity, inputs) { return }
      // An output that may not be created is found before the work, not behind it.
      _ = try StagedDirectory(destination: output, replacing: replaced, inputs: inputs)
    }
    for finding in dataset.report.summary { Terminal.write("note: \(Advice.options(in: finding))\n") }
    let encoder = try prompts.encoder(task, for: dataset.train + dataset.validation)
    let examples = try encoder.encode(dataset.train, weighing: options.classWeights)
    let validation = try encoder.encode(dataset.validation)
    if validation.isEmpty, options.optimization.keepsBest || options.optimization.patience > 0 {
      Terminal.write("note: there are no validation texts, so neither patience nor the best validation can count\n")
    }
    let decoder = model.makeDecoder()
    var trainer = try AdapterTrainer(decoder, examples: examples, validation: validation, options: options, from: parameters, on: compute)
    Terminal.write(
      "\(grouped(split.train)) training and \(grouped(split.validation)) validation "
        + (dataset.kind == .labelled ? "texts, \(counted(dataset.labels.count, "label")); " : "conversations; ")
        + "\(grouped(trainer.parameterCount)) adapter parameters over \(grouped(model.weights.elementCount)) frozen ones\n")
    if plan {
      let estimate = trainer.estimate()
      return show(trainer.plan, trainer.totalSteps, estimate)
    }
    let directory = try StagedDirectory(destination: output, replacing: replaced, inputs: inputs)
    let checkpoints = try CheckpointStore(
      output: output, inputs: inputs, identity: identity, interval: training.interval(recipe?.optimization), resumes: training.resume,
      discards: overwrite)
    for name in checkpoints.skipped { Terminal.write("note: '\(name)' in '\(checkpoints.path)' is not whole; it was passed over\n") }
    // Nothing is learnt from damaged weights.
    try OpenedModels.finishChecks()
    var view = try RunView("training", tensorboard: training.tensorboard, inputs: inputs)
    let result = try Failure.context("training on '\(data)'") {
      try trainer.run(checkpoints: checkpoints) { event in
        view.show(event)
        return !Interrupt.isRequested
      }
    }
    view.finish()
    guard !result.wasInterrupted else { throw training.interruption(result, checkpoints) }
    var facts = AdapterFacts(
      manifest: manifest(
        model, dataset, split, task, prompts.templateDigest(for: task), options, start, result, identity, compute))
    if let sketches = sketches(of: dataset, start) { facts.setTrainingTexts(sketches) }
    facts.card = try AdapterCard(base: model, facts: facts).text
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(RecipeText(options, compute, task).text, to: StoreFile.recipe)
    try directory.write(LossChart(result.curve, title: "Loss").svg, to: StoreFile.lossChart)
    try StoredAdapter.write(trainer.finish(), base: model, facts: facts, into: directory)
    try directory.commit()
    checkpoints.removeAll()
    if json { printJSON(.object(facts.manifest)) } else { show(result, view) }
    Terminal.wrote(output)
    if adapter.recipe == nil { describeDefaults(options, result, output) }
  }

  /// Sketches of all texts that the adapter has learnt from, also before this run; nil where nobody knows.
  private func sketches(of dataset: Dataset, _ start: AdapterStart?) -> TextSketches? {
    guard dataset.kind == .labelled else { return nil }
    let own = TextSketches(dataset.labelled(.train).map(\.text))
    guard let start else { return own }
    guard let earlier = start.sketches else {
      Terminal.write("note: '\(start.path)' does not say which texts it was trained on, and so the new adapter does not either\n")
      return nil
    }
    var all = earlier
    all.formUnion(own)
    return all
  }

  /// Says what was chosen where nobody chose, and where to change it.
  private func describeDefaults(_ options: TrainingOptions, _ result: TrainingResult, _ output: String) {
    let values = [
      "epochs \(options.epochs)", "batch_size \(options.batchSize) (steps in all: \(result.totalSteps))",
      "learning_rate \(options.optimization.learningRate)", "rank \(options.adapter.rank)",
      "alpha \(JSONValue.number(Double(options.adapter.alpha)).serialized())",
    ]
    Terminal.write(
      "note: no recipe was given: \(values.joined(separator: ", ")); all values are in '\(join(output, StoreFile.recipe))', to be changed and "
        + "given to --recipe\n")
  }

  private func show(_ plan: MemoryPlan, _ steps: Int, _ estimate: RunEstimate) {
    if json {
      var object = JSONObject([(key: "memory", value: plan.json)])
      object["steps"] = .integer(steps)
      object["estimate"] = estimate.json
      return printJSON(.object(object))
    }
    printTable([
      ["weights", size(plan.weights)], ["adapter and optimiser", size(plan.trained)],
      ["activations, \(plan.keptLayers) of \(plan.layers) layers kept", size(plan.activations)],
      ["keys and values", size(plan.cache)], ["backward pass", size(plan.backward)], ["loss", size(plan.loss)],
      ["together", size(plan.total)],
    ])
    Output.print("at most \(counted(plan.rows, "token")) at once; layers that are not kept are computed twice, with the same result")
    Output.print(
      "\(counted(steps, "step")) over \(counted(estimate.trainingTokens, "token")): about \(duration(estimate.seconds)) at "
        + "\(decimal(estimate.trainingRate, 0)) tokens/s on this machine")
  }

  /// Whether the output is that of this very run, which was stopped after its last step.
  private func isDone(_ output: String, _ identity: RunIdentity, _ inputs: JobInputs) throws -> Bool {
    guard let manifest = try? StoredAdapter.readManifest(output), manifest["training"]?["run_sha256"]?.string == identity.digest else {
      return false
    }
    try CheckpointStore.remove(of: output, inputs: inputs)
    if json { printJSON(manifest) } else { Output.print("'\(output)' is the finished adapter of this run") }
    return true
  }

  private func show(_ result: TrainingResult, _ view: borrowing RunView) {
    if result.truncatedExamples > 0 {
      Output.print("\(counted(result.truncatedExamples)) cut to fit, losing \(counted(result.truncatedTokens, "token")) in all")
    }
    Output.print("\(counted(result.steps, "step")), \(counted(result.tokens, "token"))\(view.summary(result))")
  }

  private func manifest(
    _ model: StoredModel, _ dataset: Dataset, _ split: SplitSummary, _ task: TaggingTask, _ templateDigest: String?,
    _ options: TrainingOptions, _ start: AdapterStart?, _ result: TrainingResult, _ identity: RunIdentity, _ compute: Compute
  ) -> JSONObject {
    let description = AdapterDescription(
      kind: dataset.kind, labels: dataset.labels, task: task, seed: options.optimization.seed, dataDigest: dataset.digest,
      templateDigest: templateDigest)
    var manifest = description.json
    if let start { manifest["from"] = start.json }
    manifest["split"] = [
      "train": .integer(split.train), "validation": .integer(split.validation), "test": .integer(split.test),
      "automatic": .array(split.automatic.map { .string($0.rawValue) }), "train_sha256": .string(dataset.digest(of: .train)),
      "validation_sha256": .string(dataset.digest(of: .validation)),
    ]
    manifest["recipe"] = .object(
      JSONObject(
        [(key: "file", value: adapter.recipe.map { .string($0) } ?? .null)]
          + AdapterRecipeArguments.members(options, compute).filter { $0.key != "seed" }))
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
