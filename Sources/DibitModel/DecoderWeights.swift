package import DibitTensor

/// One trainable or frozen tensor of a decoder.
package struct Parameter: Sendable {
  /// Where it lies in a checkpoint.
  package let name: ParameterName
  /// Its elements: a row for each output, whatever ``ParameterName/layout`` says of the checkpoint.
  package var weight: Weight
  /// Its place in the list of all parameters, for gradients and optimiser state.
  package let index: Int
  /// Whether weight decay applies: matrices yes, norms and biases no.
  package var decays: Bool { weight.rows > 1 }
}

/// A weight and the bias beside it, as places in ``DecoderWeights/parameters``.
package struct ParameterPair: Equatable, Sendable {
  /// The weight's place.
  package let weight: Int
  /// The bias's place; nil where there is none.
  package let bias: Int?
}

/// The parameters of one block. What a family or a layer does not have is nil.
package struct BlockWeights: Sendable {
  /// Before attention, `[C]`.
  package let inputNorm: ParameterPair?
  /// For the queries, `[D]` or `[H D]`.
  package let queryNorm: ParameterPair?
  /// For the keys, `[D]` or `[K D]`.
  package let keyNorm: ParameterPair?
  /// On what attention adds, `[C]`.
  package let outputNorm: ParameterPair?
  /// Before the feed-forward, `[C]`.
  package let middleNorm: ParameterPair?
  /// On what the feed-forward adds, `[C]`.
  package let feedForwardNorm: ParameterPair?
  /// By ``LinearKind``.
  private let linears: [ParameterPair?]
  /// The static scales of int8 keys and values; nil keeps them as floats.
  package var keyScale: Float?
  /// As ``keyScale``, for the values.
  package var valueScale: Float?

  init(
    inputNorm: ParameterPair?, outputNorm: ParameterPair?, middleNorm: ParameterPair?, feedForwardNorm: ParameterPair?,
    queryNorm: ParameterPair?, keyNorm: ParameterPair?, linears: [ParameterPair?], keyScale: Float?, valueScale: Float?
  ) {
    (self.inputNorm, self.outputNorm, self.middleNorm, self.feedForwardNorm) = (inputNorm, outputNorm, middleNorm, feedForwardNorm)
    (self.queryNorm, self.keyNorm, self.linears, self.keyScale, self.valueScale) = (queryNorm, keyNorm, linears, keyScale, valueScale)
  }

  /// The linear layer of `kind`, or nil where this block has none.
  package func linear(_ kind: LinearKind) -> ParameterPair? { linears[kind.rawValue] }
}

/// All weights of a decoder, as values: a copy shares storage until one side is written.
package struct DecoderWeights: Sendable {
  /// Every parameter, in the order of ``Parameter/index``.
  package private(set) var parameters: [Parameter]
  /// The blocks, the first one first.
  package var blocks: [BlockWeights]
  /// The place of the embedding table.
  let embeddingIndex: Int
  /// The place of the table of learned positions.
  let positionsIndex: Int?
  /// Before the output head.
  let finalNorm: ParameterPair
  /// The place of what turns hidden states into logits: the embedding table where the head is tied to it.
  let outputIndex: Int

  /// Collects every parameter of `configuration` from `provide`, which is told its name and shape.
  ///
  /// `provideScale` gives the static key/value scales, or nil where a checkpoint has none yet.
  package init<E: Error>(
    _ configuration: ModelConfiguration, provide: (_ name: ParameterName, _ rows: Int, _ columns: Int) throws(E) -> Weight,
    provideScale: (_ tensor: String) throws(E) -> Float?
  ) throws(E) {
    let c = configuration
    let names = ParameterNames(c)
    var parameters: [Parameter] = []
    func add(_ name: ParameterName, _ rows: Int, _ columns: Int) throws(E) -> Int {
      parameters.append(Parameter(name: name, weight: try provide(name, rows, columns), index: parameters.count))
      return parameters.count - 1
    }
    func norm(_ name: ParameterName, _ columns: Int, if exists: Bool = true) throws(E) -> ParameterPair? {
      guard exists else { return nil }
      let weight = try add(name, 1, columns)
      return ParameterPair(weight: weight, bias: c.norm == .layer ? try add(names.bias(of: name), 1, columns) : nil)
    }
    embeddingIndex = try add(names.embedding, c.vocabularySize, c.hiddenSize)
    positionsIndex = c.learnsPositions ? try add(names.positions, c.contextLength, c.hiddenSize) : nil
    var blocks: [BlockWeights] = []
    for l in 0..<c.layers {
      let ownsKeys = l < c.keyValueLayers
      let hasScales = ownsKeys && c.quantizesKeyValues
      let whole = c.headNorm == .wholeProjection
      let inputNorm = try norm(names.inputNorm(l), c.hiddenSize, if: c.normPlacement != .after)
      let outputNorm = try norm(names.outputNorm(l), c.hiddenSize, if: c.normPlacement != .before)
      let middleNorm = try norm(names.middleNorm(l), c.hiddenSize, if: c.normPlacement != .after)
      let feedForwardNorm = try norm(names.feedForwardNorm(l), c.hiddenSize, if: c.normPlacement != .before)
      let queryNorm = try norm(names.queryNorm(l), whole ? c.queryColumns : c.headSize, if: c.normalizesHeads)
      let keyNorm = try norm(names.keyNorm(l), whole ? c.keyColumns : c.headSize, if: c.normalizesHeads && ownsKeys)
      var linears = [ParameterPair?](repeating: nil, count: LinearKind.allCases.count)
      for kind in c.linearKinds where ownsKeys || (kind != .key && kind != .value) {
        let (name, shape) = (names.linear(kind, l), c.shape(of: kind))
        let weight = try add(name, shape.rows, shape.columns)
        linears[kind.rawValue] = ParameterPair(
          weight: weight, bias: c.hasBias(kind) ? try add(names.bias(of: name), 1, shape.rows) : nil)
      }
      blocks.append(
        BlockWeights(
          inputNorm: inputNorm, outputNorm: outputNorm, middleNorm: middleNorm, feedForwardNorm: feedForwardNorm, queryNorm: queryNorm,
          keyNorm: keyNorm, linears: linears, keyScale: hasScales ? try provideScale(names.keyScale(l)) : nil,
          valueScale: hasScales ? try provideScale(names.valueScale(l)) : nil))
    }
    self.blocks = blocks
    let final = try add(names.finalNorm, 1, c.hiddenSize)
    finalNorm = ParameterPair(weight: final, bias: c.norm == .layer ? try add(names.bias(of: names.finalNorm), 1, c.hiddenSize) : nil)
    outputIndex = c.tiesEmbeddings ? embeddingIndex : try add(names.head, c.vocabularySize, c.hiddenSize)
    self.parameters = parameters
  }

  /// The number of parameters.
  package var count: Int { parameters.count }

  /// A row for each token, `[V, C]`.
  package var embedding: Parameter { parameters[embeddingIndex] }

  /// What turns hidden states into logits: the head, or the embedding.
  package var output: Parameter { parameters[outputIndex] }

  /// The linear layer of `kind` of a block, or nil where it has none.
  package func linear(_ kind: LinearKind, _ layer: Int) -> Parameter? { blocks[layer].linear(kind).map { parameters[$0.weight] } }

  /// Calls `body` with every parameter for writing, in the order of ``Parameter/index``.
  package mutating func updateEach(_ body: (inout Parameter) -> Void) { for i in parameters.indices { body(&parameters[i]) } }

  /// Whether some weights lie on a grid.
  package var isPacked: Bool { parameters.contains(where: \.weight.isPacked) }

  /// Bytes of all weights.
  package var byteCount: Int { parameters.reduce(0) { $0 + $1.weight.byteCount } }

  /// The number of elements of all weights.
  package var elementCount: Int { parameters.reduce(0) { $0 + $1.weight.count } }
}
