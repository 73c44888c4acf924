internal import DibitCheckpoint
internal import DibitJSON
internal import Glibc

/// Makes the hyper-parameters of a GGUF file of a config.json.
struct GGUFParameters {
  private let json: JSONValue
  private let architecture: GGUFArchitecture
  private var pairs: [GGUFExport.Pair] = []
  private var tables: [GGUFExport.Table] = []

  init(_ json: JSONValue, _ architecture: GGUFArchitecture) {
    self.json = json
    self.architecture = architecture
  }

  mutating func parameters() throws(GGUFModelError) -> (
    [GGUFExport.Pair], [GGUFExport.Table], GGUFArchitecture.Layout.Heads, layers: Int
  ) {
    pairs.append(.init(key: "general.architecture", value: .text(architecture.name)))
    pairs.append(.init(key: GGUFModel.writer.key, value: GGUFModel.writer.value))
    let isGPT2 = architecture.family == "gpt2"
    let hidden = try count(isGPT2 ? "n_embd" : "hidden_size")
    let layers = try count(isGPT2 ? "n_layer" : "num_hidden_layers")
    let heads = try count(isGPT2 ? "n_head" : "num_attention_heads")
    let context = try count(isGPT2 ? "n_positions" : "max_position_embeddings")
    let keyHeads = isGPT2 ? heads : try optionalCount("num_key_value_heads") ?? heads
    let standard = ["qwen3": 128, "gemma": 256, "gemma2": 256, "gemma3_text": 256][architecture.family] ?? hidden / heads
    let headSize = isGPT2 ? standard : try optionalCount("head_dim") ?? standard
    let feedForward = isGPT2 ? try optionalCount("n_inner") ?? 4 * hidden : try count("intermediate_size")
    add("context_length", context)
    add("embedding_length", hidden)
    add("block_count", layers)
    add("feed_forward_length", feedForward)
    add("attention.head_count", heads)
    add("attention.head_count_kv", keyHeads)
    let epsilonKey = isGPT2 ? "layer_norm_epsilon" : architecture.usesLayerNorm ? "layer_norm_eps" : "rms_norm_eps"
    let fallback = ["gpt2", "gpt_neox", "phi3", "olmo2"].contains(architecture.family) ? 1e-5 : 1e-6
    add(architecture.usesLayerNorm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", number(epsilonKey) ?? fallback)
    if !isGPT2 {
      add("attention.key_length", headSize)
      add("attention.value_length", headSize)
      try addRotation(headSize: headSize, context: context)
    }
    try addFamily(layers: layers, hidden: hidden, heads: heads, headSize: headSize)
    return (pairs, tables, .init(queries: heads, keys: keyHeads, size: headSize), layers)
  }

  private mutating func addRotation(headSize: Int, context: Int) throws(GGUFModelError) {
    let isGemma3 = architecture.family == "gemma3_text"
    let parameters =
      isGemma3 && json["rope_parameters"]?["full_attention"] != nil ? json["rope_parameters"]?["full_attention"] : json["rope_parameters"]
    let fallback = isGemma3 ? 1_000_000.0 : architecture.family == "smollm3" ? 2_000_000 : 10_000
    add("rope.freq_base", parameters?["rope_theta"]?.double ?? number("rope_theta") ?? number("rotary_emb_base") ?? fallback)
    let share =
      parameters?["partial_rotary_factor"]?.double ?? number("partial_rotary_factor") ?? number("rotary_pct")
      ?? (architecture.family == "gpt_neox" ? 0.25 : 1)
    add("rope.dimension_count", Int(Double(headSize) * share))
    let scaling = json["rope_scaling"]?.object.map { JSONValue.object($0) } ?? parameters ?? .null
    let type = scaling["rope_type"]?.string ?? scaling["type"]?.string ?? "default"
    if let factors = json[GGUFModel.frequencyFactorsKey]?.array {
      tables.append(.init(name: "rope_freqs.weight", values: factors.map { Float($0.double ?? 1) }))
    }
    switch type {
    case "default": break
    case "linear", "yarn":
      add("rope.scaling.type", .text(type))
      guard let factor = scaling["factor"]?.double else { throw .missingKey("rope_scaling.factor") }
      add("rope.scaling.factor", factor)
      guard type == "yarn" else { break }
      add("rope.scaling.original_context_length", scaling["original_max_position_embeddings"]?.int ?? context)
      if let value = scaling["attention_factor"]?.double { add("rope.scaling.attn_factor", value) }
      if let value = scaling["beta_fast"]?.double { add("rope.scaling.yarn_beta_fast", value) }
      if let value = scaling["beta_slow"]?.double { add("rope.scaling.yarn_beta_slow", value) }
    case "llama3": try addLlama3(scaling, headSize: headSize)
    case "longrope", "su":
      for (key, name) in [("short_factor", "rope_factors_short.weight"), ("long_factor", "rope_factors_long.weight")] {
        guard let values = scaling[key]?.array else { throw .missingKey("rope_scaling." + key) }
        tables.append(.init(name: name, values: values.map { Float($0.double ?? 1) }))
      }
      let original = json["original_max_position_embeddings"]?.int ?? scaling["original_max_position_embeddings"]?.int ?? context
      add("rope.scaling.original_context_length", original)
      if let value = scaling["attention_factor"]?.double { add("rope.scaling.attn_factor", value) }
    default: throw .notExportable("rope_scaling of type '\(type)'")
    }
  }

  /// The factors that Llama 3 divides its rotary frequencies by: 1 for short waves, `factor` for long ones, blended between.
  private mutating func addLlama3(_ scaling: JSONValue, headSize: Int) throws(GGUFModelError) {
    guard let factor = scaling["factor"]?.double, let lowFrequencyFactor = scaling["low_freq_factor"]?.double,
      let highFrequencyFactor = scaling["high_freq_factor"]?.double, let original = scaling["original_max_position_embeddings"]?.double,
      highFrequencyFactor > lowFrequencyFactor
    else { throw .notExportable("rope_scaling of type 'llama3' without its factors") }
    guard case .float32(let base)? = pairs.last(where: { $0.key.hasSuffix("rope.freq_base") })?.value else { return }
    let factors = stride(from: 0, to: headSize, by: 2).map { index -> Float in
      let wave = 2 * Double.pi * pow(Double(base), Double(index) / Double(headSize))
      if wave < original / highFrequencyFactor { return 1 }
      if wave > original / lowFrequencyFactor { return Float(factor) }
      let smooth = (original / wave - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
      return Float(1 / ((1 - smooth) / factor + smooth))
    }
    tables.append(.init(name: "rope_freqs.weight", values: factors))
  }

  private mutating func addFamily(layers: Int, hidden: Int, heads: Int, headSize: Int) throws(GGUFModelError) {
    let window = json["sliding_window"]?.int ?? 0
    switch architecture.family {
    case "mistral": if window > 0 { add("attention.sliding_window", window) }
    case "phi3": add("attention.sliding_window", window)
    case "gpt_neox": add("use_parallel_residual", .bool(json["use_parallel_residual"]?.bool ?? true))
    case "gemma2", "gemma3_text":
      add("attention.sliding_window", json["sliding_window"]?.int ?? 4096)
      let isTwo = architecture.family == "gemma2"
      for (key, name, value) in [
        ("attn_logit_softcapping", "attn_logit_softcapping", 50.0), ("final_logit_softcapping", "final_logit_softcapping", 30.0),
      ] {
        if let cap = json[key] == nil && isTwo ? value : number(key) { add(name, cap) }
      }
      let scalar = number("query_pre_attn_scalar") ?? 256
      let largest = isTwo ? 46 : 62
      guard scalar == Double(layers == largest ? hidden / heads : headSize) else {
        throw .notExportable("query_pre_attn_scalar \(scalar), where llama.cpp takes the size of a head")
      }
    case "qwen2", "qwen3", "smollm3":
      if json["use_sliding_window"]?.bool == true { throw .notExportable("sliding windows in '\(architecture.name)'") }
      if architecture.family == "smollm3" { try checkRotatingLayers(layers) }
    default: break
    }
  }

  /// llama.cpp does not rotate every fourth layer of SmolLM 3, whatever the configuration says.
  private func checkRotatingLayers(_ layers: Int) throws(GGUFModelError) {
    guard let rotates = json["no_rope_layers"]?.array else {
      guard (json["no_rope_layer_interval"]?.int ?? 4) == 4 else { throw .notExportable("no_rope_layer_interval other than 4") }
      return
    }
    for (layer, value) in rotates.enumerated() where value.int != ((layer + 1) % 4 == 0 ? 0 : 1) {
      throw .notExportable("no_rope_layers other than every fourth")
    }
  }

  private func optionalCount(_ key: String) throws(GGUFModelError) -> Int? {
    guard let value = json[key], !value.isNull else { return nil }
    guard let found = value.int, found > 0, found <= 1 << 24 else {
      throw .value(key: key, expected: "a whole number from 1", found: value.kind)
    }
    return found
  }

  private func count(_ key: String) throws(GGUFModelError) -> Int {
    guard let found = try optionalCount(key) else { throw .missingKey(key) }
    return found
  }

  private func number(_ key: String) -> Double? { json[key]?.double }

  private mutating func add(_ key: String, _ value: GGUFValue) { pairs.append(.init(key: architecture.name + "." + key, value: value)) }
  private mutating func add(_ key: String, _ value: Int) { add(key, .uint32(UInt32(clamping: value))) }
  private mutating func add(_ key: String, _ value: Double) { add(key, .float32(Float(value))) }
}
