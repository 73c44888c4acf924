internal import ArgumentParser
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

/// Settings that win over a recipe, in its own words.
struct RecipeSettings: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A setting in the words of a recipe, such as batch_size=8; it wins over the recipe. May be given again.",
      valueName: "key=value"))
  var set: [String] = []
}

/// Options of the commands that train: how a run is kept, taken up again and watched.
struct RunOptions: ParsableArguments {
  @OptionGroup var settings: RecipeSettings

  @Flag(help: "Go on with the run that was stopped, from its newest whole checkpoint.") var resume = false

  @Option(
    help: ArgumentHelp(
      "Write a checkpoint every so many steps; otherwise about every two minutes. The result does not depend on it.", valueName: "n"))
  var checkpointEvery: Int?

  @Option(help: ArgumentHelp("Write event files for TensorBoard there.", valueName: "folder")) var tensorboard: String?

  @Option(
    help: ArgumentHelp(
      "The most memory to hold, weights included, such as 800M or 2G; less of it makes a step slower and changes no result.",
      valueName: "size"))
  var memoryLimit: String?

  /// Bytes of the limit; nil without one.
  func memoryLimitBytes() throws -> Int? { try memoryLimit.map { try MemorySize(option: "--memory-limit", $0).bytes } }

  func validate() throws {
    _ = try memoryLimitBytes()
    if let checkpointEvery, checkpointEvery < 1 {
      throw ValidationError("--checkpoint-every: expected at least 1, found \(checkpointEvery)")
    }
  }

  /// When to write checkpoints; the command line wins over the recipe.
  func interval(_ recipe: OptimizationRecipe?) -> CheckpointInterval {
    (checkpointEvery ?? recipe?.checkpointSteps).map { .steps($0) } ?? .seconds(120)
  }
}

extension RunOptions {
  /// Checks that no output of the run may destroy what it reads, before anything is written.
  func checkOutputs(_ output: String, _ inputs: JobInputs) throws {
    try inputs.check(output: output)
    let checkpoints = try JobDirectory.path(of: output)
    try inputs.check(output: checkpoints)
    if let tensorboard { try inputs.adding([output, checkpoints]).check(folder: tensorboard) }
  }

  /// What a stopped run says.
  func interruption(_ result: TrainingResult, _ checkpoints: CheckpointStore) -> Failure {
    Failure(
      .interrupted,
      "interrupted after step \(grouped(result.steps)) of \(grouped(result.totalSteps)): its checkpoint is in '\(checkpoints.path)'; "
        + "the same command with --resume goes on")
  }
}

extension OptimizationOptions {
  /// Lets a recipe win over the values so far.
  mutating func apply(_ recipe: OptimizationRecipe) {
    func set<Value>(_ path: WritableKeyPath<Self, Value>, _ value: Value?) { if let value { self[keyPath: path] = value } }
    set(\.seed, recipe.seed)
    set(\.learningRate, recipe.learningRate.map { Float($0) })
    set(\.warmUp, recipe.warmUp.map { .share(Float($0)) })
    set(\.warmUp, recipe.warmUpSteps.map { .steps($0) })
    set(\.schedule, recipe.schedule.flatMap(Schedule.Shape.init(recipeName:)))
    set(\.finalLearningRate, recipe.finalLearningRate.map { Float($0) })
    set(\.optimizer.weightDecay, recipe.weightDecay.map { Float($0) })
    set(\.clipNorm, recipe.clipNorm.map { Float($0) })
    set(\.averageDecay, recipe.averageDecay.map { Float($0) })
    set(\.microBatchTokens, recipe.microBatchTokens)
    set(\.patience, recipe.patience)
    // Waiting for a better validation makes sense only where the best one is kept.
    set(\.keepsBest, recipe.keepsBest ?? (recipe.patience ?? 0 > 0 ? true : nil))
    set(\.watchdog.factor, recipe.watchdogFactor.map { Float($0) })
    set(\.watchdog.steps, recipe.watchdogSteps)
  }

  /// The values in effect under the names of recipes: for manifests, and to tell runs apart.
  var members: [(key: String, value: JSONValue)] {
    func number(_ value: Float) -> JSONValue { .number(Double("\(value)") ?? 0) }
    let warmUpMember: (key: String, value: JSONValue) =
      switch warmUp {
      case .share(let share): ("warmup", number(share))
      case .steps(let steps): ("warmup_steps", .integer(steps))
      }
    return [
      ("seed", .string(String(seed))), ("learning_rate", number(learningRate)), ("lr_schedule", .string(schedule.recipeName)),
      ("lr_end", number(finalLearningRate)), warmUpMember, ("weight_decay", number(optimizer.weightDecay)),
      ("grad_clip", number(clipNorm)), ("ema_decay", number(averageDecay)), ("micro_batch_tokens", .integer(microBatchTokens)),
      ("patience", .integer(patience)), ("keep", keepsBest ? "best" : "last"), ("watchdog_factor", number(watchdog.factor)),
      ("watchdog_steps", .integer(watchdog.steps)),
    ] + (embeddingLearningRate.map { [("embedding_learning_rate", number($0))] } ?? [])
      + (rounding.map { [("quantization", $0.json)] } ?? [])
  }
}

extension Schedule.Shape {
  init?(recipeName name: String) {
    guard let shape = Self.allCases.first(where: { $0.recipeName == name }) else { return nil }
    self = shape
  }

  var recipeName: String {
    switch self {
    case .cosine: "cosine_decay"
    case .linear: "linear_schedule"
    case .constant: "constant"
    }
  }
}
