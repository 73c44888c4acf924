/// Where a parameter lies in a checkpoint: a tensor, or some rows of one that a family stores fused.
public struct ParameterName: Equatable, Sendable {
  /// The tensor's name in the checkpoint.
  public var tensor: String
  /// The rows that belong to the parameter; nil for all.
  public var rows: Range<Int>?
  /// The module's path, for adapters: `model.layers.3.self_attn.q_proj`.
  public var module: String

  /// A whole tensor called `module.weight`.
  init(_ module: String) {
    tensor = module + ".weight"
    self.module = module
  }

  /// Whether this is a table with a row for each token: the embedding, or an output head of its own.
  public static func isEmbedding(_ name: ParameterName) -> Bool { tables.contains(name.module) }

  private static let tables: Set<String> = ["model.embed_tokens", "model.embedding", "lm_head"]

  init(_ module: String, in tensor: String, rows: Range<Int>) {
    self.tensor = tensor
    self.rows = rows
    self.module = module
  }
}

/// The names of a family's parameters: what a family is beside its configuration.
public struct ParameterNames: Sendable {
  /// The embedding table.
  public let embedding: ParameterName
  /// The norm before the output head.
  public let finalNorm: ParameterName
  /// The output head, where it is not the embedding.
  public let head: ParameterName
  private let configuration: ModelConfiguration

  /// The names for one configuration.
  public init(_ configuration: ModelConfiguration) {
    self.configuration = configuration
    switch configuration.family {
    case .llama: (embedding, finalNorm) = (ParameterName("model.embed_tokens"), ParameterName("model.norm"))
    case .afm7: (embedding, finalNorm) = (ParameterName("model.embedding"), ParameterName("model.output_norm"))
    }
    head = ParameterName("lm_head")
  }

  /// `model.layers.3`; the layers that reuse keys and values have a list of their own in afm7.
  private func block(_ layer: Int) -> String {
    let own = configuration.keyValueLayers
    return configuration.family == .afm7 && layer >= own ? "model.kv_reuse_layers.\(layer - own)" : "model.layers.\(layer)"
  }

  /// The norm before attention.
  public func inputNorm(_ layer: Int) -> ParameterName { ParameterName(block(layer) + ".input_layernorm") }
  /// The norm before the feed-forward.
  public func middleNorm(_ layer: Int) -> ParameterName { ParameterName(block(layer) + ".post_attention_layernorm") }
  /// The norm of the query heads.
  public func queryNorm(_ layer: Int) -> ParameterName { ParameterName(block(layer) + ".self_attn.q_norm") }
  /// The norm of the key heads.
  public func keyNorm(_ layer: Int) -> ParameterName { ParameterName(block(layer) + ".self_attn.k_norm") }
  /// The tensors with the static scales of int8 keys and values.
  public func keyScale(_ layer: Int) -> String { block(layer) + ".self_attn.quant_key_scale" }
  /// As ``keyScale(_:)``, for the values.
  public func valueScale(_ layer: Int) -> String { block(layer) + ".self_attn.quant_value_scale" }

  /// A linear layer of a block; some families keep several in one tensor.
  public func linear(_ kind: LinearKind, _ layer: Int) -> ParameterName {
    let attention = block(layer) + ".self_attn."
    switch kind {
    case .gate, .up, .down: return ParameterName(block(layer) + ".mlp." + kind.targetName)
    case .output: return ParameterName(attention + (configuration.family == .afm7 ? "out_proj" : kind.targetName))
    case .query, .key, .value:
      guard configuration.family == .afm7, layer < configuration.keyValueLayers else { return ParameterName(attention + kind.targetName) }
      let (q, k) = (configuration.heads * configuration.headSize, configuration.keyValueHeads * configuration.headSize)
      let rows = kind == .query ? 0..<q : kind == .key ? q..<q + k : q + k..<q + 2 * k
      return ParameterName(attention + kind.targetName, in: attention + "qkv_proj.weight", rows: rows)
    }
  }
}
