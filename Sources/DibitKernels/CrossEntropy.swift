internal import CDibitKernels
package import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Softmax cross-entropy of token logits, in nats.
package enum CrossEntropy {
  /// `losses[i] = log Σ exp(logits[i]) - logits[i, target]`; `logits: [n, V]`, `losses: [n, 1]`. A negative target is ignored: its loss is 0.
  package static func forward(_ logits: inout Matrix, targets: Span<Int32>, losses: inout Matrix, on compute: Compute) {
    unsafe run(&logits, targets, nil, &losses, compute)
  }

  /// As ``forward(_:targets:losses:on:)``, and turns `logits` into `dlogits[i] = weights[i] (softmax(logits[i]) - onehot(target))`;
  /// a row with a negative target becomes 0. `weights` has `n` entries: `d loss / d losses[i]`.
  package static func forwardBackward(
    _ logits: inout Matrix, targets: Span<Int32>, weights: borrowing Matrix, losses: inout Matrix, on compute: Compute
  ) {
    require(weights.count == logits.rows, "CrossEntropy: weights \(weights.shape), logits \(logits.shape)")
    unsafe run(&logits, targets, weights.pointer, &losses, compute)
  }

  /// Draws a target for each row of `logits: [n, V]` with the probabilities that these give it: the first for which those so far come to more
  /// than `uniforms[i]`, in 0..<1.
  package static func drawTargets(_ logits: borrowing Matrix, uniforms: [Float], on compute: Compute) -> [Int32] {
    require(uniforms.count == logits.rows, "CrossEntropy.drawTargets: \(uniforms.count) numbers, logits \(logits.shape)")
    let (rows, columns, ls) = unsafe (logits.rows, logits.columns, logits.pointer)
    var targets = [Int32](repeating: 0, count: rows)
    unsafe targets.withUnsafeMutableBufferPointer { targets in
      guard let out = targets.baseAddress else { return }
      compute.forEachRange(rows, step: 4) { r, _ in
        for row in r {
          let x = unsafe ls + row * columns
          let sum = unsafe compute.kernels.log_sum_exp(x, columns)
          var (left, index) = (uniforms[row], 0)
          while index < columns - 1 {
            left -= unsafe exp(x[index] - sum)
            if left < 0 { break }
            index += 1
          }
          unsafe out[row] = Int32(index)
        }
      }
    }
    return targets
  }

  /// `log Σ exp(x)` of one row of logits.
  package static func logSumExp(_ x: Span<Float>, on compute: Compute) -> Float {
    unsafe x.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return -.infinity }
      return unsafe compute.kernels.log_sum_exp(base, buffer.count)
    }
  }

  private static func run(
    _ logits: inout Matrix, _ targets: Span<Int32>, _ weights: UnsafePointer<Float>?, _ losses: inout Matrix, _ compute: Compute
  ) {
    let columns = logits.columns
    require(
      targets.count == logits.rows && losses.count == logits.rows,
      "CrossEntropy: \(targets.count) targets, logits \(logits.shape), losses \(losses.shape)")
    for i in targets.indices { require(Int(targets[i]) < columns, "CrossEntropy: target \(targets[i]) outside 0..<\(columns)") }
    let (rows, ls, out) = unsafe (logits.rows, logits.mutablePointer, losses.mutablePointer)
    let gradient: Int32 = unsafe weights == nil ? 0 : 1
    unsafe targets.withUnsafeBufferPointer { buffer in
      guard let target = buffer.baseAddress else { return }
      compute.forEachRange(rows, step: 4) { r, _ in
        unsafe compute.kernels.cross_entropy(
          target + r.lowerBound, (weights ?? UnsafePointer(out)) + r.lowerBound, r.count, columns, ls + r.lowerBound * columns,
          out + r.lowerBound, gradient)
      }
    }
  }
}
