public import DibitTensor

/// One trainable or frozen tensor of a decoder.
public struct Parameter: Sendable {
  /// Where it lies in a checkpoint.
  public let name: ParameterName
  /// Its elements.
  public var weight: Weight
  /// Its place in the list of all parameters, for gradients and optimiser state.
  public let index: Int
  /// Whether weight decay applies: matrices yes, norms no.
  public var decays: Bool { weight.rows > 1 }
}

/// The parameters of one block.
public struct BlockWeights: Sendable {
  /// Before attention, `[C]`.
  public var inputNorm: Parameter
  /// Before the feed-forward, `[C]`.
  public var middleNorm: Parameter
  /// For each head of the queries, `[D]`; nil where the family has none.
  public var queryNorm: Parameter?
  /// For each head of the keys, `[D]`; nil where the family or the layer has none.
  public var keyNorm: Parameter?
  /// `[H D, C]`.
  public var query: Parameter
  /// Keys and values are nil in a layer that reuses another's.
  public var key: Parameter?
  /// `[K D, C]`.
  public var value: Parameter?
  /// `[C, H D]`.
  public var output: Parameter
  /// `[F, C]`.
  public var gate: Parameter
  /// `[F, C]`.
  public var up: Parameter
  /// `[C, F]`.
  public var down: Parameter
  /// The static scales of int8 keys and values; nil keeps them as floats.
  public var keyScale: Float?
  /// As ``keyScale``, for the values.
  public var valueScale: Float?

  /// The linear layer of `kind`, or nil where this block has none.
  public func linear(_ kind: LinearKind) -> Parameter? {
    switch kind {
    case .query: query
    case .key: key
    case .value: value
    case .output: output
    case .gate: gate
    case .up: up
    case .down: down
    }
  }
}

/// All weights of a decoder, as values: a copy shares storage until one side is written.
public struct DecoderWeights: Sendable {
  /// A row for each token, `[V, C]`.
  public var embedding: Parameter
  /// The blocks, the first one first.
  public var blocks: [BlockWeights]
  /// Before the output head, `[C]`.
  public var finalNorm: Parameter
  /// Nil when logits use the embedding.
  public var head: Parameter?
  /// The number of parameters.
  public let count: Int

  /// Collects every parameter of `configuration` from `provide`, which is told its name and shape.
  ///
  /// `provideScale` gives the static key/value scales, or nil where a checkpoint has none yet.
  public init<E: Error>(
    _ configuration: ModelConfiguration, provide: (_ name: ParameterName, _ rows: Int, _ columns: Int) throws(E) -> Weight,
    provideScale: (_ tensor: String) throws(E) -> Float?
  ) throws(E) {
    let c = configuration
    let names = ParameterNames(c)
    var index = 0
    func parameter(_ name: ParameterName, _ rows: Int, _ columns: Int) throws(E) -> Parameter {
      defer { index += 1 }
      return Parameter(name: name, weight: try provide(name, rows, columns), index: index)
    }
    let (q, k) = (c.heads * c.headSize, c.keyValueHeads * c.headSize)
    embedding = try parameter(names.embedding, c.vocabularySize, c.hiddenSize)
    var blocks: [BlockWeights] = []
    for l in 0..<c.layers {
      let ownsKeys = l < c.keyValueLayers
      let hasScales = ownsKeys && c.quantizesKeyValues
      blocks.append(
        BlockWeights(
          inputNorm: try parameter(names.inputNorm(l), 1, c.hiddenSize), middleNorm: try parameter(names.middleNorm(l), 1, c.hiddenSize),
          queryNorm: c.normalizesHeads ? try parameter(names.queryNorm(l), 1, c.headSize) : nil,
          keyNorm: c.normalizesHeads && ownsKeys ? try parameter(names.keyNorm(l), 1, c.headSize) : nil,
          query: try parameter(names.linear(.query, l), q, c.hiddenSize),
          key: ownsKeys ? try parameter(names.linear(.key, l), k, c.hiddenSize) : nil,
          value: ownsKeys ? try parameter(names.linear(.value, l), k, c.hiddenSize) : nil,
          output: try parameter(names.linear(.output, l), c.hiddenSize, q),
          gate: try parameter(names.linear(.gate, l), c.feedForwardSize, c.hiddenSize),
          up: try parameter(names.linear(.up, l), c.feedForwardSize, c.hiddenSize),
          down: try parameter(names.linear(.down, l), c.hiddenSize, c.feedForwardSize),
          keyScale: hasScales ? try provideScale(names.keyScale(l)) : nil,
          valueScale: hasScales ? try provideScale(names.valueScale(l)) : nil))
    }
    self.blocks = blocks
    finalNorm = try parameter(names.finalNorm, 1, c.hiddenSize)
    head = c.tiesEmbeddings ? nil : try parameter(names.head, c.vocabularySize, c.hiddenSize)
    count = index
  }

  /// What turns hidden states into logits.
  public var output: Parameter { head ?? embedding }

  /// Every parameter, in the order of ``Parameter/index``.
  public var parameters: [Parameter] {
    var list = [embedding]
    for b in blocks {
      let optional = [b.queryNorm, b.keyNorm, b.query, b.key, b.value, b.output, b.gate, b.up, b.down]
      list += [b.inputNorm, b.middleNorm] + optional.compactMap { $0 }
    }
    list.append(finalNorm)
    if let head { list.append(head) }
    return list
  }

  /// Calls `body` with every parameter for writing, in the order of ``Parameter/index``.
  public mutating func updateEach(_ body: (inout Parameter) -> Void) {
    body(&embedding)
    for l in blocks.indices {
      body(&blocks[l].inputNorm)
      body(&blocks[l].middleNorm)
      Self.update(&blocks[l].queryNorm, body)
      Self.update(&blocks[l].keyNorm, body)
      body(&blocks[l].query)
      Self.update(&blocks[l].key, body)
      Self.update(&blocks[l].value, body)
      body(&blocks[l].output)
      body(&blocks[l].gate)
      body(&blocks[l].up)
      body(&blocks[l].down)
    }
    body(&finalNorm)
    Self.update(&head, body)
  }

  private static func update(_ parameter: inout Parameter?, _ body: (inout Parameter) -> Void) {
    // Taken out and put back, so that the storage stays uniquely referenced and is written in place.
    guard var present = parameter.take() else { return }
    body(&present)
    parameter = present
  }

  /// Bytes of all weights.
  public var byteCount: Int { parameters.reduce(0) { $0 + $1.weight.byteCount } }

  /// The number of elements of all weights.
  public var elementCount: Int { parameters.reduce(0) { $0 + $1.weight.count } }
}
