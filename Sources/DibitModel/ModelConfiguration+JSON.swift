package import DibitJSON
internal import DibitKernels

extension ModelConfiguration {
  /// Reads a config.json. A key that would change the numbers in a way that is not supported is an error, never ignored.
  package init(json: JSONValue) throws(ModelError) {
    let keys = ConfigurationKeys(json)
    let name = try keys.string("model_type")
    guard let family = ModelFamily(rawValue: name) else {
      throw .unknownArchitecture(name, known: ModelFamily.allCases.map(\.rawValue))
    }
    for key in Self.foreignKeys { try keys.refuse(key) }
    for (key, neutral) in Self.neutralValues { try keys.require(key, neutral) }
    self = try Self.read(family, keys)
    // GGUF files of Gemma store what norms multiply by, the one included.
    if norm == .rmsPlusOne, try keys.count("dibit_norm_offset", default: 1, minimum: 0) == 0 { norm = .rms }
    try validate()
  }

  /// Keys of parts that no family here has: other towers, experts, compressed keys, other tools' quantisation.
  private static let foreignKeys = [
    "vision_config", "text_config", "audio_config", "num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size",
    "quantization_config", "q_lora_rank", "kv_lora_rank", "clip_qkv", "dim_model_base", "rope_scaling.mrope_section",
    "rope_parameters.mrope_section",
  ]

  /// Keys of switches and multipliers that other families have, with the values that change nothing.
  private static let neutralValues: [(key: String, value: JSONValue)] = [
    ("embedding_multiplier", 1), ("residual_multiplier", 1), ("logits_scaling", 1), ("attention_multiplier", 1), ("logit_scale", 1),
    ("scale_emb", 1), ("scale_depth", 1), ("mup_enabled", false), ("attention_sinks", false), ("use_attention_sinks", false),
    ("use_bidirectional_attention", false), ("add_cross_attention", false), ("is_encoder_decoder", false), ("qk_layernorm", false),
    ("use_qk_norm", false), ("rope_interleave", false),
  ]

  /// The config.json of an `afm7` model, as mlx-lm writes it.
  package var json: JSONValue {
    let factor = Double(feedForwardSize) / Double(hiddenSize)
    return [
      "model_type": .string(family.rawValue), "vocab_size": .integer(vocabularySize), "hidden_dim": .integer(hiddenSize),
      "num_layers": .integer(layers), "num_kv_reuse_layers": .integer(reusingLayers), "num_heads": .integer(heads),
      "num_kv_heads": .integer(keyValueHeads), "hidden_dim_scale_factor": .number(factor), "rope_theta": .number(ropeTheta),
      "rms_norm_eps": .number(Double("\(normEpsilon)") ?? Double(normEpsilon)), "max_position_embeddings": .integer(contextLength),
      "tie_word_embeddings": true,
    ]
  }

  private func validate() throws(ModelError) {
    func check(_ holds: Bool, _ key: String, _ expected: String, _ found: Int) throws(ModelError) {
      guard holds else { throw .invalidValue(key: key, expected: expected, found: "\(found)") }
    }
    let sharedHeads = family == .afm7 ? "num_kv_heads" : "num_key_value_heads"
    try check(heads % keyValueHeads == 0, sharedHeads, "a divisor of the \(heads) heads", keyValueHeads)
    try check((1...1 << 16).contains(headSize), "head_dim", "a number from 1 to 65536", headSize)
    try check(reusingLayers < layers, "num_kv_reuse_layers", "less than the \(layers) layers", reusingLayers)
    try check(feedForwardSize > 0, "hidden_dim_scale_factor", "a feed-forward size of at least 1", feedForwardSize)
    for rope in ropes {
      try check(2 * rope.pairs <= headSize, "head_dim", "an even number", headSize)
      try check(
        contextLength <= (1 << 32) / max(rope.dimensions, 1), "max_position_embeddings", "a context whose rotary tables fit", contextLength)
    }
  }
}
