package import BasicContainers
package import DibitKernels
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
    case .magnitude: false
    case .weight(_, let role): role.isMatrix
    }
  }
}

/// All that is trained in a run, in a fixed order: what walks gradients, moments, averages and checkpoints walks this list.
package struct TrainableList: Equatable, Sendable {
  /// The tensors.
  package let entries: [Trainable]
  private let adapted: Int
  private let firstWeight: Int?

  /// The matrices of an adapter, where there is one, and with `includesWeights` every parameter.
  package init(_ weights: DecoderWeights, adapter: AdapterLayout?, includesWeights: Bool) {
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
    firstWeight = includesWeights ? entries.count : nil
    if includesWeights {
      for parameter in weights.parameters {
        // The parts of a fused tensor share its name.
        entries.append(
          Trainable(
            name: "\(parameter.index).\(parameter.name.tensor)", role: .weight(index: parameter.index, parameter.role),
            rows: parameter.weight.rows, columns: parameter.weight.columns))
      }
    }
    self.entries = entries
  }

  /// The number of trained numbers.
  package var elementCount: Int { entries.reduce(0) { $0 + $1.rows * $1.columns } }

  /// True when all parameters are trained.
  package var includesWeights: Bool { firstWeight != nil }

  /// The index of a parameter; nil where parameters are frozen.
  package func weight(_ index: Int) -> Int? { firstWeight.map { $0 + index } }

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

  /// The Euclidean norm over all numbers.
  package func norm(on compute: Compute) -> Float {
    var sum = 0.0
    for i in 0..<values.count { sum += values[i].sumOfSquares(on: compute) }
    return Float(sum.squareRoot())
  }
}
