/// The settings that recipes for adapters and for whole models have in common; nil leaves the command's default.
package struct OptimizationRecipe: Equatable, Sendable {
  /// The seed of everything random.
  package var seed: UInt64?
  /// The peak learning rate, `learning_rate`.
  package var learningRate: Double?
  /// The share of all steps that warms up, `warmup`.
  package var warmUp: Double?
  /// The same in steps, `lr_schedule.warmup`.
  package var warmUpSteps: Int?
  /// The course of the learning rate after the warm-up: `cosine_decay`, `linear_schedule` or `constant`, `lr_schedule.name`.
  package var schedule: String?
  /// The learning rate of the last step, `lr_schedule.end`.
  package var finalLearningRate: Double?
  /// Multiplied by the learning rate and the parameter at each step, `weight_decay`.
  package var weightDecay: Double?
  /// The largest gradient norm, `grad_clip`.
  package var clipNorm: Double?
  /// The share of the running average that a step keeps, `ema_decay`.
  package var averageDecay: Double?
  /// The most tokens that go through the model at once, `micro_batch_tokens`.
  package var microBatchTokens: Int?
  /// Validations without a gain that end a run, `patience`.
  package var patience: Int?
  /// True to keep the best parameters and not the last, `keep`.
  package var keepsBest: Bool?
  /// The type that products are computed in, `compute_dtype`: `bfloat16` or `float32`.
  package var computeType: String?
  /// Steps between checkpoints, `save_every`.
  package var checkpointSteps: Int?
  /// The factor above the median at which a loss is suspicious, `watchdog.factor`.
  package var watchdogFactor: Double?
  /// Suspicious steps in a row that end a run, `watchdog.steps`.
  package var watchdogSteps: Int?

  /// The names of schedules, those of mlx-lm.
  package static let schedules = ["cosine_decay", "linear_schedule", "constant"]

  init(_ root: inout RecipeReader) throws(RecipeError) {
    seed = try root.seed("seed")
    learningRate = try root.number("learning_rate", 0...10)
    warmUp = try root.number("warmup", 0...1)
    weightDecay = try root.number("weight_decay", 0...10)
    clipNorm = try root.number("grad_clip", 1e-6...1e6)
    averageDecay = try root.number("ema_decay", 0...0.999999)
    microBatchTokens = try root.int("micro_batch_tokens", 1...(1 << 24))
    patience = try root.int("patience", 0...1_000_000)
    keepsBest = try root.string("keep", oneOf: ["last", "best"]).map { $0 == "best" }
    computeType = try root.string("compute_dtype", oneOf: ["bfloat16", "float32"])
    checkpointSteps = try root.int("save_every", 1...1_000_000_000)
    if var section = try root.section("lr_schedule") {
      schedule = try section.string("name", oneOf: Self.schedules)
      warmUpSteps = try section.int("warmup", 0...1_000_000_000)
      finalLearningRate = try section.number("end", 0...10)
      try section.refuseUnknownKeys()
      if warmUp != nil, warmUpSteps != nil {
        throw .conflictingKeys(file: root.file, first: "warmup", second: "lr_schedule.warmup")
      }
    }
    if var section = try root.section("watchdog") {
      watchdogFactor = try section.number("factor", 1...1e6)
      watchdogSteps = try section.int("steps", 0...1_000_000)
      try section.refuseUnknownKeys()
    }
  }
}
