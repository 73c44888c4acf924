internal import CDibitKernels
package import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

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

  /// Mixes predictions with targets: turns `logits: [n, V]` into logits of `(1 - share) softmax(logits[i]) + share · e(targets[i])`, where `e(t)`
  /// is certain of `t`. `share` is less than one.
  package static func mix(_ logits: inout Matrix, with targets: Span<Int32>, share: Float, on compute: Compute) {
    require(
      targets.count == logits.rows && (0..<1).contains(share),
      "Divergence: \(targets.count) targets, logits \(logits.shape), share \(share)")
    let (values, columns) = unsafe (logits.mutablePointer, logits.columns)
    compute.forEachRange(logits.rows, step: 4) { rows, _ in
      for row in rows {
        // SAFETY: a row of its own, and targets lie in the vocabulary.
        let (all, target) = unsafe (values + row * columns, Int(targets[row]))
        let sum = unsafe compute.kernels.log_sum_exp(all, columns)
        // Logits of the others stay; the target's grows until it has its part of what all have together.
        unsafe all[target] = sum + log((1 - share) * exp(all[target] - sum) + share) - log(1 - share)
      }
    }
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
