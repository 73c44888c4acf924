/// The names of a family's parameters: what a family is beside its configuration.
package struct ParameterNames: Sendable {
  /// The embedding table.
  package let embedding: ParameterName
  /// The table of learned positions.
  package let positions: ParameterName
  /// The output head, where it is not the embedding.
  package let head: ParameterName
  private let configuration: ModelConfiguration
  private let words: Words

  /// The names that a family gives its modules. A checkpoint of the bare model lacks the base's name.
  private struct Words {
    var base = "model"
    var embedding = "embed_tokens"
    var positions = "wpe"
    var finalNorm = "norm"
    var heads = ["lm_head"]
    var layers = "layers"
    var inputNorm = "input_layernorm"
    var outputNorm = "post_attention_layernorm"
    var middleNorm = "post_attention_layernorm"
    var feedForwardNorm = "post_feedforward_layernorm"
    var attention = "self_attn"
    var queryKeyValue = "qkv_proj"
    var output = "o_proj"
    var up = "up_proj"
    var down = "down_proj"

    init(_ family: ModelFamily) {
      switch family {
      case .llama, .mistral, .qwen2, .qwen3, .gemma, .smollm3, .phi3, .olmo2: break
      case .gemma2, .gemma3: middleNorm = "pre_feedforward_layernorm"
      case .afm7: (embedding, finalNorm, output) = ("embedding", "output_norm", "out_proj")
      case .gpt2:
        (base, embedding, finalNorm, layers, inputNorm, middleNorm) = ("transformer", "wte", "ln_f", "h", "ln_1", "ln_2")
        (attention, queryKeyValue, output, up, down) = ("attn", "c_attn", "c_proj", "c_fc", "c_proj")
      case .gptNeoX:
        (base, embedding, finalNorm, heads) = ("gpt_neox", "embed_in", "final_layer_norm", ["embed_out", "lm_head"])
        (attention, queryKeyValue, output, up, down) = ("attention", "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")
      }
    }
  }

  /// The names for one configuration.
  package init(_ configuration: ModelConfiguration) {
    self.configuration = configuration
    words = Words(configuration.family)
    embedding = Self.inBase(ParameterName(words.base + "." + words.embedding))
    positions = Self.inBase(ParameterName(words.base + "." + words.positions))
    var head = ParameterName(words.heads[0])
    head.alternatives = words.heads.dropFirst().map { $0 + ".weight" }
    self.head = head
  }

  /// With the name in a checkpoint of the bare model.
  private static func inBase(_ name: ParameterName) -> ParameterName {
    guard let dot = name.tensor.firstIndex(of: ".") else { return name }
    var name = name
    name.alternatives = [String(name.tensor[name.tensor.index(after: dot)...])]
    return name
  }

  /// `model.layers.3`; the layers that reuse keys and values have a list of their own in afm7.
  private func block(_ layer: Int) -> String {
    let own = configuration.keyValueLayers
    let list = configuration.family == .afm7 && layer >= own ? "kv_reuse_layers.\(layer - own)" : "\(words.layers).\(layer)"
    return words.base + "." + list
  }

  /// The bias beside a weight, in the same order.
  private func bias(of weight: ParameterName) -> ParameterName {
    var name = Self.inBase(ParameterName(weight.module, "bias"))
    name.layout = weight.layout
    return name
  }

  /// The name of a parameter; `layer` is that of its block, if it belongs to one.
  package func name(of role: ParameterRole, layer: Int = 0) -> ParameterName {
    switch role {
    case .embedding: embedding
    case .positions: positions
    case .head: head
    case .norm(let kind): norm(kind, layer)
    case .normBias(let kind): bias(of: norm(kind, layer))
    case .linear(let kind): linear(kind, layer)
    case .linearBias(let kind): bias(of: linear(kind, layer))
    case .recovery(let kind, let factor): ParameterName(linear(kind, layer).module + (factor == .a ? ".recovery_a" : ".recovery_b"))
    }
  }

  /// A norm; `layer` is that of its block, if it belongs to one.
  package func norm(_ kind: NormKind, _ layer: Int) -> ParameterName {
    let module =
      switch kind {
      case .attentionInput: words.inputNorm
      case .attentionOutput: words.outputNorm
      case .feedForwardInput: words.middleNorm
      case .feedForwardOutput: words.feedForwardNorm
      case .query: words.attention + ".q_norm"
      case .key: words.attention + ".k_norm"
      case .final: words.finalNorm
      }
    return Self.inBase(ParameterName((kind == .final ? words.base : block(layer)) + "." + module))
  }

  /// The tensors with the static scales of int8 keys and values.
  package func keyScale(_ layer: Int) -> String { block(layer) + ".self_attn.quant_key_scale" }
  /// As ``keyScale(_:)``, for the values.
  package func valueScale(_ layer: Int) -> String { block(layer) + ".self_attn.quant_value_scale" }

  /// A linear layer of a block; some families keep several in one tensor.
  package func linear(_ kind: LinearKind, _ layer: Int) -> ParameterName {
    let (attention, feedForward) = (block(layer) + "." + words.attention + ".", block(layer) + ".mlp.")
    var name: ParameterName
    switch kind {
    case .gate, .gateUp: name = ParameterName(feedForward + kind.targetName)
    case .up: name = ParameterName(feedForward + words.up)
    case .down: name = ParameterName(feedForward + words.down)
    case .output: name = ParameterName(attention + words.output)
    case .queryKeyValue: name = ParameterName(attention + words.queryKeyValue)
    case .query, .key, .value:
      guard configuration.family == .afm7, layer < configuration.keyValueLayers else {
        name = ParameterName(attention + kind.targetName)
        break
      }
      let (q, k) = (configuration.queryColumns, configuration.keyColumns)
      let rows = kind == .query ? 0..<q : kind == .key ? q..<q + k : q + k..<q + 2 * k
      name = ParameterName(attention + kind.targetName, in: attention + "qkv_proj.weight", rows: rows)
    }
    if configuration.family == .gpt2 { name.layout = .transposed }
    if configuration.family == .gptNeoX, kind == .queryKeyValue {
      name.layout = .interleavedHeads(heads: configuration.heads, parts: 3)
    }
    return Self.inBase(name)
  }
}
