internal import CDibitKernels
package import DibitTensor

/// The second moments of a linear layer's inputs, summed over passes. Where float layers are multiplied in BF16, so are the inputs here: moments of
/// rounded numbers, summed in floats.
package struct SecondMoments: ~Copyable, Sendable {
  /// `Σ x xᵀ`, `[n, n]`.
  package private(set) var products: Matrix
  /// `Σ x²` of each input.
  package private(set) var energies: InputEnergies
  /// `Σ dᵀ x` for what the inputs lack, `d`, beside those of a reference, `[n, n]`. Summed as it is: as the difference of two sums it would be lost
  /// in their rounding. No elements without a reference.
  package private(set) var cross: Matrix
  /// `Σ mᵀ x` for what the layer's outputs are to make up for, `m`, `[outputs, n]`; no rows where that is not summed.
  package private(set) var missing: Matrix
  /// The rows of a pass in BF16; none where floats are multiplied as they are.
  private var pairs = BFloatPairs(capacity: 0, columns: 0)

  /// No rows of `columns` inputs yet, which are compared with those of a reference or not; `outputs` have something to make up for.
  package init(columns: Int, isCompared: Bool = false, outputs: Int = 0) {
    missing = Matrix(rows: outputs, columns: columns)
    products = Matrix(rows: columns, columns: columns)
    cross = Matrix(rows: isCompared ? columns : 0, columns: columns)
    energies = InputEnergies(columns: columns)
  }

  /// Adds the rows of `x: [n, columns]`, and what the outputs of each are to make up for, `[n, outputs]`.
  package mutating func add(_ x: borrowing Matrix, missing lack: borrowing Matrix, on compute: Compute) {
    add(x, on: compute)
    Self.product(lack, x, pairs, into: &missing, on: compute)
  }

  /// Adds the rows of `x: [n, columns]`, and what each lacks beside that of a reference.
  package mutating func add(_ x: borrowing Matrix, lacking: borrowing Matrix, on compute: Compute) {
    add(x, on: compute)
    Self.product(lacking, x, pairs, into: &cross, on: compute)
  }

  /// Adds the rows of `x: [n, columns]`.
  package mutating func add(_ x: borrowing Matrix, on compute: Compute) {
    if compute.floats == .bfloat16 {
      if pairs.capacity < x.rows { pairs = BFloatPairs(capacity: x.rows, columns: x.columns) }
      pairs.round(x, factor: 1, on: compute)
      BFloatProducts.squared(x, pairs, into: &products, on: compute)
    } else {
      Gemm.tn(x, x, into: &products, on: compute)
    }
    energies.add(x, on: compute)
  }

  /// Adds the moments of inputs that come alike and each alone: to each input's own `share` times the mean of them all.
  package mutating func addEvenly(_ share: Float) {
    let mean = (0..<products.rows).reduce(Float(0)) { $0 + products[$1, $1] } / Float(max(products.rows, 1))
    for input in 0..<products.rows { products[input, input] += share * mean }
    energies.addEvenly(share)
  }

  /// `y += aᵀ x`.
  private static func product(
    _ a: borrowing Matrix, _ x: borrowing Matrix, _ pairs: borrowing BFloatPairs, into y: inout Matrix, on compute: Compute
  ) {
    if pairs.rows > 0 { BFloatProducts.tn(a, pairs, into: &y, on: compute) } else { Gemm.tn(a, x, into: &y, on: compute) }
  }
}
