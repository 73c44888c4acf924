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
  /// The learning rate where it has fallen, `lr_schedule.end`.
  package var finalLearningRate: Double?
  /// The steps behind the warm-up in which the learning rate falls, `lr_schedule.steps`.
  package var fallingSteps: Int?
  /// The learning rate from which the warm-up rises, `lr_schedule.warmup_init`.
  package var initialLearningRate: Double?
  /// Multiplied by the learning rate and the parameter at each step, `weight_decay`.
  package var weightDecay: Double?
  /// The decay of the mean of gradients, `adam_beta1`.
  package var meanDecay: Double?
  /// The decay of the mean of squared gradients, `adam_beta2`.
  package var squareDecay: Double?
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
    meanDecay = try root.number("adam_beta1", 0...0.999999)
    squareDecay = try root.number("adam_beta2", 0...0.999999)
    clipNorm = try root.number("grad_clip", 1e-6...1e6)
    averageDecay = try root.number("ema_decay", 0...0.999999)
    microBatchTokens = try root.int("micro_batch_tokens", 1...(1 << 24))
    patience = try root.int("patience", 0...1_000_000)
    keepsBest = try root.string("keep", oneOf: ["last", "best"]).map { $0 == "best" }
    computeType = try root.string("compute_dtype", oneOf: ["bfloat16", "float32"])
    checkpointSteps = try root.int("save_every", 1...1_000_000_000)
    try readSchedule(&root)
    if var section = try root.section("watchdog") {
      watchdogFactor = try section.number("factor", 1...1e6)
      watchdogSteps = try section.int("steps", 0...1_000_000)
      try section.refuseUnknownKeys()
    }
  }

  /// Reads `lr_schedule`, whose `arguments` are mlx-lm's: those of the schedule in mlx, by their places.
  private mutating func readSchedule(_ root: inout RecipeReader) throws(RecipeError) {
    guard var section = try root.section("lr_schedule") else { return }
    schedule = try section.string("name", oneOf: Self.schedules, advice: "the nearest is cosine_decay with an end")
    warmUpSteps = try section.int("warmup", 0...1_000_000_000)
    initialLearningRate = try section.number("warmup_init", 0...10)
    finalLearningRate = try section.number("end", 0...10)
    fallingSteps = try section.int("steps", 1...1_000_000_000)
    func excluding(_ first: String, _ second: String) -> RecipeError {
      .conflictingKeys(file: root.file, first: first, second: "lr_schedule." + second)
    }
    if warmUp != nil, warmUpSteps != nil { throw excluding("warmup", "warmup") }
    let form: (words: String, places: [Argument]) =
      switch schedule ?? Self.schedules[0] {
      case "cosine_decay": ("[initial rate, steps] or [initial rate, steps, end]", [.rate, .steps, .end])
      case "linear_schedule": ("[initial rate, end, steps]", [.rate, .end, .steps])
      default: ("no arguments for a constant rate", [])
      }
    let arguments = try section.numbers("arguments", form.words) { values in
      values.count <= form.places.count && values.count >= form.places.count - (form.places.last == .end ? 1 : 0)
        && zip(values, form.places).allSatisfy { $1.range.contains($0) && ($1 != .steps || $0 == $0.rounded()) }
    }
    try section.refuseUnknownKeys()
    guard let arguments else { return }
    if finalLearningRate != nil { throw excluding("lr_schedule.end", "arguments") }
    if fallingSteps != nil { throw excluding("lr_schedule.steps", "arguments") }
    if warmUp != nil { throw excluding("warmup", "arguments") }
    if let learningRate, learningRate != arguments[0] { throw excluding("learning_rate", "arguments") }
    // Without a warm-up mlx-lm begins at the initial rate.
    (learningRate, warmUpSteps) = (arguments[0], warmUpSteps ?? 0)
    for (value, meaning) in zip(arguments, form.places) {
      switch meaning {
      case .rate: break
      case .end: finalLearningRate = value
      case .steps: fallingSteps = Int(value)
      }
    }
  }

  /// The meaning of an argument of a schedule in mlx.
  private enum Argument {
    case rate, end, steps

    var range: ClosedRange<Double> { self == .steps ? 1...1e9 : 0...10 }
  }
}
