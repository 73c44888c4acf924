/// How to train a model from scratch, as written in a recipe. Paths are relative to the working directory.
public struct PretrainingRecipe: Equatable, Sendable {
  /// Folders or files of plain text.
  public var data: String
  public var validationData: String?
  public var vocabularySize = 4096
  public var hiddenSize: Int
  public var layers: Int
  public var reusingLayers: Int
  public var heads: Int
  public var keyValueHeads: Int
  public var feedForwardFactor = 3.25
  public var contextLength = 1024
  public var ropeTheta = 500_000.0
  public var seed = 0
  public var steps: Int
  public var batchSize = 16
  public var sequenceLength = 256
  public var learningRate = 3e-3
  public var warmUp = 0.02
  public var weightDecay = 0.1
  public var validationInterval = 250

  public init(yaml: String, file: String) throws(RecipeError) {
    var root = try RecipeReader(yaml: yaml, file: file)
    func need<Value>(_ value: Value?, _ key: String) throws(RecipeError) -> Value {
      guard let value else { throw .missingKey(file: file, key: key) }
      return value
    }
    data = try need(try root.string("data"), "data")
    validationData = try root.string("validation_data")
    guard var model = try root.section("model") else { throw .missingKey(file: file, key: "model") }
    vocabularySize = try model.int("vocab_size", 300...(1 << 20)) ?? vocabularySize
    hiddenSize = try need(try model.int("hidden_dim", 8...16_384), "model.hidden_dim")
    layers = try need(try model.int("num_layers", 1...512), "model.num_layers")
    reusingLayers = try model.int("num_kv_reuse_layers", 0...512) ?? 0
    heads = try need(try model.int("num_heads", 1...256), "model.num_heads")
    keyValueHeads = try need(try model.int("num_kv_heads", 1...256), "model.num_kv_heads")
    feedForwardFactor = try model.number("hidden_dim_scale_factor", 0.125...64) ?? feedForwardFactor
    contextLength = try model.int("max_position_embeddings", 16...(1 << 20)) ?? contextLength
    ropeTheta = try model.number("rope_theta", 1...1e9) ?? ropeTheta
    try model.finish()
    seed = try root.int("seed", 0...Int.max) ?? seed
    steps = try need(try root.int("steps", 1...10_000_000), "steps")
    batchSize = try root.int("batch_size", 1...4096) ?? batchSize
    sequenceLength = try root.int("max_seq_length", 8...(1 << 20)) ?? sequenceLength
    learningRate = try root.number("learning_rate", 0...10) ?? learningRate
    warmUp = try root.number("warmup", 0...1) ?? warmUp
    weightDecay = try root.number("weight_decay", 0...10) ?? weightDecay
    validationInterval = try root.int("validation_interval", 1...1_000_000) ?? validationInterval
    try root.finish()
  }
}
