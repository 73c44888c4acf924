internal import CDibitKernels
package import DibitTensor

/// The Cholesky factor `L` of a symmetric positive definite matrix: `H = L Lᵀ`, a block of columns at a time (Golub and Van Loan, "Matrix
/// computations", 4.2).
package enum Cholesky {
  private static let block = 64

  /// Overwrites the lower triangle of `h: [n, n]` with `L`; what lies above it has no meaning afterwards.
  ///
  /// - Returns: false where the matrix is not positive definite.
  package static func factor(_ h: inout Matrix, on compute: Compute) -> Bool {
    require(h.rows == h.columns, "Cholesky: \(h.shape) is not square")
    let n = h.rows
    // SAFETY: every index is below `n`, and tasks write rows of their own that no other task reads.
    let a = unsafe h.mutablePointer
    for first in stride(from: 0, to: n, by: block) {
      let end = min(first + block, n)
      compute.forEachRange(n - first, step: 128) { part, _ in
        let row = unsafe a + (first + part.lowerBound) * n
        unsafe compute.kernels.gemm_nt(part.count, end - first, first, -1, row, n, a + first * n, n, 1, row + first, n)
      }
      guard unsafe factorDiagonal(a, n, first..<end) else { return false }
      compute.forEachRange(n - end, step: 64) { part, _ in
        for row in part { unsafe solve(a + (end + row) * n, a, n, first..<end) }
      }
    }
    return true
  }

  @unsafe private static func factorDiagonal(_ a: UnsafeMutablePointer<Float>, _ n: Int, _ columns: Range<Int>) -> Bool {
    for j in columns {
      unsafe solve(a + j * n, a, n, columns.lowerBound..<j)
      var own = unsafe a[j * n + j]
      for k in columns.lowerBound..<j { unsafe own -= a[j * n + k] * a[j * n + k] }
      guard own > 0, own.isFinite else { return false }
      unsafe a[j * n + j] = own.squareRoot()
    }
    return true
  }

  /// Solves a row for some columns, whose diagonal block is a factor already.
  @unsafe private static func solve(
    _ row: UnsafeMutablePointer<Float>, _ a: UnsafeMutablePointer<Float>, _ n: Int, _ columns: Range<Int>
  ) {
    for j in columns {
      var sum = unsafe row[j]
      for k in columns.lowerBound..<j { unsafe sum -= row[k] * a[j * n + k] }
      unsafe row[j] = sum / a[j * n + j]
    }
  }
}
