public import DibitKernels

/// The numbers that make a family's decoder: everything in which two checkpoints may differ except their weights.
public struct ModelConfiguration: Equatable, Sendable {
  /// The architecture.
  public var family: ModelFamily
  /// Tokens that the model knows, `V`.
  public var vocabularySize: Int
  /// Channels of the residual stream, `C`.
  public var hiddenSize: Int
  /// Channels inside the feed-forward, `F`.
  public var feedForwardSize: Int
  /// All layers, those without keys and values of their own included.
  public var layers: Int
  /// The last layers, which attend to the keys and values of the last layer before them.
  public var reusingLayers: Int
  /// Query heads, `H`.
  public var heads: Int
  /// Key/value heads, `K`.
  public var keyValueHeads: Int
  /// Elements of a head, `D`.
  public var headSize: Int
  /// The epsilon of the norms of the residual stream.
  public var normEpsilon: Float
  /// The base of the rotary frequencies.
  public var ropeTheta: Double
  /// Which elements of a head turn together.
  public var ropePairing: RoPE.Pairing
  /// Whether each head of q and k is normalised after RoPE.
  public var normalizesHeads: Bool
  /// The epsilon of those norms.
  public var headNormEpsilon: Float
  /// Whether logits use the embedding table.
  public var tiesEmbeddings: Bool
  /// Whether layers carry static scales for int8 keys and values.
  public var quantizesKeyValues: Bool
  /// The most tokens of a sequence.
  public var contextLength: Int

  /// Layers that have keys and values.
  public var keyValueLayers: Int { layers - reusingLayers }

  /// The layer whose keys and values layer `layer` attends to.
  public func keyValueLayer(of layer: Int) -> Int { min(layer, keyValueLayers - 1) }

  /// How queries, keys and values are shaped.
  public var attention: Attention {
    Attention(heads: heads, keyValueHeads: keyValueHeads, headSize: headSize, scale: 1 / Float(headSize).squareRoot())
  }

  /// The rotary tables for sequences of up to `positions` tokens.
  public func makeRoPE(positions: Int) -> RoPE {
    RoPE(frequencies: RoPE.frequencies(headSize: headSize, theta: ropeTheta), positions: positions, pairing: ropePairing)
  }
}
