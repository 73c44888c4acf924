internal import ArgumentParser
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
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
  @Option(
    help: ArgumentHelp(
      "What prompts are put into: chat (what the model knows of chats, such as its chat template) or plain (lines); by default chat, if it can.",
      valueName: "form"), transform: { try choice($0, "--prompt-form") })
  var promptForm: PromptChoice?
  @Option(
    help: ArgumentHelp("How much a text counts: balanced (texts of rare labels more) or none.", valueName: "weights"),
    transform: { try choice($0, "--class-weights") })
  var classWeights: ClassWeightChoice?
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

  /// The recipe over the defaults, the command line over both; an adapter's own shape is the default of a run that goes on from it.
  func options(_ recipe: TrainingRecipe?, from start: AdapterConfiguration? = nil) -> TrainingOptions {
    var options = TrainingOptions()
    if let start { options.adapter = start }
    if let recipe { options.optimization.apply(recipe.optimization) }
    options.epochs = epochs ?? recipe?.epochs ?? options.epochs
    options.batchSize = batchSize ?? recipe?.batchSize ?? options.batchSize
    options.accumulation = recipe?.accumulation ?? options.accumulation
    options.validationInterval = recipe?.validationInterval
    options.classWeights =
      classWeights.map { $0 == .balanced ? .balanced : .equal } ?? recipe?.classWeights.map { ClassWeights($0) } ?? .equal
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

  /// The prompt, kept to what the model can read, with the labels where its instruction names them; no labels for conversations.
  func task(_ recipe: TrainingRecipe?, for model: StoredModel, asked prompts: ModelPrompts, labels: [String]) throws -> TaggingTask {
    var task = TaggingTask()
    let choice = promptForm ?? recipe?.form.flatMap(PromptChoice.init)
    guard !labels.isEmpty || choice == nil else {
      throw Failure(.usage, "--prompt-form: is for labelled texts; conversations are written in the model's own turns")
    }
    task.instruction = recipe?.instruction ?? task.instruction
    task.key = recipe?.key ?? task.key
    if promptForm == nil { task.template = try recipe?.template.map { try PromptTemplate($0) } }
    if task.template == nil, !labels.isEmpty {
      task.form = try prompts.form(choice)
      prompts.announce(task.form)
    }
    task.scaffoldingWeight = recipe?.scaffoldingWeight.map { Float($0) } ?? task.scaffoldingWeight
    task.maximumTokens = min(maxTokens ?? recipe?.maximumTokens ?? task.maximumTokens, model.configuration.contextLength)
    return task.listingAloud(labels)
  }

  /// All values that the result depends on, under the names of recipes; with `task`, those of the prompt too.
  static func members(
    _ options: TrainingOptions, _ compute: Compute, _ task: TaggingTask? = nil
  ) -> [(key: String, value: JSONValue)] {
    var members: [(key: String, value: JSONValue)] = [
      ("epochs", .integer(options.epochs)), ("batch_size", .integer(options.batchSize)),
      ("grad_accumulation_steps", .integer(options.accumulation)),
      ("steps_per_eval", options.validationInterval.map { .integer($0) } ?? .null), ("class_weights", options.classWeights.json),
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
      ("template", task.template.map { .string($0.text) } ?? .null), ("form", task.form.map { .string($0.rawValue) } ?? .null),
      ("scaffolding_weight", .number(Double("\(task.scaffoldingWeight)") ?? 1)),
    ]
  }
}

extension TaggingTask {
  /// The task with the labels named where its instruction says so; what looks like that place and is none is told.
  func listingAloud(_ labels: [String]) -> TaggingTask {
    let names = instruction.split(separator: "{", omittingEmptySubsequences: false).dropFirst().compactMap { part in
      part.firstIndex(of: "}").map { "{\(part[..<$0])}" }
    }
    for name in names where name != Self.labelsPlaceholder && name.lowercased().contains("label") {
      Terminal.write("note: \(quoted(name)) in the instruction stands for nothing; '\(Self.labelsPlaceholder)' names the labels\n")
    }
    return listing(labels)
  }
}

/// What `--class-weights` may be; a recipe may also give each label a number.
enum ClassWeightChoice: String, CaseIterable, Sendable {
  case balanced
  case equal = "none"
}

extension ClassWeights {
  init(_ recipe: TrainingRecipe.ClassWeights) {
    self =
      switch recipe {
      case .equal: .equal
      case .balanced: .balanced
      case .given(let weights): .given(weights.map { (label: $0.label, weight: $0.weight) })
      }
  }

  /// The value under `class_weights` in a recipe.
  var json: JSONValue {
    switch self {
    case .equal: "none"
    case .balanced: "balanced"
    case .given(let weights): .object(JSONObject(weights.map { (key: $0.label, value: .number($0.weight)) }))
    }
  }

  /// Refuses weights of labels that no text has.
  func check(labels: [String], recipe: String?) throws {
    guard self != .equal else { return }
    guard !labels.isEmpty else { throw Failure(.usage, "class weights are for labelled texts; conversations have no labels") }
    guard case .given(let weights) = self else { return }
    for entry in weights where !labels.contains(where: { $0.utf8.elementsEqual(entry.label.utf8) }) {
      throw Failure(
        .badData,
        "\(recipe ?? "--set"): 'class_weights': expected labels of the data (\(labels.prefix(5).joined(separator: ", "))"
          + "\(labels.count > 5 ? ", …" : "")), found '\(entry.label)'")
    }
  }
}
