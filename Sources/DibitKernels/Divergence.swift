internal import CDibitKernels
package import DibitTensor

/// The divergence of predictions from a teacher's, `KL(p ‖ q) = Σ p (log p - log q)`, in nats: `p` and `q` are the softmax of the teacher's and
/// of the model's logits (Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015, at temperature 1).
package enum Divergence {
  /// `losses[i] = KL(softmax(teacher[i]) ‖ softmax(logits[i]))`; `logits, teacher: [n, V]`, `losses: [n, 1]`.
  package static func forward(_ logits: inout Matrix, from teacher: borrowing Matrix, losses: inout Matrix, on compute: Compute) {
    unsafe run(&logits, teacher, nil, &losses, compute)
  }

  /// As ``forward(_:from:losses:on:)``, and turns `logits` into `dlogits[i] = weights[i] (softmax(logits[i]) - softmax(teacher[i]))`;
  /// `weights` has `n` entries: `d loss / d losses[i]`.
  package static func forwardBackward(
    _ logits: inout Matrix, from teacher: borrowing Matrix, weights: borrowing Matrix, losses: inout Matrix, on compute: Compute
  ) {
    require(weights.count == logits.rows, "Divergence: weights \(weights.shape), logits \(logits.shape)")
    unsafe run(&logits, teacher, weights.pointer, &losses, compute)
  }

  private static func run(
    _ logits: inout Matrix, _ teacher: borrowing Matrix, _ weights: UnsafePointer<Float>?, _ losses: inout Matrix, _ compute: Compute
  ) {
    let columns = logits.columns
    require(
      teacher.rows == logits.rows && teacher.columns == columns && losses.count == logits.rows,
      "Divergence: teacher \(teacher.shape), logits \(logits.shape), losses \(losses.shape)")
    let (ls, ts, out) = unsafe (logits.mutablePointer, teacher.pointer, losses.mutablePointer)
    let gradient: Int32 = unsafe weights == nil ? 0 : 1
    compute.forEachRange(logits.rows, step: 4) { r, _ in
      let at = r.lowerBound
      unsafe compute.kernels.divergence(
        ts + at * columns, (weights ?? UnsafePointer(out)) + at, r.count, columns, ls + at * columns, out + at, gradient)
    }
  }
}
