internal import CDibitKernels
package import DibitTensor

/// The function that a feed-forward applies between its two projections: to its gate, `y = f(gate) · up` (Shazeer, "GLU variants improve
/// transformer", 2020), or to its only projection, `y = f(x)`.
package enum Activation: String, CaseIterable, Sendable {
  /// `x / (1 + e^-x)`.
  case silu
  /// `x (1 + erf(x / √2)) / 2` (Hendrycks and Gimpel, "Gaussian error linear units", 2016).
  case gelu
  /// `x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2`, the approximation in the same paper.
  case geluTanh

  private static let step = 4096

  /// `y = f(gate) · up`; all matrices `[n, F]`.
  package func forward(gate: borrowing Matrix, up: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("activation", begin, rows: y.rows, columns: y.columns) }
    require(gate.count == y.count && up.count == y.count, "Activation: gate \(gate.shape), up \(up.shape), y \(y.shape)")
    let (g, u, ys, kind) = unsafe (gate.pointer, up.pointer, y.mutablePointer, kind)
    compute.forEachRange(y.count, step: Self.step) { r, _ in
      unsafe compute.kernels.gate(kind, g + r.lowerBound, u + r.lowerBound, ys + r.lowerBound, r.count)
    }
  }

  /// Overwrites `dgate` and `dup`.
  package func backward(
    _ dy: borrowing Matrix, gate: borrowing Matrix, up: borrowing Matrix, dgate: inout Matrix, dup: inout Matrix, on compute: Compute
  ) {
    require(gate.count == dy.count && up.count == dy.count, "Activation.backward: dy \(dy.shape), gate \(gate.shape), up \(up.shape)")
    require(dgate.count == dy.count && dup.count == dy.count, "Activation.backward: dgate \(dgate.shape), dup \(dup.shape)")
    let (dys, g, u, dgs, dus, kind) = unsafe (dy.pointer, gate.pointer, up.pointer, dgate.mutablePointer, dup.mutablePointer, kind)
    compute.forEachRange(dy.count, step: Self.step) { r, _ in
      let at = r.lowerBound
      unsafe compute.kernels.gate_backward(kind, dys + at, g + at, u + at, dgs + at, dus + at, r.count)
    }
  }

  /// `y = f(x)`; both `[n, F]`.
  package func forward(_ x: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("activation", begin, rows: y.rows, columns: y.columns) }
    require(x.count == y.count, "Activation: x \(x.shape), y \(y.shape)")
    let (xs, ys, kind) = unsafe (x.pointer, y.mutablePointer, kind)
    compute.forEachRange(y.count, step: Self.step) { r, _ in
      unsafe compute.kernels.activate(kind, xs + r.lowerBound, ys + r.lowerBound, r.count)
    }
  }

  /// Overwrites `dx`.
  package func backward(_ dy: borrowing Matrix, x: borrowing Matrix, dx: inout Matrix, on compute: Compute) {
    require(x.count == dy.count && dx.count == dy.count, "Activation.backward: dy \(dy.shape), x \(x.shape), dx \(dx.shape)")
    let (dys, xs, dxs, kind) = unsafe (dy.pointer, x.pointer, dx.mutablePointer, kind)
    compute.forEachRange(dy.count, step: Self.step) { r, _ in
      unsafe compute.kernels.activate_backward(kind, dys + r.lowerBound, xs + r.lowerBound, dxs + r.lowerBound, r.count)
    }
  }

  private var kind: dibit_activation {
    switch self {
    case .silu: DIBIT_SILU
    case .gelu: DIBIT_GELU
    case .geluTanh: DIBIT_GELU_TANH
    }
  }
}
