import DibitJSON
import DibitKernels
import DibitModel
import Testing

/// What config.json files of several ages and families mean.
@Suite struct FamilyTests {
  static let base: [(key: String, value: JSONValue)] = [
    (key: "vocab_size", value: 100), (key: "hidden_size", value: 64), (key: "intermediate_size", value: 96),
    (key: "num_hidden_layers", value: 8), (key: "num_attention_heads", value: 4), (key: "num_key_value_heads", value: 2),
    (key: "max_position_embeddings", value: 512),
  ]

  static func read(_ family: String, _ members: [(key: String, value: JSONValue)] = []) throws -> ModelConfiguration {
    var json = JSONObject(base + [(key: "model_type", value: .string(family))])
    for member in members { json[member.key] = member.value }
    return try ModelConfiguration(json: .object(json))
  }

  static func message(_ family: String, _ members: [(key: String, value: JSONValue)]) -> String? {
    do {
      _ = try read(family, members)
      return nil
    } catch { return "\(error)" }
  }

  // MARK: rotary embeddings

  @Test func oldAndNewKeysOfRoPEMeanTheSame() throws {
    let new: JSONValue = [
      "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 64,
    ]
    let old: JSONValue = [
      "type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
    ]
    let a = try Self.read("llama", [(key: "rope_parameters", value: new)])
    let b = try Self.read("llama", [(key: "rope_theta", value: 5e5), (key: "rope_scaling", value: old)])
    #expect(a == b)
    #expect(a.ropes[0].scaling == .llama3(factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 64))
    #expect(a.ropeTheta == 5e5)
    let frequencies = a.ropes[0].frequencies
    #expect(frequencies[0] == 1 && abs(frequencies[7] / (RoPE.frequencies(headSize: 16, theta: 5e5)[7] / 8) - 1) < 1e-12)
  }

  @Test func gemma3TurnsLocalAndGlobalLayersDifferently() throws {
    let new: JSONValue = [
      "full_attention": ["rope_type": "linear", "factor": 8.0, "rope_theta": 2e6],
      "sliding_attention": ["rope_type": "default", "rope_theta": 3e4],
    ]
    let a = try Self.read("gemma3_text", [(key: "rope_parameters", value: new), (key: "head_dim", value: 16)])
    let b = try Self.read(
      "gemma3_text",
      [
        (key: "rope_theta", value: 2e6), (key: "rope_local_base_freq", value: 3e4), (key: "head_dim", value: 16),
        (key: "rope_scaling", value: ["rope_type": "linear", "factor": 8.0]), (key: "sliding_window_pattern", value: 6),
      ])
    #expect(a == b)
    #expect(a.layerSettings.map(\.rope) == [1, 1, 1, 1, 1, 0, 1, 1])
    #expect(a.layerSettings.map(\.window) == [4096, 4096, 4096, 4096, 4096, nil, 4096, 4096])
    #expect(a.ropes.map(\.theta) == [2e6, 3e4] && a.ropes[0].scaling == .linear(factor: 8) && a.ropes[1].scaling == .none)
    #expect((a.attentionScale, a.embeddingScale) == (1 / 16, 8))
  }

  @Test func yarnAndLongRoPEScaleWhatRotates() throws {
    let yarn: JSONValue = ["rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128]
    let a = try Self.read("qwen3", [(key: "rope_scaling", value: yarn), (key: "rope_theta", value: 1e6)])
    #expect(abs(a.ropes[0].attentionFactor - 1.138629436111989) < 1e-14)
    #expect(a.headSize == 128 && a.ropes[0].frequencies.count == 64)
    let stretched: JSONValue = ["type": "su", "short_factor": [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0], "long_factor": []]
    let b = try Self.read("phi3", [(key: "rope_scaling", value: stretched), (key: "original_max_position_embeddings", value: 128)])
    #expect(abs(b.ropes[0].attentionFactor - 1.1338934190276817) < 1e-14)
    #expect(b.ropes[0].frequencies[7] == RoPE.frequencies(headSize: 16, theta: 1e4)[7] / 4)
    #expect(b.contextLength == 128, "the short factors hold up to the original context")
  }

  @Test func shareOfAHeadThatRotates() throws {
    #expect(try Self.read("gpt_neox", [(key: "num_key_value_heads", value: .null)]).ropes[0].dimensions == 4)
    let old: [(key: String, value: JSONValue)] = [
      (key: "num_key_value_heads", value: .null), (key: "rotary_pct", value: 1.0), (key: "rotary_emb_base", value: 5000),
    ]
    let rope = try Self.read("gpt_neox", old).ropes[0]
    #expect((rope.theta, rope.dimensions, rope.scaling) == (5000, 16, .none))
    #expect(try Self.read("phi3", [(key: "partial_rotary_factor", value: 0.75)]).ropes[0].dimensions == 12)
    let layers = try Self.read("smollm3", [(key: "no_rope_layers", value: [1, 0, 1, 1, 1, 1, 1, 0])]).layerSettings
    #expect(layers.map(\.rope) == [0, nil, 0, 0, 0, 0, 0, nil])
  }

  // MARK: windows

  @Test func windows() throws {
    func windows(_ family: String, _ members: [(key: String, value: JSONValue)]) throws -> [Int?] {
      try Self.read(family, members + [(key: "num_hidden_layers", value: 4)]).layerSettings.map(\.window)
    }
    #expect(try windows("mistral", [(key: "sliding_window", value: 8)]) == [8, 8, 8, 8])
    #expect(try windows("mistral", [(key: "sliding_window", value: .null)]) == [nil, nil, nil, nil])
    #expect(try windows("mistral", []) == [4096, 4096, 4096, 4096])
    #expect(try windows("gemma2", [(key: "sliding_window", value: 8)]) == [8, nil, 8, nil])
    let types: JSONValue = ["full_attention", "sliding_attention", "full_attention", "full_attention"]
    #expect(try windows("gemma2", [(key: "sliding_window", value: 8), (key: "layer_types", value: types)]) == [nil, 8, nil, nil])
    let slides: [(key: String, value: JSONValue)] = [(key: "sliding_window", value: 8), (key: "max_window_layers", value: 3)]
    #expect(try windows("qwen2", slides + [(key: "use_sliding_window", value: true)]) == [nil, nil, nil, 8])
    #expect(try windows("qwen2", slides) == [nil, nil, nil, nil])
  }

  // MARK: what is refused

  static let refused: [(family: String, key: String, value: JSONValue, message: String)] = [
    ("llama", "rope_scaling", ["rope_type": "spiral"], "'rope_scaling.rope_type' is \"spiral\""),
    ("llama", "rope_parameters", ["full_attention": ["rope_theta": 1e4]], "'rope_parameters.full_attention' is {\"rope_theta\":10000"),
    ("gemma3_text", "rope_parameters", ["rope_type": "yarn"], "'rope_parameters.rope_type' is \"yarn\""),
    ("qwen2", "rope_scaling", ["type": "default", "mrope_section": [1, 2]], "'rope_scaling.mrope_section' is [1,2]"),
    ("llama", "vision_config", ["hidden_size": 4], "'vision_config' is {\"hidden_size\":4}"),
    ("llama", "text_config", ["hidden_size": 4], "'text_config' is {\"hidden_size\":4}"),
    ("llama", "num_experts", 8, "'num_experts' is 8"), ("llama", "num_local_experts", 8, "'num_local_experts' is 8"),
    ("llama", "n_routed_experts", 8, "'n_routed_experts' is 8"),
    ("llama", "quantization_config", ["quant_method": "gptq"], "'quantization_config' is {\"quant_method\":\"gptq\"}"),
    ("llama", "embedding_multiplier", 12, "'embedding_multiplier' is 12"),
    ("llama", "residual_multiplier", 0.22, "'residual_multiplier' is 0.22"),
    ("llama", "logits_scaling", 8, "'logits_scaling' is 8"),
    ("llama", "attention_multiplier", 0.0078125, "'attention_multiplier' is 0.0078125"),
    ("llama", "attention_sinks", true, "'attention_sinks' is true"), ("olmo2", "clip_qkv", 8, "'clip_qkv' is 8"),
    ("gemma3_text", "use_bidirectional_attention", true, "'use_bidirectional_attention' is true"),
    ("gpt2", "scale_attn_by_inverse_layer_idx", true, "'scale_attn_by_inverse_layer_idx' is true"),
    ("gpt2", "reorder_and_upcast_attn", true, "'reorder_and_upcast_attn' is true"),
    ("gpt2", "activation_function", "relu", "'activation_function' is \"relu\""),
    ("qwen3", "hidden_act", "mish", "'hidden_act' is \"mish\""),
    ("gemma2", "layer_types", ["chunked_attention", "a", "b", "c", "d", "e", "f", "g"], "'layer_types' is \"chunked_attention\""),
    ("mistral", "attention_bias", true, "'attention_bias' is true"),
  ]

  @Test(arguments: refused.indices)
  func keysThatChangeTheNumbers(index: Int) {
    let item = Self.refused[index]
    var members: [(key: String, value: JSONValue)] = [(key: item.key, value: item.value)]
    if item.family == "gpt2" { members += [(key: "n_embd", value: 64), (key: "n_head", value: 4), (key: "n_layer", value: 2)] }
    let message = Self.message(item.family, members) ?? ""
    #expect(message.hasPrefix("config.json: " + item.message) && message.contains("which is not supported; supported is "), "\(message)")
  }

  @Test func valuesThatChangeNothingAreAccepted() throws {
    let neutral: [(key: String, value: JSONValue)] = [
      (key: "embedding_multiplier", value: 1.0), (key: "logits_scaling", value: 1), (key: "vision_config", value: .null),
      (key: "attention_sinks", value: false),
    ]
    #expect(try Self.read("llama", neutral) == Self.read("llama"))
  }

  @Test func malformedLists() {
    #expect(
      Self.message("gemma2", [(key: "layer_types", value: ["full_attention"])])
        == "config.json: 'layer_types': expected a list of 8 strings, found 1 elements, or others")
    #expect(
      Self.message("smollm3", [(key: "no_rope_layers", value: 7)])
        == "config.json: 'no_rope_layers': expected a list of 8 numbers 0 or 1, found a number")
    #expect(
      Self.message("qwen2", [(key: "layer_types", value: .array([JSONValue](repeating: "sliding_attention", count: 8)))])
        == "config.json: 'sliding_window': expected a window for the sliding layers of 'layer_types', found none")
  }

  // MARK: names

  @Test func namesOfFusedLayers() throws {
    let phi = ParameterNames(try Self.read("phi3"))
    #expect(phi.linear(.queryKeyValue, 3).tensor == "model.layers.3.self_attn.qkv_proj.weight")
    #expect(phi.linear(.gateUp, 3).module == "model.layers.3.mlp.gate_up_proj")
    let neox = ParameterNames(try Self.read("gpt_neox", [(key: "num_key_value_heads", value: .null)]))
    let name = neox.linear(.queryKeyValue, 1)
    #expect(name.layout == .interleavedHeads(heads: 4, parts: 3))
    let bias = neox.name(of: .linearBias(.queryKeyValue), layer: 1)
    #expect(bias.layout == name.layout && bias.tensor == "gpt_neox.layers.1.attention.query_key_value.bias")
    #expect(neox.head.tensor == "embed_out.weight" && neox.head.alternatives == ["lm_head.weight"])
  }
}
