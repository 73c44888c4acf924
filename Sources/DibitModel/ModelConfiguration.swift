package import DibitKernels

/// The numbers that make a family's decoder: everything in which two checkpoints may differ except their weights.
package struct ModelConfiguration: Equatable, Sendable {
  /// The normalisation of rows.
  package enum Norm: Equatable, Sendable {
    /// RMSNorm.
    case rms
    /// RMSNorm that multiplies by one more than its weight, as gemma stores it.
    case rmsPlusOne
    /// LayerNorm, with a bias.
    case layer
  }

  /// The placement of a block's norms.
  package enum NormPlacement: Equatable, Sendable {
    /// The inputs of attention and feed-forward.
    case before
    /// The outputs of both, before they are added to the residual stream.
    case after
    /// Both.
    case around
  }

  /// The parts of queries and keys that are normalised; always with an RMSNorm of the kind of ``norm``.
  package enum HeadNorm: Equatable, Sendable {
    case none
    /// Each head, before RoPE.
    case beforeRoPE
    /// Each head, after RoPE.
    case afterRoPE
    /// All heads together, before RoPE.
    case wholeProjection
  }

  /// The linear layers that add a bias.
  package struct Biases: Equatable, Sendable {
    /// The projections to queries, keys and values.
    package var queryKeyValue = false
    /// The projection behind attention.
    package var output = false
    /// All layers of the feed-forward.
    package var feedForward = false
  }

  /// In what layers differ from each other.
  package struct Layer: Equatable, Sendable {
    /// The number of keys that a query sees, itself included; nil for all before it.
    package var window: Int?
    /// The table in ``ModelConfiguration/ropes`` that rotates queries and keys; nil where they are not rotated.
    package var rope: Int?
    /// Channels inside the feed-forward; nil for ``ModelConfiguration/feedForwardSize``.
    package var feedForwardSize: Int?
  }

  /// The architecture.
  package var family: ModelFamily
  /// Tokens that the model knows, `V`.
  package var vocabularySize: Int
  /// Channels of the residual stream, `C`.
  package var hiddenSize: Int
  /// Channels inside the feed-forward, `F`.
  package var feedForwardSize: Int
  /// All layers, those without keys and values of their own included.
  package var layers: Int
  /// The last layers, which attend to the keys and values of the last layer before them.
  package var reusingLayers = 0
  /// Query heads, `H`.
  package var heads: Int
  /// Key/value heads, `K`.
  package var keyValueHeads: Int
  /// Elements of a head, `D`.
  package var headSize: Int
  /// The norms of the residual stream.
  package var norm = Norm.rms
  /// The epsilon of those norms.
  package var normEpsilon: Float
  /// The placement of those norms in a block.
  package var normPlacement = NormPlacement.before
  /// True when attention and feed-forward read the same residual stream, and are added to it together.
  package var isParallel = false
  /// The parts of queries and keys that are normalised.
  package var headNorm = HeadNorm.none
  /// The epsilon of those norms.
  package var headNormEpsilon: Float = 0
  /// The linear layers that add a bias.
  package var biases = Biases()
  /// True when queries, keys and values come from one linear layer.
  package var fusesQueryKeyValue = false
  /// True when gate and up come from one linear layer.
  package var fusesGateUp = false
  /// The function of the feed-forward's gate, or of its only projection.
  package var activation = Activation.silu
  /// True for a feed-forward with a gate.
  package var isGated = true
  /// The factor of attention scores.
  package var attentionScale: Float
  /// Attention scores become `cap · tanh(score / cap)`.
  package var attentionSoftCap: Float?
  /// Logits become `cap · tanh(logit / cap)`.
  package var logitSoftCap: Float?
  /// The factor of embeddings.
  package var embeddingScale: Float?
  /// True when a table of learned vectors is added to the embeddings, one for each position of the context.
  package var learnsPositions = false
  /// The rotary embeddings that layers choose from.
  package var ropes: [RotaryEmbedding] = []
  /// Windows and rotary embeddings, for each layer.
  package var layerSettings: [Layer] = []
  /// True when logits use the embedding table.
  package var tiesEmbeddings: Bool
  /// True when layers carry static scales for int8 keys and values.
  package var quantizesKeyValues = false
  /// The most tokens of a sequence.
  package var contextLength: Int
  /// The rank of what a converted model adds to the weight of each linear layer, to bring back what rounding took; 0 where it adds nothing.
  package var recoveryRank = 0

  /// Layers that have keys and values.
  package var keyValueLayers: Int { layers - reusingLayers }

  /// The layer whose keys and values layer `layer` attends to.
  package func keyValueLayer(of layer: Int) -> Int { min(layer, keyValueLayers - 1) }

  /// Channels inside the feed-forward of a layer.
  package func feedForwardSize(layer: Int) -> Int { layerSettings[layer].feedForwardSize ?? feedForwardSize }

  /// Columns of the queries of all heads, `H D`.
  package var queryColumns: Int { heads * headSize }

  /// Columns of the keys, and of the values, of all heads, `K D`.
  package var keyColumns: Int { keyValueHeads * headSize }

  /// True when queries and keys are normalised.
  package var normalizesHeads: Bool { headNorm != .none }

  /// The base of the first rotary embedding's frequencies; 0 where there is none.
  package var ropeTheta: Double { ropes.first?.theta ?? 0 }

  /// Returns the shapes of a layer's queries, keys and values, and what they see.
  package func attention(layer: Int) -> Attention {
    Attention(
      heads: heads, keyValueHeads: keyValueHeads, headSize: headSize, scale: attentionScale, window: layerSettings[layer].window,
      softCap: attentionSoftCap)
  }
}

extension ModelConfiguration {
  /// Returns whether a linear layer adds a bias.
  package func hasBias(_ kind: LinearKind) -> Bool {
    switch kind {
    case .query, .key, .value, .queryKeyValue: biases.queryKeyValue
    case .output: biases.output
    case .gate, .up, .gateUp, .down: biases.feedForward
    }
  }
}
