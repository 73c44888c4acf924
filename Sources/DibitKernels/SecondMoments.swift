internal import CDibitKernels
package import DibitTensor

/// The second moments of a linear layer's inputs, summed over passes.
package struct SecondMoments: ~Copyable, Sendable {
  /// `Σ x xᵀ`, `[n, n]`.
  package private(set) var products: Matrix
  /// `Σ x²` of each input, `[1, n]`, with rows that are far longer than most cut down to a bound.
  package private(set) var energies: Matrix
  /// `Σ x'ᵀ x` for what the inputs `x'` of a reference were, `[n, n]`.
  package private(set) var cross: Matrix
  /// The number of rows.
  package private(set) var rows = 0

  /// The multiple of the median length of a row's square from which a row is cut down: one token of a text can carry more energy than all
  /// others together.
  private static let bound = 100.0

  /// No rows of `columns` inputs yet.
  package init(columns: Int) {
    products = Matrix(rows: columns, columns: columns)
    cross = Matrix(rows: columns, columns: columns)
    energies = Matrix(rows: 1, columns: columns)
  }

  /// Adds the rows of `x: [n, columns]`, beside those that a reference had for them.
  package mutating func add(_ x: borrowing Matrix, reference: borrowing Matrix, on compute: Compute) {
    Gemm.tn(reference, x, into: &cross, on: compute)
    add(x, on: compute)
  }

  /// Adds the rows of `x: [n, columns]`.
  package mutating func add(_ x: borrowing Matrix, on compute: Compute) {
    Gemm.tn(x, x, into: &products, on: compute)
    rows += x.rows
    let columns = x.columns
    guard x.rows > 0 else { return }
    // SAFETY: indices lie in `x` and in a row of sums.
    let (values, sums) = unsafe (x.pointer, energies.mutablePointer)
    let squares = (0..<x.rows).map { unsafe compute.kernels.sum_of_squares(values + $0 * columns, columns) }
    let bound = Self.bound * squares.sorted()[squares.count / 2]
    compute.forEachRange(columns, step: 64) { part, _ in
      for row in squares.indices {
        let share = squares[row] > bound ? Float(bound / squares[row]) : 1
        for column in part {
          let value = unsafe values[row * columns + column]
          unsafe sums[column] += share * value * value
        }
      }
    }
  }
}
