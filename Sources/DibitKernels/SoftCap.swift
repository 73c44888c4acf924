internal import CDibitKernels
package import DibitTensor

/// `y = cap · tanh(x / cap)`: keeps logits within ±cap (Bello et al., 2016; gemma 2).
package enum SoftCap {
  private static let step = 4096

  /// In place.
  package static func forward(_ x: inout Matrix, cap: Float, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("soft cap", begin, rows: x.rows, columns: x.columns) }
    let xs = unsafe x.mutablePointer
    compute.forEachRange(x.count, step: step) { r, _ in unsafe compute.kernels.soft_cap(cap, xs + r.lowerBound, r.count) }
  }

  /// Turns `dy` into the gradient before the cap, `dy · (1 - (y / cap)²)`; `y` is what the forward pass returned.
  package static func backward(_ dy: inout Matrix, y: borrowing Matrix, cap: Float, on compute: Compute) {
    require(dy.count == y.count, "SoftCap.backward: dy \(dy.shape), y \(y.shape)")
    let (dys, ys) = unsafe (dy.mutablePointer, y.pointer)
    compute.forEachRange(y.count, step: step) { r, _ in
      unsafe compute.kernels.soft_cap_backward(cap, ys + r.lowerBound, dys + r.lowerBound, r.count)
    }
  }
}
