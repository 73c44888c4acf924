/// How to train an adapter, as written in a recipe; nil leaves the command's default. Key names follow mlx-lm where it has one.
public struct TrainingRecipe: Equatable, Sendable {
  public var seed: Int?
  public var epochs: Int?
  public var batchSize: Int?
  public var learningRate: Double?
  public var warmUp: Double?
  public var weightDecay: Double?
  public var clipNorm: Double?
  public var maximumTokens: Int?
  public var rank: Int?
  public var alpha: Double?
  public var targets: [String]?
  public var instruction: String?
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
