internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
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
      The model's weights stay as they are; the adapter directory opens in PEFT. Ctrl-C stops and keeps the adapter as it is then.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: ArgumentHelp("The data: a folder or a file.", valueName: "path")) var data: String
  @Option(name: .shortAndLong, help: "The adapter directory to create.") var output: String
  @Option(help: ArgumentHelp("A recipe; options on the command line win over it.", valueName: "file")) var recipe: String?
  @Option(help: "Passes over the texts.") var epochs: Int?
  @Option(help: "Texts of a step.") var batchSize: Int?
  @Option(help: "The peak learning rate.") var learningRate: Double?
  @Option(help: "The adapter's rank.") var rank: Int?
  @Option(help: "The adapter's scale is alpha / rank.") var alpha: Double?
  @Option(help: "The most tokens of a text with its prompt and answer.") var maxTokens: Int?
  @Option(help: "The seed of everything random.") var seed: UInt64?
  @Flag(help: "Replace an existing adapter.") var overwrite = false
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    func check<Value: Comparable>(_ name: String, _ value: Value?, _ range: ClosedRange<Value>) throws {
      guard let value, !range.contains(value) else { return }
      throw ValidationError("--\(name): expected a number from \(range.lowerBound) to \(range.upperBound), found \(value)")
    }
    try check("epochs", epochs, 1...10_000)
    try check("batch-size", batchSize, 1...4096)
    try check("learning-rate", learningRate, 0...10)
    try check("rank", rank, 1...4096)
    try check("alpha", alpha, 1e-6...1e6)
    try check("max-tokens", maxTokens, 8...(1 << 20))
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try loadRecipe()
    let compute = try compute.makeCompute()
    let model = try StoredModel.openConverted(model)
    var dataset = try Dataset.read(data, rows: rows.options)
    let options = options(recipe)
    let split = dataset.splitAutomatically(seed: options.seed)
    let directory = try StagedDirectory(destination: output, overwrite: overwrite)
    let task = task(recipe, model)
    for finding in dataset.report.summary { Terminal.write("note: \(finding)\n") }
    let format = ConversationFormat(
      tokenizer: model.tokenizer, jinja: try ChatSource.open(model.path).template, maximumTokens: task.maximumTokens)
    let encoder = ExampleEncoder(
      task: TokenizedTask(task, tokenizer: model.tokenizer), format: format, for: dataset.train + dataset.validation)
    let examples = try encoder.encode(dataset.train)
    let validation = try encoder.encode(dataset.validation)
    let decoder = model.makeDecoder()
    var trainer = try AdapterTrainer(decoder, examples: examples, validation: validation, options: options, on: compute)
    Terminal.write(
      "\(split.train) training and \(split.validation) validation "
        + (dataset.kind == .labelled ? "texts, \(dataset.labels.count) labels; " : "conversations; ")
        + "\(trainer.parameterCount) adapter parameters over \(model.weights.elementCount) frozen ones\n")
    var line = ProgressLine("training")
    var seconds = 0.0
    let result = try Failure.context("training on '\(data)'") {
      try trainer.run(decoder) { event in
        seconds = line.elapsed
        Self.show(event, &line, seconds)
        return !Interrupt.isRequested
      }
    }
    line.finish()
    let manifest = manifest(model, dataset, split, task, options, result, seconds)
    try StoredAdapter.write(trainer.finish(), base: model, manifest: manifest, into: directory)
    try directory.commit()
    if json { printJSON(.object(manifest)) } else { show(result, seconds) }
    if result.wasInterrupted {
      throw Failure(
        .interrupted, "interrupted after step \(result.steps) of \(result.totalSteps): '\(output)' holds the adapter of that step")
    }
  }

  private static func show(_ event: TrainingEvent, _ line: inout ProgressLine, _ seconds: Double) {
    switch event {
    case .step(let step, let total, let loss, _, _, let tokens):
      line.update(
        step, of: total, "step \(step)/\(total)  loss \(decimal(Double(loss), 3))  \(Int(Double(tokens) / max(seconds, 1e-9))) tokens/s")
    case .validation(let epoch, let loss, let content):
      line.note(
        "epoch \(epoch): validation loss \(decimal(Double(loss), 4)), on the labels alone \(decimal(Double(content), 4)) nats/token")
    }
  }

  private func show(_ result: TrainingResult, _ seconds: Double) {
    if result.truncatedExamples > 0 {
      print("\(result.truncatedExamples) texts were cut to fit; they lost \(result.truncatedTokens) tokens in all")
    }
    print(
      "\(result.steps) steps, \(result.tokens) tokens in \(duration(seconds)): \(Int(Double(result.tokens) / max(seconds, 1e-9))) tokens/s")
    print("wrote \(output)")
  }

  private func loadRecipe() throws -> TrainingRecipe? {
    guard let recipe else { return nil }
    let text = String(decoding: try readFile(recipe, limit: 1 << 20), as: UTF8.self)
    return try TrainingRecipe(yaml: text, file: recipe, targets: LinearKind.allCases.map(\.targetName))
  }

  /// The recipe over the defaults, the command line over both.
  private func options(_ recipe: TrainingRecipe?) -> TrainingOptions {
    var options = TrainingOptions()
    options.epochs = epochs ?? recipe?.epochs ?? options.epochs
    options.batchSize = batchSize ?? recipe?.batchSize ?? options.batchSize
    options.learningRate = (learningRate ?? recipe?.learningRate).map { Float($0) } ?? options.learningRate
    options.warmUp = recipe?.warmUp.map { Float($0) } ?? options.warmUp
    options.optimizer.weightDecay = recipe?.weightDecay.map { Float($0) } ?? options.optimizer.weightDecay
    options.clipNorm = recipe?.clipNorm.map { Float($0) } ?? options.clipNorm
    options.seed = seed ?? recipe?.seed.map { UInt64($0) } ?? options.seed
    options.adapter.rank = rank ?? recipe?.rank ?? options.adapter.rank
    options.adapter.alpha = (alpha ?? recipe?.alpha).map { Float($0) } ?? options.adapter.alpha
    if let targets = recipe?.targets { options.adapter.targets = LinearKind.allCases.filter { targets.contains($0.targetName) } }
    return options
  }

  private func task(_ recipe: TrainingRecipe?, _ model: StoredModel) -> TaggingTask {
    var task = TaggingTask()
    task.instruction = recipe?.instruction ?? task.instruction
    task.key = recipe?.key ?? task.key
    task.maximumTokens = min(maxTokens ?? recipe?.maximumTokens ?? task.maximumTokens, model.configuration.contextLength)
    return task
  }

  private func manifest(
    _ model: StoredModel, _ dataset: Dataset, _ split: SplitSummary, _ task: TaggingTask, _ options: TrainingOptions,
    _ result: TrainingResult, _ seconds: Double
  ) -> JSONObject {
    let description = AdapterDescription(
      kind: dataset.kind, labels: dataset.labels, task: task, seed: options.seed, dataDigest: dataset.digest)
    var manifest = description.json
    manifest["split"] = [
      "train": .integer(split.train), "validation": .integer(split.validation), "test": .integer(split.test),
      "automatic": .array(split.automatic.map { .string($0.rawValue) }), "train_sha256": .string(dataset.digest(of: .train)),
      "validation_sha256": .string(dataset.digest(of: .validation)),
    ]
    manifest["recipe"] = [
      "file": recipe.map { .string($0) } ?? .null, "epochs": .integer(options.epochs), "batch_size": .integer(options.batchSize),
      "learning_rate": .number(Double("\(options.learningRate)") ?? 0), "warmup": .number(Double("\(options.warmUp)") ?? 0),
      "weight_decay": .number(Double("\(options.optimizer.weightDecay)") ?? 0), "grad_clip": .number(Double("\(options.clipNorm)") ?? 0),
      "rank": .integer(options.adapter.rank), "alpha": .number(Double(options.adapter.alpha)),
      "keys": .array(options.adapter.targets.map { .string($0.targetName) }),
    ]
    // Neither times nor rates: the same seed must give the same bytes.
    manifest["training"] = [
      "steps": .integer(result.steps), "total_steps": .integer(result.totalSteps), "tokens": .integer(result.tokens),
      "training_loss": .number(Double(result.trainingLoss)), "validation_loss": result.validationLoss.map { .number(Double($0)) } ?? .null,
      "validation_content_loss": result.validationContentLoss.map { .number(Double($0)) } ?? .null,
      "truncated_examples": .integer(result.truncatedExamples), "truncated_tokens": .integer(result.truncatedTokens),
    ]
    return manifest
  }
}
