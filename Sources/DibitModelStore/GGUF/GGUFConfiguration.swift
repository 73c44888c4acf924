internal import DibitCheckpoint
internal import DibitJSON
internal import DibitTensor

/// Makes a config.json of the hyper-parameters of a GGUF file.
struct GGUFConfiguration {
  /// Tensors that are tables of the rotary embedding, not parameters.
  static let tables = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"]

  private let file: GGUFFile
  private let architecture: GGUFArchitecture
  private var keys: GGUFKeys

  init(_ file: GGUFFile, _ architecture: GGUFArchitecture) {
    self.file = file
    self.architecture = architecture
    keys = GGUFKeys(file, architecture: architecture.name)
  }

  mutating func configuration() throws(GGUFModelError) -> (JSONValue, GGUFArchitecture.Layout.Heads, layers: Int) {
    // First, because what else the file says depends on it.
    if let experts = try keys.optionalCount("expert_count", minimum: 0), experts > 0 {
      throw .unknownKey(architecture.name + ".expert_count", found: "\(experts)")
    }
    let layers = try keys.count("block_count")
    // Names are made for every layer, so there may not be more than the file can hold.
    guard layers <= file.tensors.count else {
      throw .value(
        key: architecture.name + ".block_count", expected: "at most as many as the \(file.tensors.count) tensors", found: "\(layers)")
    }
    let hidden = try keys.count("embedding_length")
    let heads = try keys.count("attention.head_count")
    let keyHeads = try keys.optionalCount("attention.head_count_kv") ?? heads
    let context = try keys.count("context_length")
    let feedForward = try keys.count("feed_forward_length")
    guard heads % keyHeads == 0 else {
      throw .value(key: architecture.name + ".attention.head_count_kv", expected: "a divisor of \(heads)", found: "\(keyHeads)")
    }
    let headSize = try keys.optionalCount("attention.key_length") ?? hidden / heads
    if let values = try keys.optionalCount("attention.value_length"), values != headSize {
      throw .value(key: architecture.name + ".attention.value_length", expected: "\(headSize), as for keys", found: "\(values)")
    }
    guard headSize > 0, let vocabulary = file.tensor("token_embd.weight")?.shape.first else { throw .missingTensor("token_embd.weight") }
    let epsilonKey = architecture.usesLayerNorm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"
    guard let epsilon = try keys.optionalNumber(epsilonKey) else { throw .missingKey(architecture.name + "." + epsilonKey) }

    var object = JSONObject()
    object["model_type"] = .string(architecture.family)
    object["vocab_size"] = .integer(vocabulary)
    if architecture.family == "gpt2" {
      object["n_embd"] = .integer(hidden)
      object["n_layer"] = .integer(layers)
      object["n_head"] = .integer(heads)
      object["n_inner"] = .integer(feedForward)
      object["n_positions"] = .integer(context)
      object["layer_norm_epsilon"] = .number(epsilon)
    } else {
      object["hidden_size"] = .integer(hidden)
      object["num_hidden_layers"] = .integer(layers)
      object["num_attention_heads"] = .integer(heads)
      object["num_key_value_heads"] = .integer(keyHeads)
      object["head_dim"] = .integer(headSize)
      object["intermediate_size"] = .integer(feedForward)
      object["max_position_embeddings"] = .integer(context)
      object[architecture.usesLayerNorm ? "layer_norm_eps" : "rms_norm_eps"] = .number(epsilon)
      try readRotation(&object, headSize: headSize)
    }
    try readFamily(&object, hidden: hidden, heads: heads, headSize: headSize, layers: layers)
    try keys.refuseOthers()
    return (.object(object), .init(queries: heads, keys: keyHeads, size: headSize), layers)
  }

  private mutating func readRotation(_ object: inout JSONObject, headSize: Int) throws(GGUFModelError) {
    object["rope_theta"] = .number(try keys.optionalNumber("rope.freq_base") ?? 10_000)
    let dimensions = try keys.optionalCount("rope.dimension_count") ?? headSize
    guard dimensions <= headSize else {
      throw .value(key: architecture.name + ".rope.dimension_count", expected: "at most \(headSize)", found: "\(dimensions)")
    }
    if architecture.family == "gpt_neox" {
      object["rotary_pct"] = .number(Double(dimensions) / Double(headSize))
    } else if architecture.family == "phi3" {
      object["partial_rotary_factor"] = .number(Double(dimensions) / Double(headSize))
    } else if dimensions != headSize {
      throw .unknownKey(architecture.name + ".rope.dimension_count", found: "\(dimensions) of \(headSize)")
    }
    try readScaling(&object)
    if let factors = try table("rope_freqs.weight") {
      object[GGUFModel.frequencyFactorsKey] = .array(factors.map { .number(Double("\($0)") ?? Double($0)) })
    }
  }

  private mutating func readScaling(_ object: inout JSONObject) throws(GGUFModelError) {
    let type = try keys.optionalText("rope.scaling.type")
    let factor = try keys.optionalNumber("rope.scaling.factor")
    let oldFactor = try keys.optionalNumber("rope.scale_linear")
    let original = try keys.optionalCount("rope.scaling.original_context_length")
    let attention = try keys.optionalNumber("rope.scaling.attn_factor")
    let (fast, slow) = (try keys.optionalNumber("rope.scaling.yarn_beta_fast"), try keys.optionalNumber("rope.scaling.yarn_beta_slow"))
    if let short = try table("rope_factors_short.weight") {
      guard let long = try table("rope_factors_long.weight") else { throw .missingTensor("rope_factors_long.weight") }
      var scaling = JSONObject([(key: "rope_type", value: "longrope")])
      scaling["short_factor"] = .array(short.map { .number(Double("\($0)") ?? Double($0)) })
      scaling["long_factor"] = .array(long.map { .number(Double("\($0)") ?? Double($0)) })
      if let attention { scaling["attention_factor"] = .number(attention) }
      object["rope_scaling"] = .object(scaling)
      if let original { object["original_max_position_embeddings"] = .integer(original) }
      return
    }
    switch type {
    case nil, "none":
      guard let oldFactor, oldFactor != 1 else { return }
      object["rope_scaling"] = ["rope_type": "linear", "factor": .number(oldFactor)]
    case "linear":
      guard let factor = factor ?? oldFactor else { throw .missingKey(architecture.name + ".rope.scaling.factor") }
      object["rope_scaling"] = ["rope_type": "linear", "factor": .number(factor)]
    case "yarn":
      guard let factor else { throw .missingKey(architecture.name + ".rope.scaling.factor") }
      var scaling = JSONObject([(key: "rope_type", value: "yarn"), (key: "factor", value: .number(factor))])
      if let original { scaling["original_max_position_embeddings"] = .integer(original) }
      if let attention { scaling["attention_factor"] = .number(attention) }
      if let fast { scaling["beta_fast"] = .number(fast) }
      if let slow { scaling["beta_slow"] = .number(slow) }
      object["rope_scaling"] = .object(scaling)
    case let other?: throw .value(key: architecture.name + ".rope.scaling.type", expected: "none, linear or yarn", found: other)
    }
  }

  private mutating func readFamily(_ object: inout JSONObject, hidden: Int, heads: Int, headSize: Int, layers: Int) throws(GGUFModelError) {
    let window = try keys.optionalCount("attention.sliding_window", minimum: 0) ?? 0
    let hasAttentionBias = file.tensor("blk.0.attn_q.bias") != nil
    let scale = try keys.optionalNumber("attention.scale")
    switch architecture.family {
    case "llama", "mistral", "smollm3":
      object["attention_bias"] = .bool(hasAttentionBias)
      object["mlp_bias"] = .bool(file.tensor("blk.0.ffn_down.bias") != nil)
      object["hidden_act"] = "silu"
      if architecture.family == "mistral" { object["sliding_window"] = .integer(window) }
    case "qwen3", "olmo2":
      object["attention_bias"] = .bool(hasAttentionBias)
      object["hidden_act"] = "silu"
    case "phi3": object["sliding_window"] = window > 0 ? .integer(window) : .null
    case "gpt2": object["activation_function"] = "gelu_new"
    case "gpt_neox":
      object["use_parallel_residual"] = .bool(try keys.optionalBool("use_parallel_residual") ?? true)
      object["hidden_act"] = "gelu"
    case "gemma", "gemma2", "gemma3_text":
      object["hidden_activation"] = "gelu_pytorch_tanh"
      object[GGUFModel.normOffsetKey] = 0
      guard architecture.family != "gemma" else { break }
      object["sliding_window"] = .integer(window > 0 ? window : 4096)
      // llama.cpp knows the scale of the largest models by their number of layers.
      let largest = architecture.family == "gemma2" ? 46 : 62
      let scalar = scale.map { 1 / ($0 * $0) } ?? Double(layers == largest ? hidden / heads : headSize)
      object["query_pre_attn_scalar"] = .number(scalar)
      try readCapsAndPattern(&object, layers)
    default: break
    }
    if scale != nil, !architecture.family.hasPrefix("gemma") {
      throw .unknownKey(architecture.name + ".attention.scale", found: "\(scale ?? 0)")
    }
    if window > 0, ["smollm3", "qwen2", "qwen3", "olmo2", "gpt2", "gpt_neox", "gemma"].contains(architecture.family) {
      throw .unknownKey(architecture.name + ".attention.sliding_window", found: "\(window)")
    }
  }

  private mutating func readCapsAndPattern(_ object: inout JSONObject, _ layers: Int) throws(GGUFModelError) {
    let attention = try keys.optionalNumber("attn_logit_softcapping")
    let final = try keys.optionalNumber("final_logit_softcapping")
    object["attn_logit_softcapping"] = attention.map { .number($0) } ?? .null
    object["final_logit_softcapping"] = final.map { .number($0) } ?? .null
    if architecture.family == "gemma3_text" {
      object["rope_local_base_freq"] = .number(try keys.optionalNumber("rope.freq_base_swa") ?? 10_000)
      object["sliding_window_pattern"] = 6
    }
    if let slides = keys.bools("attention.sliding_window_pattern") {
      guard slides.count == layers else {
        throw .value(
          key: architecture.name + ".attention.sliding_window_pattern", expected: "\(layers) bools", found: "\(slides.count)")
      }
      object["layer_types"] = .array(slides.map { $0 ? "sliding_attention" : "full_attention" })
    } else if let pattern = try keys.optionalCount("attention.sliding_window_pattern") {
      object["sliding_window_pattern"] = .integer(pattern)
    }
  }

  /// The floats of a table of the rotary embedding.
  private func table(_ name: String) throws(GGUFModelError) -> [Float]? {
    guard let tensor = file.tensor(name) else { return nil }
    guard tensor.type == .f32, tensor.shape.count == 1 else {
      throw .shape(tensor: name, expected: "a list of F32", found: tensor.shape)
    }
    let bytes = file.bytes(of: tensor).array
    let values = stride(from: 0, to: bytes.count, by: 4).map { at -> Float in
      var pattern: UInt32 = 0
      for byte in bytes[at..<at + 4].reversed() { pattern = pattern << 8 | UInt32(byte) }
      return Float(bitPattern: pattern)
    }
    guard values.allSatisfy({ $0.isFinite && $0 > 0 }) else {
      throw .shape(tensor: name, expected: "positive numbers", found: tensor.shape)
    }
    return values
  }
}
