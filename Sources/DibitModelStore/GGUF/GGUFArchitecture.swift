internal import DibitCheckpoint

/// The layout of one of llama.cpp's architectures: which Hugging Face family it is, and what its tensors are called.
struct GGUFArchitecture: Sendable {
  /// In which order llama.cpp stores the rows of a tensor.
  enum Layout: Sendable {
    /// As Hugging Face does.
    case same
    /// Query or key heads whose halves are interleaved, because llama.cpp rotates neighbouring pairs.
    case queryPairs, keyPairs
    /// [outputs, inputs] where Hugging Face has [inputs, outputs].
    case transposed
    /// All queries, all keys, all values where Hugging Face has q, k, v of each head in turn.
    case separateHeads
  }

  /// A module under both its names; `layer` is put in where the names have a `#`.
  struct Module: Sendable {
    let gguf: String
    let hugging: String
    var layout = Layout.same
  }

  /// `general.architecture`.
  let name: String
  /// `model_type`.
  let family: String
  let modules: [Module]
  /// True where norms are stored as one more than Hugging Face stores them.
  var addsOneToNorms = false
  /// True where norms have biases, and their epsilon is that of LayerNorm.
  var usesLayerNorm = false

  private static let embedding = Module(gguf: "token_embd", hugging: "model.embed_tokens")
  private static let ends = [
    embedding, Module(gguf: "output_norm", hugging: "model.norm"), Module(gguf: "output", hugging: "lm_head"),
  ]

  private static func block(_ gguf: String, _ hugging: String, _ layout: Layout = .same) -> Module {
    Module(gguf: "blk.#." + gguf, hugging: "model.layers.#." + hugging, layout: layout)
  }

  private static func attention(permuted: Bool) -> [Module] {
    [
      block("attn_q", "self_attn.q_proj", permuted ? .queryPairs : .same),
      block("attn_k", "self_attn.k_proj", permuted ? .keyPairs : .same),
      block("attn_v", "self_attn.v_proj"), block("attn_output", "self_attn.o_proj"),
    ]
  }

  private static let feedForward = [
    block("ffn_gate", "mlp.gate_proj"), block("ffn_up", "mlp.up_proj"), block("ffn_down", "mlp.down_proj"),
  ]
  private static let headNorms = [block("attn_q_norm", "self_attn.q_norm"), block("attn_k_norm", "self_attn.k_norm")]
  private static let normsBefore = [block("attn_norm", "input_layernorm"), block("ffn_norm", "post_attention_layernorm")]
  private static let normsAround = [
    block("attn_norm", "input_layernorm"), block("post_attention_norm", "post_attention_layernorm"),
    block("ffn_norm", "pre_feedforward_layernorm"), block("post_ffw_norm", "post_feedforward_layernorm"),
  ]
  private static let normsAfter = [
    block("post_attention_norm", "post_attention_layernorm"), block("post_ffw_norm", "post_feedforward_layernorm"),
  ]

  private static func gpt2(_ gguf: String, _ hugging: String, _ layout: Layout = .same) -> Module {
    Module(gguf: gguf, hugging: "transformer." + hugging, layout: layout)
  }

  private static func neoX(_ gguf: String, _ hugging: String, _ layout: Layout = .same) -> Module {
    Module(gguf: gguf, hugging: "gpt_neox." + hugging, layout: layout)
  }

  /// All architectures. llama stands before mistral, which llama.cpp stores as llama.
  static let all: [GGUFArchitecture] = [
    Self(name: "llama", family: "llama", modules: ends + attention(permuted: true) + feedForward + normsBefore),
    Self(name: "llama", family: "mistral", modules: ends + attention(permuted: true) + feedForward + normsBefore),
    Self(name: "smollm3", family: "smollm3", modules: ends + attention(permuted: true) + feedForward + normsBefore),
    Self(name: "qwen2", family: "qwen2", modules: ends + attention(permuted: false) + feedForward + normsBefore),
    Self(name: "qwen3", family: "qwen3", modules: ends + attention(permuted: false) + feedForward + normsBefore + headNorms),
    Self(name: "gemma", family: "gemma", modules: ends + attention(permuted: false) + feedForward + normsBefore, addsOneToNorms: true),
    Self(name: "gemma2", family: "gemma2", modules: ends + attention(permuted: false) + feedForward + normsAround, addsOneToNorms: true),
    Self(
      name: "gemma3", family: "gemma3_text", modules: ends + attention(permuted: false) + feedForward + normsAround + headNorms,
      addsOneToNorms: true),
    Self(name: "olmo2", family: "olmo2", modules: ends + attention(permuted: false) + feedForward + normsAfter + headNorms),
    Self(
      name: "phi3", family: "phi3",
      modules: ends + normsBefore + [
        block("attn_qkv", "self_attn.qkv_proj"), block("attn_output", "self_attn.o_proj"), block("ffn_up", "mlp.gate_up_proj"),
        block("ffn_down", "mlp.down_proj"),
      ]),
    Self(
      name: "gpt2", family: "gpt2",
      modules: [
        gpt2("token_embd", "wte"), gpt2("position_embd", "wpe"), gpt2("output_norm", "ln_f"), Module(gguf: "output", hugging: "lm_head"),
        gpt2("blk.#.attn_norm", "h.#.ln_1"), gpt2("blk.#.attn_qkv", "h.#.attn.c_attn", .transposed),
        gpt2("blk.#.attn_output", "h.#.attn.c_proj", .transposed), gpt2("blk.#.ffn_norm", "h.#.ln_2"),
        gpt2("blk.#.ffn_up", "h.#.mlp.c_fc", .transposed), gpt2("blk.#.ffn_down", "h.#.mlp.c_proj", .transposed),
      ], usesLayerNorm: true),
    Self(
      name: "gptneox", family: "gpt_neox",
      modules: [
        neoX("token_embd", "embed_in"), neoX("output_norm", "final_layer_norm"), Module(gguf: "output", hugging: "embed_out"),
        neoX("blk.#.attn_norm", "layers.#.input_layernorm"), neoX("blk.#.attn_qkv", "layers.#.attention.query_key_value", .separateHeads),
        neoX("blk.#.attn_output", "layers.#.attention.dense"), neoX("blk.#.ffn_norm", "layers.#.post_attention_layernorm"),
        neoX("blk.#.ffn_up", "layers.#.mlp.dense_h_to_4h"), neoX("blk.#.ffn_down", "layers.#.mlp.dense_4h_to_h"),
      ], usesLayerNorm: true),
  ]

  /// Every name of a tensor of this architecture, by the side that `key` chooses.
  func tensors(layers: Int, by key: (Module) -> String) -> [[UInt8]: (gguf: String, hugging: String, layout: Layout)] {
    var table: [[UInt8]: (gguf: String, hugging: String, layout: Layout)] = [:]
    for module in modules {
      for layer in module.gguf.utf8.contains(UInt8(ascii: "#")) ? 0..<layers : 0..<1 {
        for suffix in [".weight", ".bias"] {
          let name = Self.fill(key(module), layer) + suffix
          table[Array(name.utf8)] = (Self.fill(module.gguf, layer) + suffix, Self.fill(module.hugging, layer) + suffix, module.layout)
        }
      }
    }
    return table
  }

  private static func fill(_ pattern: String, _ layer: Int) -> String {
    let parts = pattern.split(separator: "#", omittingEmptySubsequences: false)
    return parts.joined(separator: "\(layer)")
  }
}

extension GGUFArchitecture.Layout {
  /// Heads and their size, as far as a layout needs them.
  struct Heads {
    let queries: Int
    let keys: Int
    let size: Int
  }

  /// The view that turns llama.cpp's order into Hugging Face's, or back; nil where `shape` cannot be of this layout.
  func view(_ name: String, from source: String, shape: [Int], heads: Heads, toHugging: Bool) -> TensorView? {
    let tail = Array(shape.dropFirst())
    let axes = tail.indices.map { 3 + $0 }
    switch self {
    case .same: return TensorView(name, from: source)
    case .queryPairs, .keyPairs:
      if case .queryPairs = self { return Self.pairs(name, source, shape, heads.queries, heads.size, toHugging) }
      return Self.pairs(name, source, shape, heads.keys, heads.size, toHugging)
    case .transposed:
      guard shape.count == 2 else { return shape.count == 1 ? TensorView(name, from: source) : nil }
      return TensorView(name, from: source, split: shape, order: [1, 0], shape: [shape[1], shape[0]])
    case .separateHeads:
      guard let rows = shape.first, rows == 3 * heads.queries * heads.size else { return nil }
      let split = toHugging ? [3, heads.queries, heads.size] : [heads.queries, 3, heads.size]
      return TensorView(name, from: source, split: split + tail, order: [1, 0, 2] + axes, shape: shape)
    }
  }

  private static func pairs(_ name: String, _ source: String, _ shape: [Int], _ count: Int, _ size: Int, _ toHugging: Bool) -> TensorView? {
    guard let rows = shape.first, rows == count * size, size % 2 == 0 else { return nil }
    let tail = Array(shape.dropFirst())
    let split = toHugging ? [count, size / 2, 2] : [count, 2, size / 2]
    return TensorView(name, from: source, split: split + tail, order: [0, 2, 1] + tail.indices.map { 3 + $0 }, shape: shape)
  }
}
