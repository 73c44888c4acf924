/// A parameter that a configuration asks for.
package struct ParameterDeclaration: Equatable, Sendable {
  /// Its location in a checkpoint.
  package let name: ParameterName
  /// Its role in the decoder.
  package let role: ParameterRole
  /// The block that it belongs to; nil outside of blocks.
  package let layer: Int?
  /// Outputs; 1 for norms and biases.
  package let rows: Int
  /// Inputs of an output.
  package let columns: Int

  /// True when weight decay and rounding apply: for matrices, not for norms and biases.
  package var isMatrix: Bool { role.isMatrix }
}

/// Collects the parameters of a decoder, in the order in which they are listed everywhere.
struct ParameterList {
  private(set) var declarations: [ParameterDeclaration] = []
  private let configuration: ModelConfiguration
  private let names: ParameterNames

  init(_ configuration: ModelConfiguration) {
    self.configuration = configuration
    names = ParameterNames(configuration)
  }

  /// Adds a parameter; returns its index.
  mutating func add(_ role: ParameterRole, layer: Int? = nil, rows: Int = 1, columns: Int) -> Int {
    declarations.append(
      ParameterDeclaration(name: names.name(of: role, layer: layer ?? 0), role: role, layer: layer, rows: rows, columns: columns))
    return declarations.count - 1
  }

  /// Adds a norm of `columns` channels with the bias that its kind has; nil unless `exists`.
  mutating func norm(_ kind: NormKind, layer: Int, columns: Int, if exists: Bool) -> NormLayer? {
    exists ? norm(kind, layer: layer, columns: columns) : nil
  }

  /// Adds a norm of `columns` channels with the bias that its kind has.
  mutating func norm(_ kind: NormKind, layer: Int? = nil, columns: Int) -> NormLayer {
    let isOfHeads = kind == .query || kind == .key
    return NormLayer(
      kind: configuration.norm, epsilon: isOfHeads ? configuration.headNormEpsilon : configuration.normEpsilon,
      weight: add(.norm(kind), layer: layer, columns: columns),
      bias: configuration.norm == .layer ? add(.normBias(kind), layer: layer, columns: columns) : nil)
  }

  /// Adds a linear layer with the bias that its kind has.
  mutating func linear(_ kind: LinearKind, layer: Int, rows: Int, columns: Int) -> LinearLayer {
    LinearLayer(
      kind: kind, layer: layer, weight: add(.linear(kind), layer: layer, rows: rows, columns: columns),
      bias: configuration.hasBias(kind) ? add(.linearBias(kind), layer: layer, columns: rows) : nil, rows: rows, columns: columns)
  }
}

/// The parameters of a decoder and the parts that compute with them: all that follows from a configuration without any weights.
package struct DecoderLayout: Sendable {
  /// Every parameter, in the order of ``Parameter/index``.
  package let declarations: [ParameterDeclaration]
  /// The first one first.
  let blocks: [Block]
  /// The index of the embedding table.
  let embedding: Int
  /// The index of the table of learned positions.
  let positions: Int?
  /// Before the output head.
  let finalNorm: NormLayer
  /// The index of what turns hidden states into logits: the embedding table where the head is tied to it.
  let output: Int
  /// The index of `A` of each linear layer's recovery, by that of its weight; that of `B` is the next one. Empty where there is none.
  let recoveries: [Int: Int]

  /// The layout that `configuration` asks for.
  package init(_ configuration: ModelConfiguration) {
    let c = configuration
    var list = ParameterList(c)
    embedding = list.add(.embedding, rows: c.vocabularySize, columns: c.hiddenSize)
    positions = c.learnsPositions ? list.add(.positions, rows: c.contextLength, columns: c.hiddenSize) : nil
    blocks = (0..<c.layers).map { Block(c, layer: $0, &list) }
    finalNorm = list.norm(.final, columns: c.hiddenSize)
    output = c.tiesEmbeddings ? embedding : list.add(.head, rows: c.vocabularySize, columns: c.hiddenSize)
    // Behind all others, which keep their places so.
    var recoveries: [Int: Int] = [:]
    if c.recoveryRank > 0 {
      for linear in blocks.flatMap(\.linears) {
        recoveries[linear.weight] = list.add(
          .recovery(linear.kind, .a), layer: linear.layer, rows: c.recoveryRank, columns: linear.columns)
        _ = list.add(.recovery(linear.kind, .b), layer: linear.layer, rows: linear.rows, columns: c.recoveryRank)
      }
    }
    self.recoveries = recoveries
    declarations = list.declarations
  }
}
