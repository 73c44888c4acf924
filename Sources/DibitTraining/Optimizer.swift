package import DibitKernels
package import DibitTensor

/// One update of a tensor by an optimiser.
package struct OptimizerUpdate: Sendable {
  /// The learning rate of the tensor.
  package var learningRate: Float
  /// The step, counted from 1.
  package var step: Int
  /// The factor by which the gradient is multiplied first.
  package var gradientScale: Float
  /// True when weight decay applies.
  package var decays: Bool
}

/// Moves what is trained along its gradients, with up to two numbers of memory for each.
package protocol Optimizer: Sendable {
  /// Numbers that are remembered for each that is trained, 0 to 2.
  var momentCount: Int { get }

  /// Moves `values`, as many as `gradient` has. Moments have its shape, or no elements where ``momentCount`` does not ask for them.
  func step(
    _ values: inout MutableSpan<Float>, gradient: borrowing Matrix, moment1: inout Matrix, moment2: inout Matrix,
    _ update: OptimizerUpdate, on compute: Compute)
}

extension AdamW: Optimizer {
  /// Mean and uncentred variance.
  package var momentCount: Int { 2 }

  /// One step of Adam with decoupled weight decay.
  package func step(
    _ values: inout MutableSpan<Float>, gradient: borrowing Matrix, moment1: inout Matrix, moment2: inout Matrix,
    _ update: OptimizerUpdate, on compute: Compute
  ) {
    step(
      &values, gradient: gradient, moment1: &moment1, moment2: &moment2, learningRate: update.learningRate, step: update.step,
      gradientScale: update.gradientScale, decays: update.decays, on: compute)
  }
}
