internal import CDibitKernels
package import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2).
package struct AdamW: Equatable, Sendable {
  /// Decay of the mean of gradients.
  package var beta1: Float = 0.9
  /// Decay of the mean of squared gradients.
  package var beta2: Float = 0.95
  /// Added to the root of the second moment.
  package var epsilon: Float = 1e-8
  /// Multiplied by the learning rate and the parameter at each step.
  package var weightDecay: Float = 0.01

  /// The usual values for adapters.
  package init() {}

  /// One step of `parameter`; all matrices have its shape. `step` counts from 1; `gradientScale` multiplies the gradient first.
  package func step(
    _ parameter: inout Matrix, gradient: borrowing Matrix, moment1: inout Matrix, moment2: inout Matrix, learningRate: Float, step: Int,
    gradientScale: Float = 1, decays: Bool = true, on compute: Compute
  ) {
    var values = parameter.mutableSpan
    self.step(
      &values, gradient: gradient, moment1: &moment1, moment2: &moment2, learningRate: learningRate, step: step,
      gradientScale: gradientScale, decays: decays, on: compute)
  }

  /// The same of numbers that lie anywhere, as many as the matrices have.
  package func step(
    _ values: inout MutableSpan<Float>, gradient: borrowing Matrix, moment1: inout Matrix, moment2: inout Matrix, learningRate: Float,
    step: Int, gradientScale: Float = 1, decays: Bool = true, on compute: Compute
  ) {
    require(gradient.count == values.count, "AdamW: gradient \(gradient.shape), \(values.count) numbers")
    unsafe values.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      unsafe update(base, gradient, &moment1, &moment2, learningRate, step, gradientScale, decays, compute)
    }
  }

  private func update(
    _ parameter: UnsafeMutablePointer<Float>, _ gradient: borrowing Matrix, _ moment1: inout Matrix, _ moment2: inout Matrix,
    _ learningRate: Float, _ step: Int, _ gradientScale: Float, _ decays: Bool, _ compute: Compute
  ) {
    require(
      moment1.count == gradient.count && moment2.count == gradient.count, "AdamW: moments \(moment1.shape), gradient \(gradient.shape)")
    let options = dibit_adamw(
      rate: learningRate, beta1: beta1, beta2: beta2, epsilon: epsilon, decay: decays ? weightDecay : 0,
      correction1: Float(1 / (1 - pow(Double(beta1), Double(step)))), correction2: Float(1 / (1 - pow(Double(beta2), Double(step)))),
      gradient_scale: gradientScale)
    let (g, m, v) = unsafe (gradient.pointer, moment1.mutablePointer, moment2.mutablePointer)
    compute.forEachRange(gradient.count, step: 16_384) { r, _ in
      let at = r.lowerBound
      unsafe withUnsafePointer(to: options) { unsafe compute.kernels.adamw($0, g + at, m + at, v + at, parameter + at, r.count) }
    }
  }
}
