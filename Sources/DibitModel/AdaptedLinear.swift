internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// One block's linear layers with the adapter's term beside the frozen weight: `y = x Wᵀ + s (x Aᵀ) Bᵀ`.
struct AdaptedLinear {
  let layer: Int
  let compute: Compute

  /// Overwrites `y: [n, out]`; saves `x Aᵀ` in `low`.
  func forward(
    _ kind: LinearKind, _ parameter: Parameter, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ low: inout UniqueArray<Matrix>,
    _ y: inout Matrix
  ) {
    Linear.forward(x, weight: parameter.weight, into: &y, on: compute)
    guard let entry = adapter.entry(layer, kind) else { return }
    LoRA.forward(
      x, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saving: &low[kind.rawValue], into: &y, on: compute)
  }

  /// Accumulates `dx: [n, in]` and the gradients of whatever is trained; `dLow: [n, R]` is working memory.
  func backward(
    _ kind: LinearKind, _ parameter: Parameter, _ adapter: borrowing Adapter, _ dy: borrowing Matrix, _ x: borrowing Matrix,
    _ low: borrowing UniqueArray<Matrix>, _ dLow: inout Matrix, _ dx: inout Matrix, _ gradients: inout Gradients
  ) {
    Linear.backward(dy, weight: parameter.weight, dx: &dx, on: compute)
    if gradients.includesWeights { Linear.backwardWeight(dy, x, dWeight: &gradients.weights[parameter.index], on: compute) }
    guard let entry = adapter.entry(layer, kind) else { return }
    LoRA.backward(
      dy, x: x, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saved: low[kind.rawValue], dh: &dLow,
      da: &gradients.adapter.a[entry], db: &gradients.adapter.b[entry], dx: &dx, on: compute)
  }
}
