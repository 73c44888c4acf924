internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

/// `y += b` in each row.
package enum Bias {
  /// `y: [n, m]`, `b: [1, m]`.
  package static func forward(_ b: Weight, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("bias", begin, rows: y.rows, columns: y.columns, bytes: b.byteCount) }
    let columns = y.columns
    require(b.format == .f32 && b.count == columns, "Bias: b \(b.shape) \(b.format), y \(y.shape)")
    let (bs, ys) = unsafe (b.floats, y.mutablePointer)
    compute.forEachRange(y.rows, step: 16) { r, _ in unsafe compute.kernels.add_bias(bs, r.count, columns, ys + r.lowerBound * columns) }
  }

  /// `db += Σ rows of dy`; `dy: [n, m]`, `db: [1, m]`.
  package static func backward(_ dy: borrowing Matrix, dBias: inout Matrix, on compute: Compute) {
    let (rows, columns) = (dy.rows, dy.columns)
    require(dBias.count == columns, "Bias.backward: dy \(dy.shape), db \(dBias.shape)")
    let (dys, dbs) = unsafe (dy.pointer, dBias.mutablePointer)
    compute.forEachRange(columns, step: 64) { r, _ in
      unsafe compute.kernels.sum_rows(dys, rows, columns, r.lowerBound, r.upperBound, dbs)
    }
  }
}
