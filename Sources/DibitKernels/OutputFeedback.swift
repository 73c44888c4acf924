package import DibitTensor

/// What errors of a layer's outputs that are rounded already add to those that come.
///
/// With the second moments `A = mean(g gᵀ)` of the gradients by the outputs and `H` of the inputs, what an error `E` of the weights does to predictions is about
/// `tr(E H Eᵀ A)` (K-FAC, Martens and Grosse, 2015): errors of outputs that predictions feel together may make up for each other. In blocks
/// of rows `A = Cᵀ D C`, where `C` has ones on its diagonal and nothing above, and `D` is what lies within blocks. So each block is rounded for what it
/// and `C` make of the errors of those before it, with `D` taken for diagonal (Tseng et al., "Model-Preserving Adaptive Rounding", 2025, with
/// blocks of few rows).
package final class OutputFeedback: Sendable {
  /// Rows of a block.
  static let block = 64

  /// The outputs in the order of rounding, by their number among all of the layer.
  let rows: [Int]
  /// `C: [m, m]` in that order, but for the ones.
  private let factor: Matrix

  /// The feedback between outputs from number `first` on, of which these are second moments `[m, m]` of gradients, of any positive scale. Those that
  /// matter most come first, when most is left to make up for their errors.
  ///
  /// - Parameter damping: The share of the mean moment by which each output's is raised.
  /// - Returns: nil where the moments have no factor, because they are not finite.
  package init?(moments a: borrowing Matrix, from first: Int = 0, damping: Float, on compute: Compute) {
    require(a.rows == a.columns, "OutputFeedback: moments \(a.shape)")
    let m = a.rows
    let own = (0..<m).map { a[$0, $0] }
    guard own.allSatisfy(\.isFinite) else { return nil }
    let order = own.indices.sorted { (own[$0], $1) > (own[$1], $0) }
    let raised = max(damping * own.reduce(0, +) / Float(max(m, 1)), .leastNormalMagnitude)
    // Backwards, because the factor is to be an upper one.
    var lower = Matrix(rows: m, columns: m)
    for row in 0..<m {
      for column in 0...row { lower[row, column] = a[order[m - 1 - row], order[m - 1 - column]] }
      lower[row, row] += raised
    }
    guard Cholesky.factor(&lower, on: compute) else { return nil }
    rows = order.map { first + $0 }
    factor = Self.blocked(lower)
  }

  /// `C` from the factor `L` of the moments backwards. With `G = L` forwards, which is upper, it is `G_KK⁻ᵀ G_JKᵀ` in row `K` and column `J` of the blocks.
  private static func blocked(_ lower: borrowing Matrix) -> Matrix {
    let m = lower.rows
    func upper(_ row: Int, _ column: Int, _ lower: borrowing Matrix) -> Float { lower[m - 1 - row, m - 1 - column] }
    var factor = Matrix(rows: m, columns: m)
    for first in stride(from: 0, to: m, by: block) {
      for row in first..<min(first + block, m) {
        let inverse = 1 / upper(row, row, lower)
        for column in 0..<first {
          var sum = upper(column, row, lower)
          for k in first..<row { sum -= upper(k, row, lower) * factor[k, column] }
          factor[row, column] = sum * inverse
        }
      }
    }
    return factor
  }

  /// What errors of all outputs before a block, in the order of rounding, add to its own: `[rows of part, part.lowerBound]`.
  func rows(_ part: Range<Int>) -> Matrix {
    var rows = Matrix(rows: part.count, columns: part.lowerBound)
    for row in part { for column in 0..<part.lowerBound { rows[row - part.lowerBound, column] = factor[row, column] } }
    return rows
  }
}
