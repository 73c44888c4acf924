package import BasicContainers
package import DibitKernels
package import DibitTensor

/// What a backward pass accumulates into: the adapter's gradients, and every weight's when all weights are trained.
@safe
package struct Gradients: ~Copyable, Sendable {
  /// One matrix for each parameter, by ``Parameter/index``; empty when the weights are frozen.
  package var weights: UniqueArray<Matrix>
  /// The adapter's gradients, in its own shape.
  package var adapter: Adapter

  /// Gradients for an adapter of this shape; with `includesWeights`, for all weights too.
  package init(_ decoder: DecoderWeights, adapter configuration: AdapterConfiguration?, includesWeights: Bool) {
    adapter = configuration.map { Adapter($0, for: decoder) } ?? .none(for: decoder)
    weights = UniqueArray()
    guard includesWeights else { return }
    for parameter in decoder.parameters { weights.append(Matrix(rows: parameter.weight.rows, columns: parameter.weight.columns)) }
  }

  /// Whether all weights are trained.
  package var includesWeights: Bool { !weights.isEmpty }

  /// Sets every gradient to zero.
  package mutating func clear() {
    adapter.clear()
    for i in 0..<weights.count { weights[i].fill(0) }
  }

  /// The Euclidean norm over all gradients.
  package func norm(on compute: Compute) -> Float {
    var sum = 0.0
    for i in 0..<adapter.count { sum += adapter.a[i].sumOfSquares(on: compute) + adapter.b[i].sumOfSquares(on: compute) }
    for i in 0..<adapter.magnitudes.count { sum += adapter.magnitudes[i].sumOfSquares(on: compute) }
    for i in 0..<weights.count { sum += weights[i].sumOfSquares(on: compute) }
    return Float(sum.squareRoot())
  }
}
