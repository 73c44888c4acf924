internal import CDibitKernels
public import DibitTensor

/// `y = silu(gate) · up`, `silu(x) = x / (1 + e^-x)` (Shazeer, "GLU variants improve transformer", 2020).
public enum SwiGLU {
  private static let step = 4096

  /// All matrices `[n, F]`.
  public static func forward(gate: borrowing Matrix, up: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    require(gate.count == y.count && up.count == y.count, "SwiGLU: gate \(gate.shape), up \(up.shape), y \(y.shape)")
    let (g, u, ys) = unsafe (gate.pointer, up.pointer, y.mutablePointer)
    compute.forEachRange(y.count, step: step) { r, _ in
      unsafe compute.kernels.swiglu(g + r.lowerBound, u + r.lowerBound, ys + r.lowerBound, r.count)
    }
  }

  /// Accumulates `dgate` and `dup`.
  public static func backward(
    _ dy: borrowing Matrix, gate: borrowing Matrix, up: borrowing Matrix, dgate: inout Matrix, dup: inout Matrix, on compute: Compute
  ) {
    require(gate.count == dy.count && up.count == dy.count, "SwiGLU.backward: dy \(dy.shape), gate \(gate.shape), up \(up.shape)")
    require(dgate.count == dy.count && dup.count == dy.count, "SwiGLU.backward: dgate \(dgate.shape), dup \(dup.shape)")
    let (dys, g, u, dgs, dus) = unsafe (dy.pointer, gate.pointer, up.pointer, dgate.mutablePointer, dup.mutablePointer)
    compute.forEachRange(dy.count, step: step) { r, _ in
      let at = r.lowerBound
      unsafe compute.kernels.swiglu_backward(dys + at, g + at, u + at, dgs + at, dus + at, r.count)
    }
  }
}
