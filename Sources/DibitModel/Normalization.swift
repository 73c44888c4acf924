internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// A family's norm: which op it is, and with which epsilon.
struct Normalization {
  let kind: ModelConfiguration.Norm
  let epsilon: Float

  private var offset: Float { kind == .rmsPlusOne ? 1 : 0 }

  /// Overwrites `y`; saves in `moments` what the backward pass needs.
  func forward(
    _ pair: ParameterPair, _ parameters: [Parameter], _ x: borrowing Matrix, saving moments: inout Matrix, into y: inout Matrix,
    on compute: Compute
  ) {
    let weight = parameters[pair.weight].weight
    if kind == .layer, let bias = pair.bias {
      LayerNorm.forward(
        x, weight: weight, bias: parameters[bias].weight, epsilon: epsilon, saving: &moments, into: &y, on: compute)
    } else {
      RMSNorm.forward(x, weight: weight, offset: offset, epsilon: epsilon, saving: &moments, into: &y, on: compute)
    }
  }

  /// Accumulates `dx` and, when weights are trained, their gradients.
  func backward(
    _ pair: ParameterPair, _ parameters: [Parameter], _ dy: borrowing Matrix, x: borrowing Matrix, saved moments: borrowing Matrix,
    dx: inout Matrix, gradients: inout Gradients, on compute: Compute
  ) {
    let weight = parameters[pair.weight].weight
    if kind == .layer, let bias = pair.bias {
      LayerNorm.backward(dy, x: x, weight: weight, saved: moments, dx: &dx, on: compute)
      guard gradients.includesWeights else { return }
      LayerNorm.backwardWeight(dy, x: x, saved: moments, dWeight: &gradients.weights[pair.weight], on: compute)
      Bias.backward(dy, dBias: &gradients.weights[bias], on: compute)
    } else {
      RMSNorm.backward(dy, x: x, weight: weight, offset: offset, saved: moments, dx: &dx, on: compute)
      guard gradients.includesWeights else { return }
      RMSNorm.backwardWeight(dy, x: x, saved: moments, dWeight: &gradients.weights[pair.weight], on: compute)
    }
  }
}

extension Matrix {
  /// Uses the first `n` rows, or none of a matrix that a family does not need and that has no room.
  mutating func use(_ n: Int) { if capacity > 0 { setRows(n) } }

  /// Room for `rows` rows where a family needs them, otherwise none.
  init(rows: Int, columns: Int, if needed: Bool) { self.init(rows: needed ? rows : 0, columns: columns) }
}
