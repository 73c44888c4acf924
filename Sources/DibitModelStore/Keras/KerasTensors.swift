internal import DibitCheckpoint

/// The variables of a backbone by what they are, and the views that put them into Hugging Face's layout.
///
/// Keras names a variable by its path: `layers/llama_transformer_decoder_3/_feedforward_gate_dense/vars/0`. The first part within
/// `layers` is the class of the layer in small letters, and its number among layers of that class; none for the first. Some versions
/// use the layers' own names. Kernels are `[in, out]`, those of attention have their heads as an axis of their own.
struct KerasTensors {
  private let path: String
  private var tensors: [String: StoredTensor] = [:]

  private static let containers = ["layers", "_layer_checkpoint_dependencies"]

  init(_ stored: [StoredTensor], family: KerasFamily, path: String) throws(ModelStoreError) {
    self.path = path
    for tensor in stored {
      guard let key = Self.key(tensor.name, family) else {
        throw .tensor(tensor.name, path: path, expected: "a variable of a \(family.rawValue) backbone", found: "a name that is not known")
      }
      if let other = tensors.updateValue(tensor, forKey: key) {
        throw .tensor(tensor.name, path: path, expected: "one tensor in its place", found: "also '\(other.name)'")
      }
    }
  }

  var hasReverseEmbedding: Bool { tensors["embedding/1"] != nil }

  /// `embedding/0`, `norm/0` or `3/self_attention_layer/query_dense/0`; nil for all other names.
  private static func key(_ name: String, _ family: KerasFamily) -> String? {
    var parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    // A backbone within a task has the task's path before its own.
    guard let container = parts.lastIndex(where: containers.contains), parts.count >= container + 4 else { return nil }
    parts.removeFirst(container + 1)
    guard parts[parts.count - 2] == "vars", let variable = parts.last, ["0", "1"].contains(variable) else { return nil }
    let inner = parts[1..<parts.count - 2].map { $0.drop { $0 == "_" } }
    let layer = parts[0]
    if ["reversible_embedding", "token_embedding"].contains(layer) { return inner.isEmpty ? "embedding/\(variable)" : nil }
    guard variable == "0" else { return nil }
    let (norms, blocks) = names(family)
    if norms.contains(layer) { return inner.isEmpty ? "norm/0" : nil }
    guard !inner.isEmpty, let number = blocks.lazy.compactMap({ number(of: layer, among: $0) }).first else { return nil }
    return "\(number)/" + inner.joined(separator: "/") + "/0"
  }

  private static func names(_ family: KerasFamily) -> (norms: [String], blocks: [String]) {
    switch family {
    case .llama: (["llama_layer_norm", "sequence_output_layernorm"], ["llama_transformer_decoder", "transformer_layer"])
    case .mistral: (["mistral_layer_normalization", "sequence_output_layernorm"], ["mistral_transformer_decoder", "transformer_layer"])
    case .gemma: (["rms_normalization", "final_normalization"], ["gemma_decoder_block", "decoder_block"])
    }
  }

  /// 0 for `stem`, n for `stem_n`.
  private static func number(of layer: String, among stem: String) -> Int? {
    if layer == stem { return 0 }
    guard layer.hasPrefix(stem + "_"), let number = Int(layer.dropFirst(stem.utf8.count + 1)), number >= 0 else { return nil }
    return layer == "\(stem)_\(number)" ? number : nil
  }

  /// Takes a variable out of the table; it must be there with this shape.
  private mutating func take(_ key: String, _ shape: [Int]) throws(ModelStoreError) -> String {
    guard let tensor = tensors.removeValue(forKey: key) else {
      throw .tensor(key, path: path, expected: "a variable of shape \(shape)", found: "none; the file is not whole")
    }
    guard tensor.shape == shape else { throw .tensor(tensor.name, path: path, expected: "shape \(shape)", found: "\(tensor.shape)") }
    return tensor.name
  }

  /// Throws when a variable is left that no view took.
  func requireAllTaken() throws(ModelStoreError) {
    guard let left = tensors.values.map(\.name).min() else { return }
    throw .tensor(left, path: path, expected: "a variable that the configuration has a place for", found: "one too many")
  }

  private mutating func plain(_ name: String, _ key: String, _ shape: [Int]) throws(ModelStoreError) -> TensorView {
    TensorView(name, from: try take(key, shape))
  }

  /// A kernel whose leading axes, together `rows` long, go in and whose other axes, `columns`, come out; transposed.
  private mutating func transposed(_ name: String, _ key: String, _ shape: [Int], _ rows: Int, _ columns: Int) throws(ModelStoreError)
    -> TensorView
  {
    TensorView(name, from: try take(key, shape), split: [rows, columns], order: [1, 0], shape: [columns, rows])
  }

  /// The names of Llama and Mistral.
  mutating func llama(_ s: KerasSizes, tied: Bool) throws(ModelStoreError) -> [TensorView] {
    var views = [try plain("model.embed_tokens.weight", "embedding/0", [s.vocabulary, s.hidden])]
    for layer in 0..<s.layers {
      let (to, from, attention) = ("model.layers.\(layer).", "\(layer)/", "\(layer)/self_attention_layer/")
      views.append(try plain(to + "input_layernorm.weight", from + "self_attention_layernorm/0", [s.hidden]))
      for (part, heads) in [("query", s.heads), ("key", s.keyValueHeads), ("value", s.keyValueHeads)] {
        views.append(
          try transposed(
            to + "self_attn.\(part.prefix(1))_proj.weight", attention + part + "_dense/0", [s.hidden, heads, s.head], s.hidden,
            heads * s.head))
      }
      views.append(
        try transposed(
          to + "self_attn.o_proj.weight", attention + "output_dense/0", [s.heads, s.head, s.hidden], s.heads * s.head, s.hidden))
      views.append(try plain(to + "post_attention_layernorm.weight", from + "feedforward_layernorm/0", [s.hidden]))
      for (part, name) in [("gate", "gate_proj"), ("intermediate", "up_proj")] {
        views.append(
          try transposed(
            to + "mlp.\(name).weight", from + "feedforward_\(part)_dense/0", [s.hidden, s.feedForward], s.hidden, s.feedForward))
      }
      views.append(
        try transposed(
          to + "mlp.down_proj.weight", from + "feedforward_output_dense/0", [s.feedForward, s.hidden], s.feedForward, s.hidden))
    }
    views.append(try plain("model.norm.weight", "norm/0", [s.hidden]))
    if !tied { views.append(try transposed("lm_head.weight", "embedding/1", [s.hidden, s.vocabulary], s.hidden, s.vocabulary)) }
    return views
  }

  /// The names of Gemma, and with `postNorms` of Gemma 2.
  mutating func gemma(_ s: KerasSizes, postNorms: Bool) throws(ModelStoreError) -> [TensorView] {
    var views = [try plain("model.embed_tokens.weight", "embedding/0", [s.vocabulary, s.hidden])]
    var norms = [("pre_attention_norm", "input_layernorm"), ("pre_ffw_norm", "post_attention_layernorm")]
    if postNorms {
      norms[1].1 = "pre_feedforward_layernorm"
      norms += [("post_attention_norm", "post_attention_layernorm"), ("post_ffw_norm", "post_feedforward_layernorm")]
    }
    for layer in 0..<s.layers {
      let (to, from) = ("model.layers.\(layer).", "\(layer)/")
      for (part, name) in norms { views.append(try plain(to + name + ".weight", from + part + "/0", [s.hidden])) }
      for (part, heads) in [("query", s.heads), ("key", s.keyValueHeads), ("value", s.keyValueHeads)] {
        views.append(
          TensorView(
            to + "self_attn.\(part.prefix(1))_proj.weight",
            from: try take(from + "attention/\(part)_dense/0", [heads, s.hidden, s.head]),
            split: [heads, s.hidden, s.head], order: [0, 2, 1], shape: [heads * s.head, s.hidden]))
      }
      views.append(
        try transposed(
          to + "self_attn.o_proj.weight", from + "attention/output_dense/0", [s.heads, s.head, s.hidden], s.heads * s.head, s.hidden))
      for (part, name) in [("gating_ffw", "gate_proj"), ("gating_ffw_2", "up_proj")] {
        views.append(
          try transposed(to + "mlp.\(name).weight", from + part + "/0", [s.hidden, s.feedForward], s.hidden, s.feedForward))
      }
      views.append(try transposed(to + "mlp.down_proj.weight", from + "ffw_linear/0", [s.feedForward, s.hidden], s.feedForward, s.hidden))
    }
    return views + [try plain("model.norm.weight", "norm/0", [s.hidden])]
  }
}
