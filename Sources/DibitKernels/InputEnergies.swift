internal import CDibitKernels
package import DibitTensor

/// The sums of squares of a linear layer's inputs over passes.
package struct InputEnergies: ~Copyable, Sendable {
  /// `Σ x²` of each input, `[1, n]`, with rows that are far longer than most cut down to a bound.
  package private(set) var sums: Matrix

  /// The multiple of the median length of a row's square from which a row is cut down: one token of a text can carry more energy than all
  /// others together.
  private static let bound = 100.0

  /// No rows of `columns` inputs yet.
  package init(columns: Int) { sums = Matrix(rows: 1, columns: columns) }

  /// Adds to each input `share` times the mean of all.
  mutating func addEvenly(_ share: Float) {
    let mean = (0..<sums.columns).reduce(Float(0)) { $0 + sums[0, $1] } / Float(max(sums.columns, 1))
    for input in 0..<sums.columns { sums[0, input] += share * mean }
  }

  /// Adds the rows of `x: [n, columns]`.
  package mutating func add(_ x: borrowing Matrix, on compute: Compute) {
    let columns = x.columns
    guard x.rows > 0 else { return }
    // SAFETY: indices lie in `x` and in a row of sums.
    let (values, sums) = unsafe (x.pointer, self.sums.mutablePointer)
    var squares = [Double](repeating: 0, count: x.rows)
    unsafe squares.withUnsafeMutableBufferPointer { squares in
      guard let squares = squares.baseAddress else { return }
      compute.forEachRange(x.rows, step: 64) { part, _ in
        for row in part { unsafe squares[row] = compute.kernels.sum_of_squares(values + row * columns, columns) }
      }
    }
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
