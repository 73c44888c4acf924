import BasicContainers
import DibitKernels
import DibitModel
import DibitTensor

@testable import DibitTraining

/// Moves against the gradient and remembers nothing: what it moved shows the gradient.
struct GradientDescent: Optimizer {
  var momentCount: Int { 0 }

  func step(
    _ values: inout MutableSpan<Float>, gradient: borrowing Matrix, moment1: inout Matrix, moment2: inout Matrix,
    _ update: OptimizerUpdate, on compute: Compute
  ) {
    let gradient = gradient.span
    for i in values.indices { values[i] -= update.learningRate * update.gradientScale * gradient[i] }
  }
}

extension Adapter {
  /// Adds `scale` times the numbers that `list` has for A and B.
  mutating func add(_ numbers: [[Float]], of list: TrainableList, times scale: Float) {
    for i in 0..<count {
      for r in 0..<a[i].rows { for c in 0..<a[i].columns { a[i][r, c] += scale * numbers[list.a(i)][r * a[i].columns + c] } }
      for r in 0..<b[i].rows { for c in 0..<b[i].columns { b[i][r, c] += scale * numbers[list.b(i)][r * b[i].columns + c] } }
    }
  }
}
