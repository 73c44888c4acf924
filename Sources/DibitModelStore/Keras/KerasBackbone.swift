internal import DibitCheckpoint
internal import DibitJSON

/// A backbone's class and arguments, read strictly: an argument that is not known is an error unless it is null.
struct KerasBackbone {
  let family: KerasFamily
  let sizes: KerasSizes
  private let arguments: KerasArguments

  init(_ configuration: JSONValue, path: String) throws(ModelStoreError) {
    var value = configuration
    // A task holds its backbone.
    if let inner = configuration["config"]?["backbone"] { value = inner }
    let name = value["class_name"]?.string ?? "none"
    guard let family = KerasFamily(backbone: name), let members = value["config"]?.object else {
      throw .malformed(
        path: path, key: "class_name", expected: "a LlamaBackbone, Llama3Backbone, MistralBackbone or GemmaBackbone with its 'config'",
        found: name)
    }
    self.family = family
    arguments = KerasArguments(members: members, path: path)
    try arguments.checkNames(Self.known[family] ?? [])
    try arguments.checkDType()
    let (hidden, heads) = (try arguments.count("hidden_dim"), try arguments.count("num_query_heads"))
    let inner = try arguments.count("intermediate_dim")
    if family == .gemma, inner % 2 != 0 {
      throw .malformed(path: path, key: "intermediate_dim", expected: "an even number", found: "\(inner)")
    }
    let head: Int
    if family == .gemma || arguments.has("head_dim") {
      head = try arguments.count("head_dim")
    } else {
      guard hidden % heads == 0 else {
        throw .malformed(path: path, key: "num_query_heads", expected: "a divisor of hidden_dim \(hidden)", found: "\(heads)")
      }
      head = hidden / heads
    }
    sizes = KerasSizes(
      vocabulary: try arguments.count("vocabulary_size"), hidden: hidden,
      // Gemma counts the gate and the values it multiplies together.
      feedForward: family == .gemma ? inner / 2 : inner, layers: try arguments.count("num_layers"), heads: heads,
      keyValueHeads: try arguments.count("num_key_value_heads"), head: head)
    guard heads % sizes.keyValueHeads == 0 else {
      throw .malformed(
        path: path, key: "num_key_value_heads", expected: "a divisor of the \(heads) query heads", found: "\(sizes.keyValueHeads)")
    }
  }

  private static let common: Set<String> = [
    "name", "trainable", "dtype", "vocabulary_size", "num_layers", "num_query_heads", "num_key_value_heads", "hidden_dim",
    "intermediate_dim", "layer_norm_epsilon", "dropout",
  ]
  private static let known: [KerasFamily: Set<String>] = [
    .llama: common.union([
      "rope_max_wavelength", "rope_scaling_factor", "rope_position_scaling_factor", "rope_frequency_adjustment_factor",
      "rope_low_freq_factor", "rope_high_freq_factor", "rope_pretraining_sequence_length", "tie_word_embeddings",
    ]),
    .mistral: common.union(["rope_max_wavelength", "rope_scaling_factor", "sliding_window", "head_dim"]),
    .gemma: common.union([
      "head_dim", "query_head_dim_normalize", "use_post_ffw_norm", "use_post_attention_norm", "final_logit_soft_cap",
      "attention_logit_soft_cap", "sliding_window_size", "use_sliding_window_attention",
    ]),
  ]

  /// True where each block normalises also what its two halves give: Gemma 2.
  var hasPostNorms: Bool { (try? arguments.flag("use_post_ffw_norm", default: false)) ?? false }

  /// Returns the content that Hugging Face's config.json would have; `tied` when the embedding is also the output layer.
  func configuration(tied: Bool) throws(ModelStoreError) -> JSONValue {
    var keys: [(key: String, value: JSONValue)] = [
      ("model_type", .string(family.rawValue)), ("vocab_size", .integer(sizes.vocabulary)), ("hidden_size", .integer(sizes.hidden)),
      ("intermediate_size", .integer(sizes.feedForward)), ("num_hidden_layers", .integer(sizes.layers)),
      ("num_attention_heads", .integer(sizes.heads)), ("num_key_value_heads", .integer(sizes.keyValueHeads)),
      ("head_dim", .integer(sizes.head)), ("rms_norm_eps", .number(try arguments.positive("layer_norm_epsilon", default: 1e-6))),
      ("tie_word_embeddings", .bool(tied)),
    ]
    switch family {
    case .llama: keys += try llama(tied: tied)
    case .mistral: keys += try mistral()
    case .gemma: keys += try gemma(tied: tied, &keys[0].value)
    }
    return .object(JSONObject(keys))
  }

  private func llama(tied: Bool) throws(ModelStoreError) -> [(key: String, value: JSONValue)] {
    guard try arguments.flag("tie_word_embeddings", default: tied) == tied else {
      throw arguments.malformed("tie_word_embeddings", expected: "\(tied), as the tensors say")
    }
    // Versions of KerasHub disagree: older ones divide positions by it, newer ones (0.32) do nothing. The second name is KerasNLP's.
    for name in ["rope_position_scaling_factor", "rope_scaling_factor"] where try arguments.positive(name, default: 1) != 1 {
      throw arguments.malformed(name, expected: "1, because versions of KerasHub disagree about other values")
    }
    let names = [
      "rope_frequency_adjustment_factor", "rope_low_freq_factor", "rope_high_freq_factor", "rope_pretraining_sequence_length",
    ]
    var keys: [(key: String, value: JSONValue)] = [
      ("hidden_act", "silu"), ("rope_theta", .number(try arguments.positive("rope_max_wavelength", default: 10_000))),
    ]
    guard let first = names.first(where: arguments.has) else { return keys + [("max_position_embeddings", 8192)] }
    if let missing = names.first(where: { !arguments.has($0) }) {
      throw arguments.malformed(missing, expected: "a number, because there is '\(first)'")
    }
    let (factor, length) = (try arguments.positive(names[0], default: 1), try arguments.count(names[3]))
    keys.append(
      (
        "rope_scaling",
        [
          "rope_type": "llama3", "factor": .number(factor), "low_freq_factor": .number(try arguments.positive(names[1], default: 1)),
          "high_freq_factor": .number(try arguments.positive(names[2], default: 1)), "original_max_position_embeddings": .integer(length),
        ]
      ))
    return keys + [("max_position_embeddings", .integer(max(length, Int(exactly: (factor * Double(length)).rounded()) ?? length)))]
  }

  private func mistral() throws(ModelStoreError) -> [(key: String, value: JSONValue)] {
    var keys: [(key: String, value: JSONValue)] = [
      ("hidden_act", "silu"), ("rope_theta", .number(try arguments.positive("rope_max_wavelength", default: 10_000))),
      ("sliding_window", arguments.has("sliding_window") ? .integer(try arguments.count("sliding_window")) : .null),
      ("max_position_embeddings", 32_768),
    ]
    let scale = try arguments.positive("rope_scaling_factor", default: 1)
    if scale != 1 { keys.append(("rope_scaling", ["rope_type": "linear", "factor": .number(scale)])) }
    return keys
  }

  private func gemma(tied: Bool, _ type: inout JSONValue) throws(ModelStoreError) -> [(key: String, value: JSONValue)] {
    // KerasHub gives the argument to the last norm only, the others have this value in any case.
    guard try arguments.positive("layer_norm_epsilon", default: 1e-6) == 1e-6 else {
      throw arguments.malformed("layer_norm_epsilon", expected: "1e-06")
    }
    guard tied else { throw arguments.malformed("vocabulary_size", expected: "an embedding that is the output layer too") }
    var keys: [(key: String, value: JSONValue)] = [
      ("hidden_act", "gelu_pytorch_tanh"), ("hidden_activation", "gelu_pytorch_tanh"), ("rope_theta", 10_000),
      ("max_position_embeddings", 8192),
    ]
    let postNorms = try arguments.flag("use_post_ffw_norm", default: false)
    guard try arguments.flag("use_post_attention_norm", default: false) == postNorms else {
      throw arguments.malformed("use_post_attention_norm", expected: "the same as 'use_post_ffw_norm'")
    }
    let slides = try arguments.flag("use_sliding_window_attention", default: false)
    // The heads' size is what a query is divided by the root of, unless the argument says otherwise: Gemma 2 of 27 billion parameters.
    let byHead = try arguments.flag("query_head_dim_normalize", default: true)
    let scalar = byHead ? sizes.head : sizes.hidden / sizes.heads
    guard postNorms else {
      for name in ["final_logit_soft_cap", "attention_logit_soft_cap"] where arguments.has(name) {
        throw arguments.malformed(name, expected: "null in a model without norms after attention and feed-forward")
      }
      if slides { throw arguments.malformed("use_sliding_window_attention", expected: "false in a model without such norms") }
      if scalar != sizes.head { throw arguments.malformed("query_head_dim_normalize", expected: "true in a model without such norms") }
      return keys
    }
    type = "gemma2"
    keys.append(("query_pre_attn_scalar", .integer(scalar)))
    for (name, ours) in [("final_logit_soft_cap", "final_logit_softcapping"), ("attention_logit_soft_cap", "attn_logit_softcapping")] {
      keys.append((ours, arguments.has(name) ? .number(try arguments.positive(name, default: 1)) : .null))
    }
    // Every other layer, from the first one.
    let types = (0..<sizes.layers).map { JSONValue.string(slides && $0 % 2 == 0 ? "sliding_attention" : "full_attention") }
    keys += [("layer_types", .array(types)), ("sliding_window", .integer(try arguments.count("sliding_window_size", default: 4096)))]
    return keys
  }
}
