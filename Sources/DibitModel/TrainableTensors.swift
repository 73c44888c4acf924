package import BasicContainers
package import DibitKernels
package import DibitQuantization
package import DibitTensor

/// A tensor that an optimiser moves.
package struct Trainable: Equatable, Sendable {
  /// The role of a trained tensor.
  package enum Role: Hashable, Sendable {
    /// `A: [R, in]` of an adapter's entry.
    case adapterA(entry: Int)
    /// `B: [out, R]` of an adapter's entry.
    case adapterB(entry: Int)
    /// The magnitudes `[1, out]` of an adapter's entry.
    case magnitude(entry: Int)
    /// A parameter of the decoder, by ``Parameter/index``.
    case weight(index: Int, ParameterRole)
    /// The logarithms `[rows, groups]` of the scales that a parameter is rounded with.
    case logScale(index: Int, ParameterRole)
  }

  /// A name of its own, such as `model.layers.3.self_attn.q_proj.lora_A`.
  package let name: String
  /// The role of the tensor.
  package let role: Role
  /// As of the tensor.
  package let rows: Int
  /// As of the tensor.
  package let columns: Int

  /// True when weight decay applies: for matrices, not for norms, biases and magnitudes.
  package var decays: Bool {
    switch role {
    case .adapterA, .adapterB: true
    case .magnitude, .logScale: false
    case .weight(_, let role): role.isMatrix
    }
  }
}

/// The grids that passes run trained weights on, and what an optimiser moves of those weights.
package struct TrainedRounding: Equatable, Sendable {
  /// The origin of the codes of a rounded weight.
  package enum Codes: String, Sendable {
    /// Floats, which move.
    case floats
    /// Those that the weight has, which stay: only scales move. Embedding and head stay as a whole.
    case fixed
  }

  /// The formats in which passes run the weights.
  package var scheme: QuantizationScheme
  /// The origin of the codes.
  package var codes: Codes
  /// True when scales move; otherwise they are fitted anew after each step.
  package var movesScales: Bool

  /// Moves the floats that are rounded, by default with scales that follow them.
  package init(_ scheme: QuantizationScheme, codes: Codes = .floats, movesScales: Bool = false) {
    (self.scheme, self.codes, self.movesScales) = (scheme, codes, movesScales || codes == .fixed)
  }

  /// Returns whether a parameter is trained in any way.
  package func trains(_ parameter: Parameter) -> Bool { codes != .fixed || !parameter.role.isTable }
}

/// All that is trained in a run, in a fixed order: what walks gradients, moments, averages and checkpoints walks this list.
package struct TrainableList: Equatable, Sendable {
  /// The tensors.
  package let entries: [Trainable]
  private let adapted: Int
  /// True when parameters are trained.
  package let includesWeights: Bool
  private let weights: [Int: Int]  // parameter to entry
  private let logScales: [Int: Int]  // parameter to entry

  /// The matrices of an adapter, where there is one, and with `includesWeights` every parameter, or those that `isTrained` says: where one is
  /// rounded, in the form that `rounding` says.
  package init(
    _ weights: DecoderWeights, adapter: AdapterLayout?, includesWeights: Bool, rounding: TrainedRounding? = nil,
    where isTrained: (Parameter) -> Bool = { _ in true }
  ) {
    var entries: [Trainable] = []
    let modules = adapter?.modules ?? []
    for (entry, module) in modules.enumerated() {
      let (shape, rank) = (adapter?.shapes[entry] ?? (rows: 0, columns: 0), adapter?.configuration.rank ?? 0)
      entries.append(Trainable(name: module + ".lora_A", role: .adapterA(entry: entry), rows: rank, columns: shape.columns))
      entries.append(Trainable(name: module + ".lora_B", role: .adapterB(entry: entry), rows: shape.rows, columns: rank))
    }
    if let adapter, adapter.configuration.decomposesWeights {
      for (entry, module) in modules.enumerated() {
        entries.append(
          Trainable(name: module + ".magnitude", role: .magnitude(entry: entry), rows: 1, columns: adapter.shapes[entry].rows))
      }
    }
    adapted = modules.count
    self.includesWeights = includesWeights
    var (indices, logScales): ([Int: Int], [Int: Int]) = ([:], [:])
    if includesWeights {
      func add(_ parameter: Parameter, _ role: Trainable.Role, columns: Int, suffix: String = "") {
        // The parts of a fused tensor share its name.
        let name = "\(parameter.index).\(parameter.name.tensor)\(suffix)"
        entries.append(Trainable(name: name, role: role, rows: parameter.weight.rows, columns: columns))
      }
      let parameters = weights.parameters.filter { isTrained($0) && rounding?.trains($0) != false }
      for parameter in parameters {
        let isRounded = rounding?.scheme.format(of: parameter.name, parameter.role).grid != nil
        guard !isRounded || rounding?.codes != .fixed else { continue }
        indices[parameter.index] = entries.count
        add(parameter, .weight(index: parameter.index, parameter.role), columns: parameter.weight.columns)
      }
      if let rounding, rounding.movesScales {
        for parameter in parameters {
          guard let grid = rounding.scheme.format(of: parameter.name, parameter.role).grid else { continue }
          logScales[parameter.index] = entries.count
          add(
            parameter, .logScale(index: parameter.index, parameter.role), columns: grid.groups(columns: parameter.weight.columns),
            suffix: ".log_scale")
        }
      }
    }
    self.weights = indices
    self.logScales = logScales
    self.entries = entries
  }

  /// The number of trained numbers.
  package var elementCount: Int { entries.reduce(0) { $0 + $1.rows * $1.columns } }

  /// The index of the gradient of a parameter as passes run it; nil where it does not move.
  package func weight(_ index: Int) -> Int? { weights[index] }

  /// The index of the logarithms of a parameter's scales; nil where they are not trained.
  package func logScale(_ index: Int) -> Int? { logScales[index] }

  /// The index of an adapter entry's `A`.
  package func a(_ entry: Int) -> Int { 2 * entry }

  /// The index of an adapter entry's `B`.
  package func b(_ entry: Int) -> Int { 2 * entry + 1 }

  /// The index of an adapter entry's magnitudes.
  package func magnitude(_ entry: Int) -> Int { 2 * adapted + entry }
}

/// A matrix for each tensor that is trained: gradients, an optimiser's moments, or copies of the values.
@safe
package struct TrainableTensors: ~Copyable, Sendable {
  /// The list of what is trained.
  package let list: TrainableList
  /// In the order of the list.
  package var values: UniqueArray<Matrix>

  /// A matrix without elements, to stand in for one of ``values`` while it is written beside another one.
  package var spare = Matrix(rows: 0, columns: 0)

  /// True when the tensors have elements.
  package let areAllocated: Bool

  /// Zeros for each tensor of `list`, or where they are not needed no elements.
  package init(_ list: TrainableList, if areNeeded: Bool = true) {
    self.list = list
    areAllocated = areNeeded
    values = UniqueArray(minimumCapacity: list.entries.count)
    for entry in list.entries { values.append(Matrix(rows: areNeeded ? entry.rows : 0, columns: entry.columns)) }
  }

  /// Sets every number to zero.
  package mutating func clear() { for i in 0..<values.count { values[i].fill(0) } }

  /// Adds the gradient of a parameter behind `y = x Wᵀ` where it is trained, `dW = dyᵀ x`, or that of its scales where they alone are.
  ///
  /// - Parameters:
  ///   - pairs: Memory for `x` in BF16.
  ///   - index: The parameter.
  mutating func addProduct(
    _ dy: borrowing Matrix, _ x: borrowing Matrix, pairs: inout BFloatPairs, of weight: Weight, _ index: Int, on compute: Compute
  ) {
    guard let entry = list.weight(index) ?? list.logScale(index) else { return }
    let usesBFloat = Linear.usesBFloat(weight, on: compute)
    if usesBFloat { pairs.round(x, factor: 1, on: compute) }
    switch (list.weight(index) != nil, usesBFloat) {
    case (true, true): Linear.backwardWeight(dy, pairs, dWeight: &values[entry], on: compute)
    case (true, false): Linear.backwardWeight(dy, x, dWeight: &values[entry], on: compute)
    case (false, true): GridRounding.backwardScales(of: weight, dy: dy, x: pairs, dLogScales: &values[entry], on: compute)
    case (false, false): GridRounding.backwardScales(of: weight, dy: dy, x: x, dLogScales: &values[entry], on: compute)
    }
  }

  /// The Euclidean norm over all numbers.
  package func norm(on compute: Compute) -> Float {
    var sum = 0.0
    for i in 0..<values.count { sum += values[i].sumOfSquares(on: compute) }
    return Float(sum.squareRoot())
  }
}
