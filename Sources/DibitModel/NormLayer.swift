internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// A norm of a decoder: which op it is, and the indices of its parameters.
struct NormLayer: Sendable {
  let kind: ModelConfiguration.Norm
  let epsilon: Float
  let weight: Int
  let bias: Int?

  private var offset: Float { kind == .rmsPlusOne ? 1 : 0 }

  /// Numbers that are saved for each normalised row: the inverse RMS, or mean and inverse deviation.
  var momentColumns: Int { kind == .layer ? 2 : 1 }

  /// Overwrites `y`; saves in `moments` what the backward pass needs.
  func forward(_ x: borrowing Matrix, saving moments: inout Matrix, into y: inout Matrix, _ pass: borrowing Pass) {
    let weight = pass.weight(self.weight)
    if let bias {
      LayerNorm.forward(x, weight: weight, bias: pass.weight(bias), epsilon: epsilon, saving: &moments, into: &y, on: pass.compute)
    } else {
      RMSNorm.forward(x, weight: weight, offset: offset, epsilon: epsilon, saving: &moments, into: &y, on: pass.compute)
    }
  }

  /// Accumulates `dx` and, when weights are trained, their gradients.
  func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved moments: borrowing Matrix, dx: inout Matrix, _ pass: borrowing Pass,
    _ gradients: inout TrainableTensors
  ) {
    let compute = pass.compute
    if let bias {
      LayerNorm.backward(dy, x: x, weight: pass.weight(weight), saved: moments, dx: &dx, on: compute)
      if let index = gradients.list.weight(weight) {
        LayerNorm.backwardWeight(dy, x: x, saved: moments, dWeight: &gradients.values[index], on: compute)
      }
      if let index = gradients.list.weight(bias) { Bias.backward(dy, dBias: &gradients.values[index], on: compute) }
    } else {
      RMSNorm.backward(dy, x: x, weight: pass.weight(weight), offset: offset, saved: moments, dx: &dx, on: compute)
      if let index = gradients.list.weight(weight) {
        RMSNorm.backwardWeight(dy, x: x, saved: moments, dWeight: &gradients.values[index], on: compute)
      }
    }
  }
}
