internal import CDibitKernels
package import DibitTensor

/// Magnitude and direction of an adapted linear layer apart (Liu et al., "DoRA: weight-decomposed low-rank adaptation", 2024).
///
/// Each output `o` of `V = W + s B A` gets a trained magnitude: `y = g ⊙ (x Vᵀ)` with the gain `gₒ = mₒ / ‖Vₒ‖`. As the paper proposes and
/// PEFT does, the norm counts as a constant in the backward pass.
package enum DoRA {
  /// Rows of `V` that exist at a time.
  private static let step = 64

  /// `g = m / ‖W + s B A‖`; `W: [m, k]` in any format, `A: [r, k]`, `B: [m, r]`, `magnitude` and `gain: [1, m]`.
  package static func gain(
    _ w: Weight, a: borrowing Matrix, b: borrowing Matrix, scale: Float, magnitude: borrowing Matrix, into gain: inout Matrix,
    on compute: Compute
  ) {
    require(magnitude.count == w.rows && gain.count == w.rows, "DoRA.gain: W \(w.shape), magnitude \(magnitude.shape), gain \(gain.shape)")
    let (magnitudes, gains) = unsafe (magnitude.pointer, gain.mutablePointer)
    eachNorm(w, a, b, scale, compute) { row, norm in
      // A row of zeros has no direction; nothing comes out of it.
      unsafe gains[row] = norm > 0 ? magnitudes[row] / norm : 0
    }
  }

  /// `‖W + s B A‖` of each row, `[1, m]`: the magnitudes at which a layer begins.
  package static func norms(
    _ w: Weight, a: borrowing Matrix, b: borrowing Matrix, scale: Float, into norms: inout Matrix, on compute: Compute
  ) {
    require(norms.count == w.rows, "DoRA.norms: W \(w.shape), norms \(norms.shape)")
    let out = unsafe norms.mutablePointer
    eachNorm(w, a, b, scale, compute) { row, norm in unsafe out[row] = norm }
  }

  /// The adapted weight never exists as a whole.
  private static func eachNorm(
    _ w: Weight, _ a: borrowing Matrix, _ b: borrowing Matrix, _ scale: Float, _ compute: Compute,
    _ body: (_ row: Int, _ norm: Float) -> Void
  ) {
    let (k, r) = (w.columns, a.rows)
    require(b.rows == w.rows && b.columns == r && a.columns == k, "DoRA: W \(w.shape), A \(a.shape), B \(b.shape)")
    let (weight, tileA, tileB) = unsafe (w.kernelView, a.pointer, b.pointer)
    compute.forEachRange(w.rows, step: step) { rows, worker in
      let tile = unsafe compute.scratch(worker, count: rows.count * k)
      unsafe withUnsafePointer(to: weight) { unsafe compute.kernels.expand($0, rows.lowerBound, rows.upperBound, 0, k, tile, k) }
      unsafe compute.products.nn(rows.count, k, r, scale, tileB + rows.lowerBound * r, r, tileA, k, tile, k)
      for row in rows {
        unsafe body(row, Float(compute.kernels.sum_of_squares(tile + (row - rows.lowerBound) * k, k).squareRoot()))
      }
    }
  }

  /// `y = g ⊙ y` in some rows, by default in all; `gain: [1, m]`, `y: [n, m]`.
  package static func forward(_ gain: borrowing Matrix, rows: Range<Int>? = nil, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("dora", begin, rows: y.rows, columns: y.columns) }
    let (rows, columns) = (rows ?? 0..<y.rows, y.columns)
    require(gain.count == columns && rows.upperBound <= y.rows, "DoRA: gain \(gain.shape), rows \(rows) of y \(y.shape)")
    let (gains, ys) = unsafe (gain.pointer, y.mutablePointer + rows.lowerBound * columns)
    compute.forEachRange(rows.count, step: 16) { r, _ in
      let at = r.lowerBound * columns
      unsafe compute.kernels.multiply_columns(gains, r.count, columns, ys + at, ys + at)
    }
  }

  /// `dx = g ⊙ dy` and `dm += (Σ dy ⊙ x) ⊙ g / m`, where `x: [n, m]` is what the gain was multiplied with; `dMagnitude: [1, m]`.
  package static func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, gain: borrowing Matrix, magnitude: borrowing Matrix, dMagnitude: inout Matrix,
    into dx: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("dora backward", begin, rows: dy.rows, columns: dy.columns) }
    let (rows, columns) = (dy.rows, dy.columns)
    require(
      x.rows == rows && x.columns == columns && dx.rows == rows && dx.columns == columns && gain.count == columns
        && magnitude.count == columns && dMagnitude.count == columns,
      "DoRA.backward: dy \(dy.shape), x \(x.shape), dx \(dx.shape), gain \(gain.shape)")
    let (dys, xs, dxs) = unsafe (dy.pointer, x.pointer, dx.mutablePointer)
    let (gains, magnitudes, out) = unsafe (gain.pointer, magnitude.pointer, dMagnitude.mutablePointer)
    compute.forEachRange(columns, step: step) { r, worker in
      let sums = unsafe compute.scratch(worker, count: columns)
      unsafe compute.kernels.sum_products(dys, xs, rows, columns, r.lowerBound, r.upperBound, sums)
      for o in r { unsafe out[o] += magnitudes[o] == 0 ? 0 : sums[o] * (gains[o] / magnitudes[o]) }
    }
    compute.forEachRange(rows, step: 16) { r, _ in
      let at = r.lowerBound * columns
      unsafe compute.kernels.multiply_columns(gains, r.count, columns, dys + at, dxs + at)
    }
  }
}
