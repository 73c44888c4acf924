internal import DibitQuantization
internal import DibitTensor

extension KernelCheck {
  private static let shapes = [[1, 1], [2, 16], [17, 37], [5, 257]]
  private static let large = [1024, 2048]

  /// Norms and their gradients; the shape is rows and columns.
  static let norms: [KernelCheck] = [
    KernelCheck("rms norm", ["rms_norm"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let weight = run.weight(1, shape[1], .f32)
      var inverse = Matrix(rows: shape[0], columns: 1)
      var y = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * x.count) {
        RMSNorm.forward(x, weight: weight, offset: 1, epsilon: 1e-5, saving: &inverse, into: &y, on: compute)
      }
      run.record(y)
      run.record(inverse)
    },
    KernelCheck("rms norm gradient", ["rms_norm_dx"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let dy = run.matrix(shape[0], shape[1])
      let weight = run.weight(1, shape[1], .f32)
      let inverse = run.matrix(shape[0], 1, bound: 2)
      var dx = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 16 * x.count) { RMSNorm.backward(dy, x: x, weight: weight, offset: 1, saved: inverse, dx: &dx, on: compute) }
      run.record(dx)
    },
    KernelCheck("rms norm weight gradient", ["rms_norm_dweight"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let dy = run.matrix(shape[0], shape[1])
      let inverse = run.matrix(shape[0], 1, bound: 2)
      var dWeight = run.matrix(1, shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * x.count) { RMSNorm.backwardWeight(dy, x: x, saved: inverse, dWeight: &dWeight, on: compute) }
      run.record(dWeight)
    },
    KernelCheck("layer norm", ["layer_norm"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let weight = run.weight(1, shape[1], .f32)
      let bias = run.weight(1, shape[1], .f32)
      var moments = Matrix(rows: shape[0], columns: 2)
      var y = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * x.count) {
        LayerNorm.forward(x, weight: weight, bias: bias, epsilon: 1e-5, saving: &moments, into: &y, on: compute)
      }
      run.record(y)
      run.record(moments)
    },
    KernelCheck("layer norm gradient", ["layer_norm_dx"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let dy = run.matrix(shape[0], shape[1])
      let weight = run.weight(1, shape[1], .f32)
      let moments = run.matrix(shape[0], 2, bound: 2)
      var dx = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 16 * x.count) { LayerNorm.backward(dy, x: x, weight: weight, saved: moments, dx: &dx, on: compute) }
      run.record(dx)
    },
    KernelCheck("layer norm weight gradient", ["layer_norm_dweight"], awkward: shapes, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let dy = run.matrix(shape[0], shape[1])
      let moments = run.matrix(shape[0], 2, bound: 2)
      var dWeight = run.matrix(1, shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * x.count) { LayerNorm.backwardWeight(dy, x: x, saved: moments, dWeight: &dWeight, on: compute) }
      run.record(dWeight)
    },
  ]
}
