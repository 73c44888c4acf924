internal import CDibitKernels
package import DibitTensor

/// The choice of the inputs of a layer that are left out (Srivastava et al., "Dropout", 2014): drawn from a key and the index of the
/// element, so that the same mask can be made again, by any number of threads and after a restart.
package struct DropoutMask: Equatable, Sendable {
  /// The number that tells this mask from all others.
  package var key: UInt64
  /// The share of elements that are left out; the others are multiplied by `1 / (1 - rate)`.
  package var rate: Float
  /// The index of a matrix's first row among all rows that share the key.
  package var firstRow: Int

  /// A mask for the rows from `firstRow` on.
  package init(key: UInt64, rate: Float, firstRow: Int) {
    require(rate >= 0 && rate < 1, "DropoutMask: rate \(rate) outside 0..<1")
    (self.key, self.rate, self.firstRow) = (key, rate, firstRow)
  }

  /// Overwrites `y: [n, k]` with `x: [n, k]` without the elements that are left out.
  package func forward(_ x: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    apply(x, to: &y, accumulating: false, on: compute)
  }

  /// Accumulates `dx: [n, k]` from `dy: [n, k]`.
  package func backward(_ dy: borrowing Matrix, dx: inout Matrix, on compute: Compute) {
    apply(dy, to: &dx, accumulating: true, on: compute)
  }

  private func apply(_ x: borrowing Matrix, to y: inout Matrix, accumulating: Bool, on compute: Compute) {
    require(x.rows == y.rows && x.columns == y.columns, "DropoutMask: \(x.shape) into \(y.shape)")
    let begin = compute.begin()
    defer { compute.end("dropout", begin, rows: x.rows, columns: x.columns) }
    // Sixteen bits decide on an element.
    let threshold = UInt32((rate * 65_536).rounded())
    let factor = 1 / (1 - Float(threshold) / 65_536)
    let offset = firstRow * x.columns
    // SAFETY: each range lies within the `count` floats of both matrices, which are not the same.
    let (from, to) = unsafe (x.pointer, y.mutablePointer)
    compute.forEachRange(x.count, step: 16_384) { range, _ in
      let (first, count) = (range.lowerBound, range.count)
      unsafe compute.kernels.dropout(
        key, UInt64(offset + first), threshold, factor, from + first, to + first, count, accumulating ? 1 : 0)
    }
  }
}
