package import DibitTensor

/// One trainable or frozen tensor of a decoder.
package struct Parameter: Sendable {
  /// Its location in a checkpoint.
  package let name: ParameterName
  /// Its role in the decoder.
  package let role: ParameterRole
  /// Its elements: a row for each output, whatever ``ParameterName/layout`` says of the checkpoint.
  package var weight: Weight
  /// Its index in the list of all parameters, for gradients and optimiser state.
  package let index: Int

  /// True when weight decay and rounding apply: for matrices, not for norms and biases.
  package var isMatrix: Bool { role.isMatrix }
}

/// The static scales of a layer's int8 keys and values; nil where they are kept as floats.
package struct KeyValueScales: Equatable, Sendable {
  /// Of the keys.
  package var key: Float?
  /// Of the values.
  package var value: Float?

  /// No scales, unless they are given.
  package init(key: Float? = nil, value: Float? = nil) { (self.key, self.value) = (key, value) }
}

/// All weights of a decoder, as values: a copy shares storage until one side is written.
package struct DecoderWeights: Sendable {
  /// Every parameter, in the order of ``Parameter/index``.
  package private(set) var parameters: [Parameter]
  /// The static scales of each layer's keys and values.
  package var keyValueScales: [KeyValueScales]
  /// The index of `A` of each linear layer's recovery, by that of its weight.
  private let recoveries: [Int: Int]
  private let embeddingIndex: Int
  private let outputIndex: Int
  private let linears: [Int?]  // by layer and LinearKind

  /// Collects every parameter of `configuration` from `provide`.
  ///
  /// `provideScale` gives the static key/value scales, or nil where a checkpoint has none yet.
  package init<E: Error>(
    _ configuration: ModelConfiguration, provide: (ParameterDeclaration) throws(E) -> Weight,
    provideScale: (_ tensor: String) throws(E) -> Float?
  ) throws(E) {
    let layout = DecoderLayout(configuration)
    let kinds = LinearKind.allCases.count
    var parameters: [Parameter] = []
    var linears = [Int?](repeating: nil, count: configuration.layers * kinds)
    for declaration in layout.declarations {
      if case .linear(let kind) = declaration.role, let layer = declaration.layer {
        linears[layer * kinds + kind.rawValue] = parameters.count
      }
      parameters.append(
        Parameter(name: declaration.name, role: declaration.role, weight: try provide(declaration), index: parameters.count))
    }
    let names = ParameterNames(configuration)
    var scales = [KeyValueScales](repeating: KeyValueScales(), count: configuration.layers)
    if configuration.quantizesKeyValues {
      for layer in 0..<configuration.keyValueLayers {
        scales[layer] = KeyValueScales(key: try provideScale(names.keyScale(layer)), value: try provideScale(names.valueScale(layer)))
      }
    }
    (self.parameters, self.linears, keyValueScales) = (parameters, linears, scales)
    (embeddingIndex, outputIndex, recoveries) = (layout.embedding, layout.output, layout.recoveries)
  }

  /// The number of parameters.
  package var count: Int { parameters.count }

  /// The number of blocks.
  package var layers: Int { keyValueScales.count }

  /// A row for each token, `[V, C]`.
  package var embedding: Parameter { parameters[embeddingIndex] }

  /// The parameter that turns hidden states into logits: the head, or the embedding.
  package var output: Parameter { parameters[outputIndex] }

  /// The linear layer of `kind` of a block, or nil where it has none.
  package func linear(_ kind: LinearKind, _ layer: Int) -> Parameter? {
    linears[layer * LinearKind.allCases.count + kind.rawValue].map { parameters[$0] }
  }

  /// The parameters that checkpoints of the family have: all but those of a recovery.
  package var published: ArraySlice<Parameter> { parameters.dropLast(2 * recoveries.count) }

  /// `A: [R, in]` and `B: [out, R]` of what is added to the weight at an index; nil where nothing is.
  package func recovery(of index: Int) -> (a: Weight, b: Weight)? {
    recoveries[index].map { (parameters[$0].weight, parameters[$0 + 1].weight) }
  }

  /// Calls `body` with every parameter for writing, in the order of ``Parameter/index``.
  package mutating func updateEach<E: Error>(_ body: (inout Parameter) throws(E) -> Void) throws(E) {
    for i in parameters.indices { try body(&parameters[i]) }
  }

  /// Calls `body` with one parameter for writing.
  package mutating func update<E: Error>(_ index: Int, _ body: (inout Parameter) throws(E) -> Void) throws(E) {
    try body(&parameters[index])
  }

  /// True when some weights lie on a grid.
  package var isPacked: Bool { parameters.contains(where: \.weight.isPacked) }

  /// Bytes of all weights.
  package var byteCount: Int { parameters.reduce(0) { $0 + $1.weight.byteCount } }

  /// The number of elements of all weights, without those of a recovery.
  package var elementCount: Int { published.reduce(0) { $0 + $1.weight.count } }
}

extension DecoderWeights {
  /// The parameters and the scale tensors that a model of this configuration has, without any weights.
  package static func declarations(of configuration: ModelConfiguration) -> (parameters: [ParameterDeclaration], scales: [String]) {
    let names = ParameterNames(configuration)
    let scales =
      configuration.quantizesKeyValues ? (0..<configuration.keyValueLayers).flatMap { [names.keyScale($0), names.valueScale($0)] } : []
    return (DecoderLayout(configuration).declarations, scales)
  }
}
