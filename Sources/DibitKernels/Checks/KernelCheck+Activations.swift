internal import DibitTensor

extension KernelCheck {
  private static let shapes = [[1, 1], [2, 15], [7, 37], [5, 1000]]
  private static let large = [256, 8192]

  /// The functions between the projections of a feed-forward, for every kind; the shape is rows and columns.
  static let activations: [KernelCheck] = Activation.allCases.flatMap { kind in
    [
      KernelCheck("\(kind) gate", ["gate"], awkward: shapes, large: large) { run, shape in
        let gate = run.matrix(shape[0], shape[1], bound: 6)
        let up = run.matrix(shape[0], shape[1])
        var y = Matrix(rows: shape[0], columns: shape[1])
        let compute = run.compute
        run.measure(bytes: 12 * y.count) { kind.forward(gate: gate, up: up, into: &y, on: compute) }
        run.record(y)
      },
      KernelCheck("\(kind) gate gradient", ["gate_backward"], awkward: shapes, large: large) { run, shape in
        let gate = run.matrix(shape[0], shape[1], bound: 6)
        let up = run.matrix(shape[0], shape[1])
        let dy = run.matrix(shape[0], shape[1])
        var dGate = Matrix(rows: shape[0], columns: shape[1])
        var dUp = Matrix(rows: shape[0], columns: shape[1])
        let compute = run.compute
        run.measure(bytes: 20 * dy.count) { kind.backward(dy, gate: gate, up: up, dgate: &dGate, dup: &dUp, on: compute) }
        run.record(dGate)
        run.record(dUp)
      },
      KernelCheck("\(kind)", ["activate"], awkward: shapes, large: large) { run, shape in
        let x = run.matrix(shape[0], shape[1], bound: 6)
        var y = Matrix(rows: shape[0], columns: shape[1])
        let compute = run.compute
        run.measure(bytes: 8 * y.count) { kind.forward(x, into: &y, on: compute) }
        run.record(y)
      },
      KernelCheck("\(kind) gradient", ["activate_backward"], awkward: shapes, large: large) { run, shape in
        let x = run.matrix(shape[0], shape[1], bound: 6)
        let dy = run.matrix(shape[0], shape[1])
        var dx = Matrix(rows: shape[0], columns: shape[1])
        let compute = run.compute
        run.measure(bytes: 12 * dy.count) { kind.backward(dy, x: x, dx: &dx, on: compute) }
        run.record(dx)
      },
    ]
  }
}
