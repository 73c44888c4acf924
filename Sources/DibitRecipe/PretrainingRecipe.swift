/// The settings of a training of all weights of a model, as written in a recipe. Paths are relative to the working directory.
package struct PretrainingRecipe: Equatable, Sendable {
  /// The start of training.
  package enum Start: Equatable, Sendable {
    /// Random weights of a new shape, `model`.
    case random(Shape)
    /// A float checkpoint, `initial`; its shape and its tokenizer are kept.
    case checkpoint(String)
  }

  /// The shape of a new model.
  package struct Shape: Equatable, Sendable {
    /// Tokens of the tokenizer that is trained first, `model.vocab_size`.
    package var vocabularySize = 4096
    /// Channels of the residual stream, `model.hidden_dim`.
    package var hiddenSize: Int
    /// All layers, `model.num_layers`.
    package var layers: Int
    /// The last layers, which reuse keys and values, `model.num_kv_reuse_layers`.
    package var reusingLayers: Int
    /// Query heads, `model.num_heads`.
    package var heads: Int
    /// Key/value heads, `model.num_kv_heads`.
    package var keyValueHeads: Int
    /// Feed-forward channels over ``hiddenSize``, `model.hidden_dim_scale_factor`.
    package var feedForwardFactor = 3.25
    /// The most tokens of a sequence in use, `model.max_position_embeddings`.
    package var contextLength = 1024
    /// The base of the rotary frequencies, `model.rope_theta`.
    package var ropeTheta = 500_000.0
    /// The first values of the embedding, `model.embedding`.
    package var embedding = Embedding.random
  }

  /// The first values of an embedding.
  package enum Embedding: String, CaseIterable, Equatable, Sendable {
    /// Random numbers.
    case random
    /// Values from the co-occurrence of tokens in the text.
    case cooccurrence
  }

  /// A grid, in the words of a converted model's `config.json`.
  package struct Quantization: Equatable, Sendable {
    /// Bits of linear layers, `quantization.bits`: 2 or 4.
    package var bits = 2
    /// Inputs that share a scale, `quantization.group_size`: 32, 64 or 128.
    package var groupSize = 64
    /// Bits of embeddings, `quantization.embedding_bits`: 4, or 16 for floats.
    package var embeddingBits = 4
  }

  /// Folders or files of plain text.
  package var data: [String]
  /// Held-out text, `validation_data`; empty for none.
  package var validationData: [String]
  /// The start of the model that is trained.
  package var start: Start
  /// The checkpoint that the model begins as, if it does.
  package var initial: String? { if case .checkpoint(let path) = start { path } else { nil } }
  /// True where control tokens that the text spells out count as such, `parse_special_tokens`: for text in the form of chats.
  package var parsesSpecialTokens = false
  /// The settings that do not depend on text.
  package var optimization: OptimizationRecipe
  /// The peak learning rate of the embedding, `embedding_learning_rate`; nil for that of all other weights.
  package var embeddingLearningRate: Double?
  /// The rounding of weights in every pass, `quantization`; nil for float weights.
  package var quantization: Quantization?
  /// Training steps.
  package var steps: Int
  /// Sequences of a step, `batch_size`.
  package var batchSize = 16
  /// Tokens of a sequence in training, `max_seq_length`.
  package var sequenceLength = 256
  /// Steps between two looks at the held-out text, `validation_interval`.
  package var validationInterval = 250

  /// The first values of the embedding; a checkpoint's is no matter of the text.
  package var embedding: Embedding {
    if case .random(let shape) = start { shape.embedding } else { .random }
  }

  /// Decodes a recipe; `file` is its name in errors. `settings` are pairs `key=value` that win over the text.
  package init(yaml: String, file: String, settings: [String] = []) throws(RecipeError) {
    var root = try RecipeReader(yaml: yaml, file: file, settings: settings)
    optimization = try OptimizationRecipe(&root)
    func need<Value>(_ value: Value?, _ key: String) throws(RecipeError) -> Value {
      guard let value else { throw .missingKey(file: file, key: key) }
      return value
    }
    let (texts, count) = (try root.strings("data"), try root.int("steps", 1...10_000_000))
    validationData = try root.strings("validation_data") ?? []
    let initial = try root.string("initial")
    let section = try root.section("model")
    if let section = try root.section("quantization") { quantization = try Quantization(section) }
    embeddingLearningRate = try root.number("embedding_learning_rate", 0...10)
    parsesSpecialTokens = try root.bool("parse_special_tokens") ?? parsesSpecialTokens
    batchSize = try root.int("batch_size", 1...4096) ?? batchSize
    sequenceLength = try root.int("max_seq_length", 8...(1 << 20)) ?? sequenceLength
    validationInterval = try root.int("validation_interval", 1...1_000_000) ?? validationInterval
    // A key that is not known may be one that is missing, misspelt: it is told first.
    try root.refuseUnknownKeys()
    data = try need(texts, "data")
    steps = try need(count, "steps")
    switch (initial, section) {
    case (let path?, nil): start = .checkpoint(path)
    case (nil, let model?): start = .random(try Shape(model, file: file))
    case (nil, nil): throw .missingKey(file: file, key: "model")
    case (_?, _?): throw .conflictingKeys(file: file, first: "model", second: "initial")
    }
  }
}

extension PretrainingRecipe.Quantization {
  init(_ section: RecipeReader) throws(RecipeError) {
    var section = section
    bits = try section.int("bits", oneOf: [2, 4]) ?? bits
    groupSize = try section.int("group_size", oneOf: [32, 64, 128]) ?? groupSize
    embeddingBits = try section.int("embedding_bits", oneOf: [4, 16]) ?? embeddingBits
    try section.refuseUnknownKeys()
  }
}

extension PretrainingRecipe.Shape {
  init(_ section: RecipeReader, file: String) throws(RecipeError) {
    var model = section
    func need<Value>(_ value: Value?, _ key: String) throws(RecipeError) -> Value {
      guard let value else { throw .missingKey(file: file, key: "model." + key) }
      return value
    }
    vocabularySize = try model.int("vocab_size", 300...(1 << 20)) ?? vocabularySize
    let (channels, depth) = (try model.int("hidden_dim", 8...16_384), try model.int("num_layers", 1...512))
    reusingLayers = try model.int("num_kv_reuse_layers", 0...512) ?? 0
    let (queries, shared) = (try model.int("num_heads", 1...256), try model.int("num_kv_heads", 1...256))
    feedForwardFactor = try model.number("hidden_dim_scale_factor", 0.125...64) ?? feedForwardFactor
    contextLength = try model.int("max_position_embeddings", 16...(1 << 20)) ?? contextLength
    ropeTheta = try model.number("rope_theta", 1...1e9) ?? ropeTheta
    let names = PretrainingRecipe.Embedding.allCases.map(\.rawValue)
    embedding = try model.string("embedding", oneOf: names).flatMap(PretrainingRecipe.Embedding.init) ?? embedding
    try model.refuseUnknownKeys()
    hiddenSize = try need(channels, "hidden_dim")
    layers = try need(depth, "num_layers")
    heads = try need(queries, "num_heads")
    keyValueHeads = try need(shared, "num_kv_heads")
  }
}
