/// How to train an adapter, as written in a recipe; nil leaves the command's default. Key names follow mlx-lm where it has one.
public struct TrainingRecipe: Equatable, Sendable {
  /// The seed of everything random.
  public var seed: Int?
  /// Passes over the texts.
  public var epochs: Int?
  /// Texts of a step, `batch_size`.
  public var batchSize: Int?
  /// The peak learning rate, `learning_rate`.
  public var learningRate: Double?
  /// The share of all steps that warms up, `warmup`.
  public var warmUp: Double?
  /// Multiplied by the learning rate and the parameter at each step, `weight_decay`.
  public var weightDecay: Double?
  /// The largest gradient norm, `grad_clip`.
  public var clipNorm: Double?
  /// The most tokens of a text with its prompt and answer, `max_seq_length`.
  public var maximumTokens: Int?
  /// The adapter's rank, `lora_parameters.rank`.
  public var rank: Int?
  /// The update is scaled by alpha over rank, `lora_parameters.alpha`.
  public var alpha: Double?
  /// Names of the adapted linear layers, `lora_parameters.keys`.
  public var targets: [String]?
  /// What the model is told to do, `prompt.instruction`.
  public var instruction: String?
  /// The key of the answer's JSON, `prompt.key`.
  public var key: String?

  /// Decodes a recipe; `targets` are the names of linear layers that exist.
  public init(yaml: String, file: String, targets allowed: [String]) throws(RecipeError) {
    var root = try RecipeReader(yaml: yaml, file: file)
    seed = try root.int("seed", 0...Int.max)
    epochs = try root.int("epochs", 1...10_000)
    batchSize = try root.int("batch_size", 1...4096)
    learningRate = try root.number("learning_rate", 0...10)
    warmUp = try root.number("warmup", 0...1)
    weightDecay = try root.number("weight_decay", 0...10)
    clipNorm = try root.number("grad_clip", 1e-6...1e6)
    maximumTokens = try root.int("max_seq_length", 8...(1 << 20))
    if var lora = try root.section("lora_parameters") {
      rank = try lora.int("rank", 1...4096)
      alpha = try lora.number("alpha", 1e-6...1e6)
      targets = try lora.strings("keys", oneOf: allowed)
      try lora.finish()
    }
    if var prompt = try root.section("prompt") {
      instruction = try prompt.string("instruction")
      key = try prompt.string("key")
      try prompt.finish()
    }
    try root.finish()
  }
}
