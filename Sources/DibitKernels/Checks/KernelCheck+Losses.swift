internal import DibitTensor

extension KernelCheck {
  private static let shapes = [[1, 2], [3, 15], [6, 37], [5, 1000]]

  /// The ops on logits; the shape is rows and vocabulary.
  static let losses: [KernelCheck] = [
    KernelCheck("cross-entropy", ["cross_entropy", "log_sum_exp"], awkward: shapes, large: [64, 32_768]) { run, shape in
      var logits = run.matrix(shape[0], shape[1], bound: 8)
      var losses = Matrix(rows: shape[0], columns: 1)
      let targets = (0..<shape[0]).map { $0 % 3 == 1 ? -1 : Int32(run.number(below: shape[1])) }
      let compute = run.compute
      run.measure(bytes: 8 * logits.count) { CrossEntropy.forward(&logits, targets: targets.span, losses: &losses, on: compute) }
      run.record(losses)
    },
    KernelCheck("cross-entropy gradient", ["cross_entropy"], awkward: shapes, large: [64, 32_768]) { run, shape in
      var logits = run.matrix(shape[0], shape[1], bound: 8)
      var losses = Matrix(rows: shape[0], columns: 1)
      let weights = run.matrix(shape[0], 1)
      let targets = (0..<shape[0]).map { $0 % 3 == 1 ? -1 : Int32(run.number(below: shape[1])) }
      let compute = run.compute
      run.measure(bytes: 16 * logits.count) {
        CrossEntropy.forwardBackward(&logits, targets: targets.span, weights: weights, losses: &losses, on: compute)
      }
      run.record(logits)
      run.record(losses)
    },
    KernelCheck("divergence and its gradient", ["divergence"], awkward: shapes, large: [64, 32_768]) { run, shape in
      var logits = run.matrix(shape[0], shape[1], bound: 8)
      let teacher = run.matrix(shape[0], shape[1], bound: 8)
      var losses = Matrix(rows: shape[0], columns: 1)
      let weights = run.matrix(shape[0], 1)
      let compute = run.compute
      run.measure(bytes: 16 * logits.count) {
        Divergence.forwardBackward(&logits, from: teacher, weights: weights, losses: &losses, on: compute)
      }
      run.record(logits)
      run.record(losses)
    },
    KernelCheck("log-sum-exp", ["log_sum_exp"], awkward: shapes, large: [1, 1 << 20]) { run, shape in
      let x = run.matrix(1, shape[0] * shape[1], bound: 20)
      var result: Float = 0
      let compute = run.compute
      run.measure(bytes: 8 * x.count) { result = CrossEntropy.logSumExp(x.span, on: compute) }
      run.record([result.bitPattern])
    },
    KernelCheck("soft cap", ["soft_cap"], awkward: shapes, large: [64, 32_768]) { run, shape in
      var x = run.matrix(shape[0], shape[1], bound: 40)
      let compute = run.compute
      run.measure(bytes: 8 * x.count) { SoftCap.forward(&x, cap: 30, on: compute) }
      run.record(x)
    },
    KernelCheck("soft cap gradient", ["soft_cap_backward"], awkward: shapes, large: [64, 32_768]) { run, shape in
      let y = run.matrix(shape[0], shape[1], bound: 29)
      var dy = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 12 * dy.count) { SoftCap.backward(&dy, y: y, cap: 30, on: compute) }
      run.record(dy)
    },
  ]
}
