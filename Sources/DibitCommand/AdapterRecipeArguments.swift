internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

/// How an adapter is trained: a recipe and the options that win over it. For every command that trains adapters.
struct AdapterRecipeArguments: ParsableArguments {
  @Option(help: ArgumentHelp("A recipe; options on the command line win over it.", valueName: "file")) var recipe: String?
  @Option(help: "Passes over the texts.") var epochs: Int?
  @Option(help: "Texts of a step.") var batchSize: Int?
  @Option(help: "The peak learning rate.") var learningRate: Double?
  @Option(help: "The adapter's rank.") var rank: Int?
  @Option(help: "The adapter's scale is alpha / rank.") var alpha: Double?
  @Option(help: "The most tokens of a text with its prompt and answer.") var maxTokens: Int?
  @Option(help: "The seed of everything random.") var seed: UInt64?

  func validate() throws {
    try checkRange("epochs", epochs, 1...10_000)
    try checkRange("batch-size", batchSize, 1...4096)
    try checkRange("learning-rate", learningRate, 0...10)
    try checkRange("rank", rank, 1...4096)
    try checkRange("alpha", alpha, 1e-6...1e6)
    try checkRange("max-tokens", maxTokens, 8...(1 << 20))
  }

  /// The recipe and the settings that win over it; nil where there is neither.
  func load(settings: [String]) throws -> TrainingRecipe? {
    guard recipe != nil || !settings.isEmpty else { return nil }
    let text = try recipe.map { String(decoding: try readFile($0, limit: 1 << 20), as: UTF8.self) }
    return try TrainingRecipe(
      yaml: text, file: recipe ?? "--set", settings: settings, targets: LinearKind.allCases.map(\.targetName))
  }

  /// The recipe over the defaults, the command line over both.
  func options(_ recipe: TrainingRecipe?) -> TrainingOptions {
    var options = TrainingOptions()
    if let recipe { options.optimization.apply(recipe.optimization) }
    options.epochs = epochs ?? recipe?.epochs ?? options.epochs
    options.batchSize = batchSize ?? recipe?.batchSize ?? options.batchSize
    options.accumulation = recipe?.accumulation ?? options.accumulation
    options.validationInterval = recipe?.validationInterval
    options.optimization.learningRate = learningRate.map { Float($0) } ?? options.optimization.learningRate
    options.optimization.seed = seed ?? options.optimization.seed
    options.adapter.rank = rank ?? recipe?.rank ?? options.adapter.rank
    options.adapter.dropout = recipe?.dropout.map { Float($0) } ?? options.adapter.dropout
    options.adapter.decomposesWeights = recipe?.decomposesWeights ?? options.adapter.decomposesWeights
    options.adapter.stabilizesRank = recipe?.stabilizesRank ?? options.adapter.stabilizesRank
    if alpha == nil, let scale = recipe?.scale {
      options.adapter.alpha =
        Float(scale) * (options.adapter.stabilizesRank ? Float(options.adapter.rank).squareRoot() : Float(options.adapter.rank))
    } else {
      options.adapter.alpha = (alpha ?? recipe?.alpha).map { Float($0) } ?? options.adapter.alpha
    }
    if let targets = recipe?.targets { options.adapter.targets = LinearKind.allCases.filter { targets.contains($0.targetName) } }
    return options
  }

  /// The prompt, kept to what the model can read, with the labels where its instruction names them.
  func task(_ recipe: TrainingRecipe?, for model: StoredModel, labels: [String]) throws -> TaggingTask {
    var task = TaggingTask()
    task.instruction = recipe?.instruction ?? task.instruction
    task.key = recipe?.key ?? task.key
    task.template = try recipe?.template.map { try PromptTemplate($0) }
    task.scaffoldingWeight = recipe?.scaffoldingWeight.map { Float($0) } ?? task.scaffoldingWeight
    task.maximumTokens = min(maxTokens ?? recipe?.maximumTokens ?? task.maximumTokens, model.configuration.contextLength)
    return task.listing(labels)
  }

  /// All values that the result depends on, under the names of recipes; with `task`, those of the prompt too.
  static func members(
    _ options: TrainingOptions, _ compute: Compute, _ task: TaggingTask? = nil
  ) -> [(key: String, value: JSONValue)] {
    var members: [(key: String, value: JSONValue)] = [
      ("epochs", .integer(options.epochs)), ("batch_size", .integer(options.batchSize)),
      ("grad_accumulation_steps", .integer(options.accumulation)),
      ("steps_per_eval", options.validationInterval.map { .integer($0) } ?? .null),
    ]
    members += options.optimization.members + [("compute_dtype", .string(compute.gradients.recipeName))]
    members += [
      ("rank", .integer(options.adapter.rank)), ("alpha", .number(Double(options.adapter.alpha))),
      ("dropout", .number(Double("\(options.adapter.dropout)") ?? 0)), ("use_rslora", .bool(options.adapter.stabilizesRank)),
      ("use_dora", .bool(options.adapter.decomposesWeights)),
      ("keys", .array(options.adapter.targets.map { .string($0.targetName) })),
    ]
    guard let task else { return members }
    return members + [
      ("instruction", .string(task.instruction)), ("key", .string(task.key)), ("max_seq_length", .integer(task.maximumTokens)),
      ("template", task.template.map { .string($0.text) } ?? .null),
      ("scaffolding_weight", .number(Double("\(task.scaffoldingWeight)") ?? 1)),
    ]
  }
}
