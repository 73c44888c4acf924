package import DibitJSON

/// Models whose speed is known for their size, without anybody's weights.
package enum BenchmarkShape: String, CaseIterable, Sendable {
  /// 12 layers of 768 channels: the size of the largest llama2.c model.
  case m110 = "110m"
  /// 16 layers of 2,048 channels: the size of Llama 3.2 1B.
  case b1 = "1b"
  /// 56 layers of 2,048 channels, of which 21 reuse keys and values: the on-device architecture `afm7`.
  case b3 = "3b"

  /// The config.json of such a model.
  package var configuration: JSONObject {
    switch self {
    case .m110: Self.llama(vocabulary: 32_000, hidden: 768, wide: 2048, layers: 12, heads: 12, keyValueHeads: 12)
    case .b1: Self.llama(vocabulary: 128_256, hidden: 2048, wide: 8192, layers: 16, heads: 32, keyValueHeads: 8)
    case .b3: Self.afm7(vocabulary: 153_600, hidden: 2048, factor: 3.25, layers: 56, reusing: 21, heads: 16, keyValueHeads: 2)
    }
  }

  static func llama(
    vocabulary: Int, hidden: Int, wide: Int, layers: Int, heads: Int, keyValueHeads: Int, ties: Bool = true, context: Int = 4096
  ) -> JSONObject {
    JSONObject([
      (key: "model_type", value: "llama"), (key: "vocab_size", value: .integer(vocabulary)), (key: "hidden_size", value: .integer(hidden)),
      (key: "intermediate_size", value: .integer(wide)), (key: "num_hidden_layers", value: .integer(layers)),
      (key: "num_attention_heads", value: .integer(heads)), (key: "num_key_value_heads", value: .integer(keyValueHeads)),
      (key: "hidden_act", value: "silu"), (key: "rms_norm_eps", value: 1e-5), (key: "rope_theta", value: 500_000.0),
      (key: "tie_word_embeddings", value: .bool(ties)), (key: "max_position_embeddings", value: .integer(context)),
    ])
  }

  static func afm7(
    vocabulary: Int, hidden: Int, factor: Double, layers: Int, reusing: Int, heads: Int, keyValueHeads: Int, context: Int = 4096
  ) -> JSONObject {
    JSONObject([
      (key: "model_type", value: "afm7"), (key: "vocab_size", value: .integer(vocabulary)), (key: "hidden_dim", value: .integer(hidden)),
      (key: "num_layers", value: .integer(layers)), (key: "num_kv_reuse_layers", value: .integer(reusing)),
      (key: "num_heads", value: .integer(heads)), (key: "num_kv_heads", value: .integer(keyValueHeads)),
      (key: "hidden_dim_scale_factor", value: .number(factor)), (key: "rms_norm_eps", value: 1e-5),
      (key: "rope_theta", value: 500_000.0), (key: "tie_word_embeddings", value: true),
      (key: "max_position_embeddings", value: .integer(context)),
    ])
  }
}
