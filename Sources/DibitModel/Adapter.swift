package import BasicContainers
package import DibitKernels
package import DibitTensor

/// A low-rank adapter's shape and the layers it applies to.
package struct AdapterConfiguration: Equatable, Sendable {
  /// Rows of `A` and columns of `B`.
  package var rank = 32
  /// The update is scaled by `alpha / rank`.
  package var alpha: Float = 16
  /// The kinds of linear layers that are adapted. A fused layer counts when it, or each of its parts, is here.
  package var targets = LinearKind.allCases
  /// The only modules of those kinds that are adapted; nil for all.
  package var modules: Set<String>?
  /// True when the update is scaled by `alpha / √rank` instead (Kalajdzievski, "rsLoRA", 2023).
  package var stabilizesRank = false

  /// True when each output of an adapted layer has a trained magnitude: see ``DoRA``.
  package var decomposesWeights = false

  /// The share of the inputs of `A` that a training step leaves out; the others are scaled up in their place.
  package var dropout: Float = 0

  /// Rank 32, alpha 16, every linear layer.
  package init() {}

  /// The factor of the update.
  package var scale: Float { rank == 0 ? 0 : alpha / (stabilizesRank ? Float(rank).squareRoot() : Float(rank)) }

  /// Returns whether the linear layer `kind` called `module` is adapted.
  func adapts(_ kind: LinearKind, _ module: String) -> Bool {
    guard rank > 0, modules?.contains(module) ?? true else { return false }
    let parts: [LinearKind] =
      switch kind {
      case .queryKeyValue: [.query, .key, .value]
      case .gateUp: [.gate, .up]
      default: [kind]
      }
    return targets.contains(kind) || parts.allSatisfy { targets.contains($0) }
  }
}

/// The linear layers that an adapter applies to, without any numbers.
package struct AdapterLayout: Equatable, Sendable {
  /// Rank, scale and targets.
  package let configuration: AdapterConfiguration
  /// The module that each entry adapts: `model.layers.3.self_attn.q_proj`.
  package let modules: [String]
  /// The order of the rows of each entry's `B` in a PEFT file.
  package let layouts: [ParameterLayout]
  /// Outputs and inputs of each entry's layer.
  let shapes: [(rows: Int, columns: Int)]
  /// The entry of layer `l`, kind `k` at `l * kinds + k`; nil where nothing is adapted.
  let entries: [Int?]

  /// An entry for each target layer of `weights`.
  package init(_ configuration: AdapterConfiguration, for weights: DecoderWeights) {
    self.configuration = configuration
    var (entries, modules, layouts): ([Int?], [String], [ParameterLayout]) = ([], [], [])
    var shapes: [(rows: Int, columns: Int)] = []
    for layer in 0..<weights.layers {
      for kind in LinearKind.allCases {
        guard let parameter = weights.linear(kind, layer), configuration.adapts(kind, parameter.name.module) else {
          entries.append(nil)
          continue
        }
        entries.append(modules.count)
        modules.append(parameter.name.module)
        layouts.append(parameter.name.layout.ofAdapterB)
        shapes.append((rows: parameter.weight.rows, columns: parameter.weight.columns))
      }
    }
    (self.entries, self.modules, self.layouts, self.shapes) = (entries, modules, layouts, shapes)
  }

  /// `b: [out, R]`, an entry's `B` or its gradient, with its rows in the order of a PEFT file.
  package func checkpointB(_ entry: Int, _ b: borrowing Matrix) -> [Float] {
    layouts[entry].toCheckpoint(b.values, rows: b.rows, columns: b.columns)
  }

  /// Returns whether both adapt the same layers in the same way.
  package static func == (left: AdapterLayout, right: AdapterLayout) -> Bool {
    left.configuration == right.configuration && left.modules == right.modules && left.layouts == right.layouts
      && left.entries == right.entries && left.shapes.elementsEqual(right.shapes) { $0 == $1 }
  }
}

/// The matrices `A: [R, in]` and `B: [out, R]` of every adapted linear layer.
@safe
package struct Adapter: ~Copyable, Sendable {
  /// The layers that it applies to.
  package let layout: AdapterLayout
  /// `A` of each entry, `[R, in]`.
  package var a: UniqueArray<Matrix>
  /// `B` of each entry, `[out, R]`.
  package var b: UniqueArray<Matrix>
  /// The magnitudes of each entry's outputs, `[1, out]`; none unless the adapter decomposes weights.
  package var magnitudes: UniqueArray<Matrix>
  /// The factors of outputs, `[1, out]`; they follow from all others by ``updateGains(of:on:)``.
  private(set) var gains: UniqueArray<Matrix>

  /// Zeroed matrices for each target layer of `weights`.
  package init(_ configuration: AdapterConfiguration, for weights: DecoderWeights) {
    layout = AdapterLayout(configuration, for: weights)
    a = UniqueArray()
    b = UniqueArray()
    magnitudes = UniqueArray()
    gains = UniqueArray()
    for shape in layout.shapes {
      a.append(Matrix(rows: configuration.rank, columns: shape.columns))
      b.append(Matrix(rows: shape.rows, columns: configuration.rank))
      guard configuration.decomposesWeights else { continue }
      magnitudes.append(Matrix(rows: 1, columns: shape.rows))
      gains.append(Matrix(rows: 1, columns: shape.rows))
    }
  }

  /// Rank, scale and targets.
  package var configuration: AdapterConfiguration { layout.configuration }

  /// The module that each entry adapts: `model.layers.3.self_attn.q_proj`.
  package var modules: [String] { layout.modules }

  /// The order of the rows of each entry's `B` in a PEFT file.
  package var layouts: [ParameterLayout] { layout.layouts }

  /// An adapter that changes nothing and costs nothing.
  package static func none(for weights: DecoderWeights) -> Adapter {
    var configuration = AdapterConfiguration()
    configuration.rank = 0
    return Adapter(configuration, for: weights)
  }

  /// The number of adapted layers.
  package var count: Int { modules.count }

  /// The entry of a layer's linear, or nil where it is not adapted.
  package func entry(_ layer: Int, _ kind: LinearKind) -> Int? { layout.entries[layer * LinearKind.allCases.count + kind.rawValue] }

  /// `B` of an entry with its rows in the order of a PEFT file.
  package func checkpointB(_ entry: Int) -> [Float] { layout.checkpointB(entry, b[entry]) }

  /// The elements of `A: [R, in]` and of `s B: [out, R]` of an entry, whose product is what it adds to its weight.
  package func factors(_ entry: Int) -> (a: [Float], b: [Float]) {
    (a[entry].values, b[entry].values.map { $0 * configuration.scale })
  }

  /// The number of trained numbers.
  package var elementCount: Int {
    var total = 0
    for i in 0..<count { total += a[i].count + b[i].count }
    for i in 0..<magnitudes.count { total += magnitudes[i].count }
    return total
  }

  /// Brings the gains up to date with weights, `A`, `B` and magnitudes: after whatever changed one of them. Nothing without magnitudes.
  package mutating func updateGains(of weights: DecoderWeights, on compute: Compute) {
    let scale = configuration.scale
    for index in layout.entries.indices {
      guard let (entry, parameter) = decomposed(index, weights) else { continue }
      let recovery = recovery(of: parameter, weights, on: compute)
      Self.updateGain(entry, parameter.weight, recovery, a, b, scale, magnitudes, &gains, compute)
    }
  }

  /// Sets the magnitudes to the norms of the adapted weights, so that the gains are one. Nothing without magnitudes.
  package mutating func initializeMagnitudes(of weights: DecoderWeights, on compute: Compute) {
    let scale = configuration.scale
    for index in layout.entries.indices {
      guard let (entry, parameter) = decomposed(index, weights) else { continue }
      let recovery = recovery(of: parameter, weights, on: compute)
      Self.updateNorms(entry, parameter.weight, recovery, a, b, scale, &magnitudes, compute)
      gains[entry].fill(1)
    }
  }

  // The owners come apart here: an element of one field would lock the whole struct.

  private static func updateGain(
    _ entry: Int, _ weight: Weight, _ recovery: (a: Weight, b: Weight)?, _ a: borrowing UniqueArray<Matrix>,
    _ b: borrowing UniqueArray<Matrix>, _ scale: Float, _ magnitudes: borrowing UniqueArray<Matrix>, _ gains: inout UniqueArray<Matrix>,
    _ compute: Compute
  ) {
    guard let recovery else {
      return DoRA.gain(weight, a: a[entry], b: b[entry], scale: scale, magnitude: magnitudes[entry], into: &gains[entry], on: compute)
    }
    let allA = LowRankUpdate.stacked(a[entry], recovery.a)
    let allB = LowRankUpdate.beside(b[entry], scale: scale, recovery.b)
    DoRA.gain(weight, a: allA, b: allB, scale: 1, magnitude: magnitudes[entry], into: &gains[entry], on: compute)
  }

  private static func updateNorms(
    _ entry: Int, _ weight: Weight, _ recovery: (a: Weight, b: Weight)?, _ a: borrowing UniqueArray<Matrix>,
    _ b: borrowing UniqueArray<Matrix>, _ scale: Float, _ norms: inout UniqueArray<Matrix>, _ compute: Compute
  ) {
    guard let recovery else {
      return DoRA.norms(weight, a: a[entry], b: b[entry], scale: scale, into: &norms[entry], on: compute)
    }
    let allA = LowRankUpdate.stacked(a[entry], recovery.a)
    let allB = LowRankUpdate.beside(b[entry], scale: scale, recovery.b)
    DoRA.norms(weight, a: allA, b: allB, scale: 1, into: &norms[entry], on: compute)
  }

  /// The F32 factors of what a recovery adds to a packed weight.
  private func recovery(of parameter: Parameter, _ weights: DecoderWeights, on compute: Compute) -> (a: Weight, b: Weight)? {
    weights.recovery(of: parameter.index).map { ($0.a.floats(on: compute), $0.b.floats(on: compute)) }
  }

  /// The entry at an index of the layout's entries and its layer's weight, where it has magnitudes.
  private func decomposed(_ index: Int, _ weights: DecoderWeights) -> (entry: Int, parameter: Parameter)? {
    let kinds = LinearKind.allCases.count
    guard configuration.decomposesWeights, let entry = layout.entries[index],
      let parameter = weights.linear(LinearKind.allCases[index % kinds], index / kinds)
    else { return nil }
    return (entry, parameter)
  }

  /// The magnitudes of an entry in the order of a PEFT file.
  package func checkpointMagnitudes(_ entry: Int) -> [Float] {
    layouts[entry].toCheckpoint(magnitudes[entry].values, rows: magnitudes[entry].columns, columns: 1)
  }

  /// The usual start: A uniform in ±1/√in, B zero, so that the first step begins at the base model.
  package mutating func initialize(using rng: inout SplitMix64) {
    for i in 0..<count {
      let bound = 1 / Float(a[i].columns).squareRoot()
      for row in 0..<a[i].rows { for column in 0..<a[i].columns { a[i][row, column] = rng.uniform(bound: bound) } }
      b[i].fill(0)
    }
  }

  /// Copies the trained numbers of an adapter of the same modules and rank.
  package mutating func copyParameters(_ other: borrowing Adapter) {
    require(
      modules == other.modules && magnitudes.count == other.magnitudes.count, "Adapter.copyParameters: \(other.modules) into \(modules)")
    for i in 0..<count {
      a[i].copy(other.a[i])
      b[i].copy(other.b[i])
    }
    for i in 0..<magnitudes.count { magnitudes[i].copy(other.magnitudes[i]) }
  }
}

extension Adapter {
  /// Makes rows of a layer's weights those of the adapted layer, `g ⊙ (W + s B A)`; `weights: [rows, in]`, all of `rows` of the entry.
  package func merge(_ entry: Int, _ rows: Range<Int>, into weights: inout Matrix, on compute: Compute) {
    require(
      weights.rows == rows.count && weights.columns == a[entry].columns && rows.upperBound <= b[entry].rows,
      "Adapter.merge: rows \(rows) of B \(b[entry].shape), A \(a[entry].shape), W \(weights.shape)")
    var part = Matrix(rows: rows.count, columns: configuration.rank)
    for row in rows { part.copyRow(row, of: b[entry], to: row - rows.lowerBound) }
    Gemm.nn(part, a[entry], scale: configuration.scale, into: &weights, on: compute)
    guard configuration.decomposesWeights else { return }
    for row in rows {
      let gain = gains[entry][0, row]
      for column in 0..<weights.columns { weights[row - rows.lowerBound, column] *= gain }
    }
  }
}
