package import DibitTensor

/// The way in which predictions feel errors of a layer's outputs together.
///
/// With the second moments `A = mean(g gᵀ)` of the gradients by the outputs and `H` of the inputs, what an error `E` of the weights does to predictions is about
/// `tr(E H Eᵀ A)` (K-FAC, Martens and Grosse, 2015), so that errors of outputs may make up for each other (Tseng et al., "Model-Preserving
/// Adaptive Rounding", 2025). With the errors of all other rows as they are, a block `K` of rows adds least where `W_K - Σ A_KK⁻¹ A_KJ E_J` over
/// the blocks `J` beside it is rounded, by `H` and `A_KK`. The latter is taken for diagonal, so that the rows of a block are rounded each by itself.
package final class OutputFeedback: Sendable {
  /// Rows of a block.
  static let block = 64

  /// The outputs in the order of rounding, by their number among all of the layer.
  let rows: [Int]
  /// `A_KK⁻¹ A_KJ` in that order, `[m, m]`: zeros within blocks.
  private let shares: Matrix

  /// The feedback between outputs from number `first` on, of which these are second moments `[m, m]` of gradients, of any positive scale. Those that
  /// matter most come first, when most is left to make up for their errors.
  ///
  /// - Parameter damping: The share of the mean moment by which each output's is raised.
  /// - Returns: nil where the moments are not finite, or not those of anything.
  package init?(moments a: borrowing Matrix, from first: Int = 0, damping: Float, on compute: Compute) {
    require(a.rows == a.columns, "OutputFeedback: moments \(a.shape)")
    let m = a.rows
    let own = (0..<m).map { a[$0, $0] }
    guard own.allSatisfy(\.isFinite) else { return nil }
    let order = own.indices.sorted { (own[$0], $1) > (own[$1], $0) }
    let raised = max(damping * own.reduce(0, +) / Float(max(m, 1)), .leastNormalMagnitude)
    var shares = Matrix(rows: m, columns: m)
    for block in Self.blocks(m) {
      var within = Matrix(rows: block.count, columns: block.count)
      var beside = Matrix(rows: block.count, columns: m)
      for row in 0..<block.count {
        let output = order[block.lowerBound + row]
        for column in 0..<m where !block.contains(column) { beside[row, column] = a[output, order[column]] }
        for column in 0..<block.count { within[row, column] = a[output, order[block.lowerBound + column]] }
        within[row, row] += raised
      }
      guard let inverse = Self.inverse(within, on: compute) else { return nil }
      var product = Matrix(rows: block.count, columns: m)
      Gemm.nn(inverse, beside, into: &product, on: compute)
      for row in 0..<block.count { shares.copyRow(row, of: product, to: block.lowerBound + row) }
    }
    rows = order.map { first + $0 }
    self.shares = shares
  }

  /// The inverse of a positive definite matrix by its Cholesky factor; nil for another.
  private static func inverse(_ matrix: borrowing Matrix, on compute: Compute) -> Matrix? {
    let n = matrix.rows
    var factor = matrix.copied()
    guard Cholesky.factor(&factor, on: compute) else { return nil }
    var lower = Matrix(rows: n, columns: n)
    for column in 0..<n {
      for row in column..<n {
        var sum: Float = row == column ? 1 : 0
        for k in column..<row { sum -= factor[row, k] * lower[k, column] }
        lower[row, column] = sum / factor[row, row]
      }
    }
    var inverse = Matrix(rows: n, columns: n)
    Gemm.tn(lower, lower, into: &inverse, on: compute)
    return inverse
  }

  private static func blocks(_ m: Int) -> [Range<Int>] {
    stride(from: 0, to: m, by: block).map { $0..<min($0 + block, m) }
  }

  /// The blocks, by positions in the order of rounding.
  var blocks: [Range<Int>] { Self.blocks(rows.count) }

  /// The shares of the errors of all outputs, in the order of rounding, that those of a block make up for: `[rows of block, m]`, zeros for its own.
  func shares(_ block: Range<Int>) -> Matrix {
    var part = Matrix(rows: block.count, columns: rows.count)
    for row in 0..<block.count { part.copyRow(block.lowerBound + row, of: shares, to: row) }
    return part
  }
}
