internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

/// `y = (x - mean(x)) w / sqrt(var(x) + ε) + b` over each row (Ba, Kiros and Hinton, "Layer normalization", 2016).
package enum LayerNorm {
  /// `x, y: [n, C]`, `w, b: [1, C]`; `moments: [n, 2]` are mean and inverse deviation, saved for the backward pass.
  package static func forward(
    _ x: borrowing Matrix, weight w: Weight, bias b: Weight, epsilon: Float, saving moments: inout Matrix, into y: inout Matrix,
    on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("layer norm", begin, rows: y.rows, columns: y.columns, bytes: w.byteCount + b.byteCount) }
    let columns = x.columns
    require(
      w.format == .f32 && b.format == .f32 && w.count == columns && b.count == columns && y.count == x.count,
      "LayerNorm: x \(x.shape), w \(w.shape) \(w.format), b \(b.shape) \(b.format), y \(y.shape)")
    require(moments.count == 2 * x.rows, "LayerNorm: moments \(moments.shape), \(x.rows) rows")
    let (xs, ws, bs, ms, ys) = unsafe (x.pointer, w.floats, b.floats, moments.mutablePointer, y.mutablePointer)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      let at = r.lowerBound * columns
      unsafe compute.kernels.layer_norm(xs + at, ws, bs, epsilon, r.count, columns, ms + 2 * r.lowerBound, ys + at)
    }
  }

  /// Accumulates `dx: [n, C]`.
  package static func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, weight w: Weight, saved moments: borrowing Matrix, dx: inout Matrix, on compute: Compute
  ) {
    let columns = x.columns
    require(
      w.format == .f32 && w.count == columns && dy.count == x.count && dx.count == x.count && moments.count == 2 * x.rows,
      "LayerNorm.backward: dy \(dy.shape), x \(x.shape), w \(w.shape), dx \(dx.shape), moments \(moments.shape)")
    let (dys, xs, ws, ms, dxs) = unsafe (dy.pointer, x.pointer, w.floats, moments.pointer, dx.mutablePointer)
    compute.forEachRange(x.rows, step: 16) { r, _ in
      let at = r.lowerBound * columns
      unsafe compute.kernels.layer_norm_dx(dys + at, xs + at, ws, ms + 2 * r.lowerBound, r.count, columns, dxs + at)
    }
  }

  /// Accumulates `dw: [1, C]`; the bias's gradient is ``Bias/backward(_:dBias:on:)``.
  package static func backwardWeight(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved moments: borrowing Matrix, dWeight: inout Matrix, on compute: Compute
  ) {
    let (rows, columns) = (x.rows, x.columns)
    require(
      dWeight.count == columns && dy.count == x.count && moments.count == 2 * rows,
      "LayerNorm.backwardWeight: dy \(dy.shape), x \(x.shape), dw \(dWeight.shape), moments \(moments.shape)")
    let (dys, xs, ms, dws) = unsafe (dy.pointer, x.pointer, moments.pointer, dWeight.mutablePointer)
    compute.forEachRange(columns, step: 64) { r, _ in
      unsafe compute.kernels.layer_norm_dweight(dys, xs, ms, rows, columns, r.lowerBound, r.upperBound, dws)
    }
  }
}
