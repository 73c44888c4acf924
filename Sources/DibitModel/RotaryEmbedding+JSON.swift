internal import DibitJSON
internal import DibitKernels

extension ConfigurationKeys {
  /// The rotary embedding of all layers, or of those of one type.
  ///
  /// transformers 5 writes `rope_parameters`, by layer type in gemma 3; older files have `rope_theta`, `rope_scaling` and names of their
  /// own at the top level. Where a scaling is exact only up to some length, the context is cut to it: `dynamic` up to
  /// `max_position_embeddings`, `longrope` up to the original context, within which its short factors apply.
  func rope(
    _ c: inout ModelConfiguration, layerType: String? = nil, defaultTheta: Double, defaultShare: Double = 1
  ) throws(ModelError) -> RotaryEmbedding {
    let prefix = try prefix(layerType)
    let theta = try number(
      prefix + ".rope_theta",
      default: try number(
        layerType == "sliding_attention" ? "rope_local_base_freq" : "rope_theta",
        default: try number("rotary_emb_base", default: defaultTheta)))
    let share = try number(
      prefix + ".partial_rotary_factor",
      default: try number("partial_rotary_factor", default: try number("rotary_pct", default: defaultShare)))
    guard share <= 1 else { throw .invalidValue(key: "partial_rotary_factor", expected: "a share of at most 1", found: "\(share)") }
    var rope = RotaryEmbedding(theta: theta, dimensions: Int(Double(c.headSize) * share))
    let isPhi = c.family == .phi3
    var type = try string(prefix + ".rope_type", default: try string(prefix + ".type", default: "default"))
    if isPhi, type == "su" || type == "yarn" { type = "longrope" }
    func original() throws(ModelError) -> Double {
      if let own = try optionalNumber("original_max_position_embeddings") { return own }
      return try number(prefix + ".original_max_position_embeddings", default: Double(c.contextLength))
    }
    switch type {
    case "default":
      // A GGUF file does not say how its factors came about.
      if let factors = try list("dibit_rope_frequency_factors", length: rope.pairs, of: "numbers", { $0.double }) {
        guard factors.allSatisfy({ $0 > 0 }) else {
          throw .invalidValue(key: "dibit_rope_frequency_factors", expected: "positive numbers", found: "\(factors)")
        }
        rope.scaling = .longRoPE(factors: factors)
      }
    case "linear": rope.scaling = .linear(factor: try number(prefix + ".factor"))
    case "dynamic": _ = try number(prefix + ".factor")
    case "llama3":
      rope.scaling = .llama3(
        factor: try number(prefix + ".factor"), lowFrequencyFactor: try number(prefix + ".low_freq_factor"),
        highFrequencyFactor: try number(prefix + ".high_freq_factor"), originalContext: try original())
    case "yarn":
      let context = try original()
      let factor = try number(prefix + ".factor", default: Double(c.contextLength) / context)
      rope.scaling = .yarn(
        factor: factor, fast: try number(prefix + ".beta_fast", default: 32), slow: try number(prefix + ".beta_slow", default: 1),
        originalContext: context, truncates: try bool(prefix + ".truncate", default: true))
      rope.attentionFactor = try yarnAttentionFactor(prefix, factor)
    case "longrope":
      let context = try original()
      let factor = try number(prefix + ".factor", default: Double(c.contextLength) / context)
      let factors = try list(prefix + ".short_factor", length: rope.pairs, of: "numbers") { $0.double }
      guard let factors, factors.allSatisfy({ $0 > 0 }) else { throw .missingKey(prefix + ".short_factor") }
      rope.scaling = .longRoPE(factors: factors)
      rope.attentionFactor = try number(
        prefix + ".attention_factor", default: RotaryEmbedding.longRoPEAttentionFactor(factor, originalContext: context))
      if context < Double(c.contextLength) { c.contextLength = max(1, Int(context)) }
    default:
      throw .unsupported(
        key: prefix + ".rope_type", value: "\"\(type)\"", supported: "default, linear, dynamic, llama3, yarn or longrope")
    }
    return rope
  }

  /// The object with the parameters: an old `rope_scaling` counts before `rope_parameters`, as in transformers.
  private func prefix(_ layerType: String?) throws(ModelError) -> String {
    guard let layerType else {
      for type in ["full_attention", "sliding_attention"] { try refuse("rope_parameters." + type) }
      return (value("rope_scaling")?.object?.count ?? 0) > 0 ? "rope_scaling" : "rope_parameters"
    }
    return layerType == "full_attention" && value("rope_scaling") != nil ? "rope_scaling" : "rope_parameters." + layerType
  }

  private func yarnAttentionFactor(_ prefix: String, _ factor: Double) throws(ModelError) -> Double {
    if let own = try optionalNumber(prefix + ".attention_factor") { return own }
    if let (scale, all) = try both(prefix + ".mscale", prefix + ".mscale_all_dim") {
      return RotaryEmbedding.yarnAttentionFactor(factor, scale: scale) / RotaryEmbedding.yarnAttentionFactor(factor, scale: all)
    }
    return RotaryEmbedding.yarnAttentionFactor(factor)
  }

  private func both(_ first: String, _ second: String) throws(ModelError) -> (Double, Double)? {
    guard let first = try optionalNumber(first), let second = try optionalNumber(second) else { return nil }
    return (first, second)
  }
}
