internal import DibitJSON
internal import DibitKernels

// What each family's config.json means: the common keys once, then what is the family's own. Defaults are those of transformers.

extension ModelConfiguration {
  static func read(_ family: ModelFamily, _ keys: ConfigurationKeys) throws(ModelError) -> Self {
    switch family {
    case .llama: try llama(keys)
    case .mistral: try mistral(keys)
    case .qwen2: try qwen2(keys)
    case .qwen3: try qwen3(keys)
    case .gemma: try gemma(keys)
    case .gemma2: try gemma2(keys)
    case .gemma3: try gemma3(keys)
    case .smollm3: try smollm3(keys)
    case .phi3: try phi3(keys)
    case .olmo2: try olmo2(keys)
    case .gpt2: try gpt2(keys)
    case .gptNeoX: try gptNeoX(keys)
    case .afm7: try afm7(keys)
    }
  }

  /// The settings that most families share: pre-norm RMSNorm, grouped queries, a gated feed-forward, RoPE in all layers.
  private static func common(
    _ family: ModelFamily, _ keys: ConfigurationKeys, epsilon: Double = 1e-6, context: Int = 2048, head: Int? = nil, theta: Double = 10_000,
    rotaryShare: Double = 1, activationKey: String = "hidden_act", ties: Bool = false
  ) throws(ModelError) -> Self {
    let (hidden, heads) = (try keys.count("hidden_size"), try keys.count("num_attention_heads"))
    let headSize: Int
    if keys.value("head_dim") != nil {
      headSize = try keys.count("head_dim")
    } else if let head {
      headSize = head
    } else {
      headSize = try quotient(hidden, heads)
    }
    var c = Self(
      family: family, vocabularySize: try keys.count("vocab_size"), hiddenSize: hidden,
      feedForwardSize: try keys.count("intermediate_size"), layers: try keys.layers("num_hidden_layers"), heads: heads,
      keyValueHeads: try keys.count("num_key_value_heads", default: heads), headSize: headSize,
      normEpsilon: Float(try keys.number("rms_norm_eps", default: epsilon)), attentionScale: 1 / Float(headSize).squareRoot(),
      tiesEmbeddings: try keys.bool("tie_word_embeddings", default: ties),
      contextLength: try keys.count("max_position_embeddings", default: context))
    if family != .gemma3 { c.ropes = [try keys.rope(&c, defaultTheta: theta, defaultShare: rotaryShare)] }
    c.activation = try activation(keys, activationKey, default: family.isGemma ? "gelu_pytorch_tanh" : "silu")
    c.layerSettings = [Layer](repeating: Layer(window: nil, rope: 0), count: c.layers)
    return c
  }

  /// The size of a head where no key says it; `key` is that of the heads.
  private static func quotient(_ hidden: Int, _ heads: Int, _ key: String = "num_attention_heads") throws(ModelError) -> Int {
    guard hidden % heads == 0 else {
      throw .invalidValue(key: key, expected: "a divisor of the hidden size \(hidden)", found: "\(heads)")
    }
    return hidden / heads
  }

  private static func activation(_ keys: ConfigurationKeys, _ key: String, default fallback: String) throws(ModelError) -> Activation {
    let name = try keys.string(key, default: fallback)
    switch name {
    case "silu", "swish": return .silu
    case "gelu": return .gelu
    case "gelu_pytorch_tanh", "gelu_new": return .geluTanh
    default: throw .unsupported(key: key, value: "\"\(name)\"", supported: "silu, gelu, gelu_new or gelu_pytorch_tanh")
    }
  }

  /// `attention_bias` and `mlp_bias`.
  private mutating func readBiases(_ keys: ConfigurationKeys, feedForward: Bool) throws(ModelError) {
    let attention = try keys.bool("attention_bias", default: false)
    (biases.queryKeyValue, biases.output) = (attention, attention)
    if feedForward { biases.feedForward = try keys.bool("mlp_bias", default: false) }
  }

  /// `sliding_window`: null means none, an absent key the family's default.
  private static func window(_ keys: ConfigurationKeys, default fallback: Int?) throws(ModelError) -> Int? {
    keys.contains("sliding_window") ? try keys.optionalCount("sliding_window") : fallback
  }

  /// Gives the sliding layers of `layer_types`, or where that is absent those that `isSliding` names, their window.
  private mutating func readLayerTypes(_ keys: ConfigurationKeys, window: Int?, isSliding: (Int) -> Bool) throws(ModelError) {
    let types = try keys.list("layer_types", length: layers, of: "strings") { $0.string }
    for layer in 0..<layers {
      let type = types?[layer] ?? (window != nil && isSliding(layer) ? "sliding_attention" : "full_attention")
      switch type {
      case "full_attention": continue
      case "sliding_attention":
        guard let window else {
          throw .invalidValue(key: "sliding_window", expected: "a window for the sliding layers of 'layer_types'", found: "none")
        }
        layerSettings[layer].window = window
      default: throw .unsupported(key: "layer_types", value: "\"\(type)\"", supported: "full_attention or sliding_attention")
      }
    }
  }

  private static func llama(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.llama, keys)
    try c.readBiases(keys, feedForward: true)
    return c
  }

  private static func mistral(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("attention_bias", false)
    var c = try common(.mistral, keys, context: 131_072)
    let window = try window(keys, default: 4096)
    try c.readLayerTypes(keys, window: window) { _ in true }
    if c.layerSettings.contains(where: { $0.window != window }) {
      throw .unsupported(key: "layer_types", value: "a list of several types", supported: "one type for all layers")
    }
    return c
  }

  private static func qwen2(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.qwen2, keys, context: 32_768)
    c.biases.queryKeyValue = true
    try c.readQwenWindows(keys)
    return c
  }

  private static func qwen3(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.qwen3, keys, context: 32_768, head: 128)
    (c.headNorm, c.headNormEpsilon) = (.beforeRoPE, c.normEpsilon)
    try c.readBiases(keys, feedForward: false)
    try c.readQwenWindows(keys)
    return c
  }

  private mutating func readQwenWindows(_ keys: ConfigurationKeys) throws(ModelError) {
    let slides = try keys.bool("use_sliding_window", default: false)
    let first = try keys.count("max_window_layers", default: 28, minimum: 0)
    try readLayerTypes(keys, window: slides ? try Self.window(keys, default: 4096) : nil) { $0 >= first }
  }

  /// The settings that all gemmas share.
  private static func anyGemma(
    _ family: ModelFamily, _ keys: ConfigurationKeys, activationKey: String, context: Int = 8192
  ) throws(ModelError) -> Self {
    var c = try common(family, keys, context: context, head: 256, activationKey: activationKey, ties: true)
    c.norm = .rmsPlusOne
    c.embeddingScale = Float(c.hiddenSize).squareRoot()
    try c.readBiases(keys, feedForward: false)
    return c
  }

  private static func gemma(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    let key = keys.value("hidden_activation") == nil ? "hidden_act" : "hidden_activation"
    var c = try anyGemma(.gemma, keys, activationKey: key)
    // The published files say "gelu" and mean its approximation.
    if c.activation == .gelu { c.activation = .geluTanh }
    return c
  }

  private static func gemma2(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try anyGemma(.gemma2, keys, activationKey: "hidden_activation")
    try c.readLaterGemma(keys, window: try window(keys, default: 4096)) { $0 % 2 == 0 }
    return c
  }

  private static func gemma3(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try anyGemma(.gemma3, keys, activationKey: "hidden_activation", context: 131_072)
    (c.headNorm, c.headNormEpsilon) = (.beforeRoPE, c.normEpsilon)
    let pattern = try keys.count("sliding_window_pattern", default: try keys.count("_sliding_window_pattern", default: 6))
    try c.readLaterGemma(keys, window: try window(keys, default: 4096)) { ($0 + 1) % pattern != 0 }
    for key in ["rope_parameters.rope_type", "rope_parameters.type"] { try keys.require(key, "default") }
    c.ropes = [
      try keys.rope(&c, layerType: "full_attention", defaultTheta: 1_000_000),
      try keys.rope(&c, layerType: "sliding_attention", defaultTheta: 10_000),
    ]
    for layer in 0..<c.layers where c.layerSettings[layer].window != nil { c.layerSettings[layer].rope = 1 }
    return c
  }

  private mutating func readLaterGemma(_ keys: ConfigurationKeys, window: Int?, isSliding: (Int) -> Bool) throws(ModelError) {
    normPlacement = .around
    attentionScale = Float(1 / (try keys.number("query_pre_attn_scalar", default: 256)).squareRoot())
    // Only gemma 2 has caps by default; a null in its file means none.
    let hasCaps = family == .gemma2
    func cap(_ key: String, _ fallback: Double) throws(ModelError) -> Float? {
      if hasCaps, !keys.contains(key) { return Float(fallback) }
      return try keys.optionalNumber(key).map { Float($0) }
    }
    attentionSoftCap = try cap("attn_logit_softcapping", 50)
    logitSoftCap = try cap("final_logit_softcapping", 30)
    try readLayerTypes(keys, window: window, isSliding: isSliding)
  }

  private static func smollm3(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.smollm3, keys, context: 32_768, theta: 2_000_000, ties: true)
    try c.readBiases(keys, feedForward: true)
    let interval = try keys.count("no_rope_layer_interval", default: 4)
    let rotates = try keys.list("no_rope_layers", length: c.layers, of: "numbers 0 or 1") {
      $0.int.flatMap { [0, 1].contains($0) ? $0 : nil }
    }
    for layer in 0..<c.layers where rotates.map({ $0[layer] == 0 }) ?? ((layer + 1) % interval == 0) { c.layerSettings[layer].rope = nil }
    let slides = try keys.bool("use_sliding_window", default: false)
    let settings = c.layerSettings
    try c.readLayerTypes(keys, window: slides ? try keys.optionalCount("sliding_window") : nil) { settings[$0].rope == nil }
    return c
  }

  private static func phi3(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("attention_bias", false)
    var c = try common(.phi3, keys, epsilon: 1e-5, context: 4096)
    (c.fusesQueryKeyValue, c.fusesGateUp) = (true, true)
    if let window = try window(keys, default: nil) { for layer in 0..<c.layers { c.layerSettings[layer].window = window } }
    return c
  }

  private static func olmo2(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.olmo2, keys, epsilon: 1e-5)
    (c.normPlacement, c.headNorm, c.headNormEpsilon) = (.after, .wholeProjection, c.normEpsilon)
    try c.readBiases(keys, feedForward: false)
    return c
  }

  private static func gpt2(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("scale_attn_by_inverse_layer_idx", false)
    try keys.require("reorder_and_upcast_attn", false)
    let (hidden, heads) = (try keys.count("n_embd"), try keys.count("n_head"))
    let head = try quotient(hidden, heads)
    let scales = try keys.bool("scale_attn_weights", default: true)
    var c = Self(
      family: .gpt2, vocabularySize: try keys.count("vocab_size"), hiddenSize: hidden,
      feedForwardSize: try keys.count("n_inner", default: 4 * hidden), layers: try keys.layers("n_layer"), heads: heads,
      keyValueHeads: heads,
      headSize: head, normEpsilon: Float(try keys.number("layer_norm_epsilon", default: 1e-5)),
      attentionScale: scales ? 1 / Float(head).squareRoot() : 1, tiesEmbeddings: try keys.bool("tie_word_embeddings", default: true),
      contextLength: try keys.count("n_positions", default: 1024))
    c.norm = .layer
    c.biases = Biases(queryKeyValue: true, output: true, feedForward: true)
    (c.fusesQueryKeyValue, c.isGated, c.learnsPositions) = (true, false, true)
    c.activation = try activation(keys, "activation_function", default: "gelu_new")
    c.layerSettings = [Layer](repeating: Layer(), count: c.layers)
    return c
  }

  private static func gptNeoX(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    var c = try common(.gptNeoX, keys, rotaryShare: 0.25)
    c.norm = .layer
    c.normEpsilon = Float(try keys.number("layer_norm_eps", default: 1e-5))
    c.isParallel = try keys.bool("use_parallel_residual", default: true)
    let attention = try keys.bool("attention_bias", default: true)
    c.biases = Biases(queryKeyValue: attention, output: attention, feedForward: true)
    (c.fusesQueryKeyValue, c.isGated) = (true, false)
    c.activation = try activation(keys, "hidden_act", default: "gelu")
    guard c.keyValueHeads == c.heads else {
      throw .unsupported(key: "num_key_value_heads", value: "\(c.keyValueHeads)", supported: "\(c.heads), as many as heads")
    }
    return c
  }

  private static func afm7(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("tie_word_embeddings", true)
    for key in ["rope_scaling", "rope_parameters"] { try keys.refuse(key) }
    let (hidden, heads) = (try keys.count("hidden_dim"), try keys.count("num_heads"))
    let factor = try keys.number("hidden_dim_scale_factor", default: 3.25)
    guard factor < 1024 else {
      throw .invalidValue(key: "hidden_dim_scale_factor", expected: "a factor between 0 and 1024", found: "\(factor)")
    }
    let head = try quotient(hidden, heads, "num_heads")
    var c = Self(
      family: .afm7, vocabularySize: try keys.count("vocab_size"), hiddenSize: hidden, feedForwardSize: Int(Double(hidden) * factor),
      layers: try keys.layers("num_layers"), reusingLayers: try keys.count("num_kv_reuse_layers", default: 0, minimum: 0), heads: heads,
      keyValueHeads: try keys.count("num_kv_heads"), headSize: head,
      normEpsilon: Float(try keys.number("rms_norm_eps", default: 1e-5)), attentionScale: 1 / Float(head).squareRoot(),
      tiesEmbeddings: true,
      quantizesKeyValues: true, contextLength: try keys.count("max_position_embeddings", default: 4096))
    c.ropes = [RotaryEmbedding(theta: try keys.number("rope_theta", default: 50_000), dimensions: head, pairing: .interleaved)]
    (c.headNorm, c.headNormEpsilon) = (.afterRoPE, 1e-5)
    c.layerSettings = [Layer](repeating: Layer(window: nil, rope: 0), count: c.layers)
    return c
  }
}

extension ModelFamily {
  fileprivate var isGemma: Bool { [.gemma, .gemma2, .gemma3].contains(self) }
}
