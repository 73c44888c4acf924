internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

/// `y = x (w + offset) / sqrt(mean(x²) + ε)` over the last `C` elements (Zhang and Sennrich, "Root mean square layer normalization", 2019).
///
/// The offset is 0 or, in gemma, 1. A row of `h C` elements counts as `h` rows of `C`: so one weight of a head's size normalises every head.
package enum RMSNorm {
  private static let step = 16

  /// `x, y: [n, h C]`, `w: [1, C]`; `inverseRMS: [n h]` is saved for the backward pass.
  package static func forward(
    _ x: borrowing Matrix, weight w: Weight, offset: Float = 0, epsilon: Float, saving inverseRMS: inout Matrix, into y: inout Matrix,
    on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("rms norm", begin, rows: y.rows, columns: y.columns, bytes: w.byteCount) }
    let (rows, columns) = shape(x, w)
    require(y.rows == x.rows && y.columns == x.columns && inverseRMS.count >= rows, "RMSNorm: x \(x.shape), y \(y.shape)")
    let (xs, ws, inverses, ys) = unsafe (x.pointer, w.floats, inverseRMS.mutablePointer, y.mutablePointer)
    compute.forEachRange(rows, step: step) { r, _ in
      unsafe compute.kernels.rms_norm(
        xs + r.lowerBound * columns, ws, offset, epsilon, r.count, columns, inverses + r.lowerBound, ys + r.lowerBound * columns)
    }
  }

  /// Accumulates `dx: [n, h C]`.
  package static func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, weight w: Weight, offset: Float = 0, saved inverseRMS: borrowing Matrix, dx: inout Matrix,
    on compute: Compute
  ) {
    let (rows, columns) = shape(x, w)
    require(dy.count == x.count && dx.count == x.count, "RMSNorm.backward: dy \(dy.shape), x \(x.shape), dx \(dx.shape)")
    let (dys, xs, ws, inverses, dxs) = unsafe (dy.pointer, x.pointer, w.floats, inverseRMS.pointer, dx.mutablePointer)
    compute.forEachRange(rows, step: step) { r, _ in
      unsafe compute.kernels.rms_norm_dx(
        dys + r.lowerBound * columns, xs + r.lowerBound * columns, ws, offset, inverses + r.lowerBound, r.count, columns,
        dxs + r.lowerBound * columns)
    }
  }

  /// Accumulates `dw: [1, C]`.
  package static func backwardWeight(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved inverseRMS: borrowing Matrix, dWeight: inout Matrix, on compute: Compute
  ) {
    let columns = dWeight.columns
    require(dy.count == x.count && x.count % columns == 0, "RMSNorm.backwardWeight: dy \(dy.shape), x \(x.shape), dw \(dWeight.shape)")
    let rows = x.count / columns
    let (dys, xs, inverses, dws) = unsafe (dy.pointer, x.pointer, inverseRMS.pointer, dWeight.mutablePointer)
    compute.forEachRange(columns, step: 64) { c, _ in
      unsafe compute.kernels.rms_norm_dweight(dys, xs, inverses, rows, columns, c.lowerBound, c.upperBound, dws)
    }
  }

  private static func shape(_ x: borrowing Matrix, _ w: Weight) -> (rows: Int, columns: Int) {
    require(w.format == .f32 && w.rows == 1 && x.columns % w.columns == 0, "RMSNorm: x \(x.shape), w \(w.shape) \(w.format)")
    return (x.count / w.columns, w.columns)
  }
}

extension Weight {
  /// The address of F32 elements.
  @unsafe var floats: UnsafePointer<Float> { unsafe elements.pointer.assumingMemoryBound(to: Float.self) }
}
