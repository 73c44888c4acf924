internal import DibitQuantization
internal import DibitTensor

extension KernelCheck {
  private static let lengths = [[1, 1], [1, 15], [3, 37], [5, 1000]]
  /// 32 MB of floats.
  private static let large = [1, 8 << 20]

  /// Sums and steps over all elements; the shape is rows and columns.
  static let elementwise: [KernelCheck] = [
    KernelCheck("add", ["add"], awkward: lengths, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      var y = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 12 * x.count) { y.add(x, on: compute) }
      run.record(y)
    },
    KernelCheck("scale", ["scale"], awkward: lengths, large: large) { run, shape in
      var y = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * y.count) { y.multiply(by: -0.996, on: compute) }
      run.record(y)
    },
    KernelCheck("sum of squares", ["sum_of_squares"], awkward: lengths, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      var sum = 0.0
      let compute = run.compute
      run.measure(bytes: 4 * x.count) { sum = x.sumOfSquares(on: compute) }
      run.record(sum)
    },
    KernelCheck("dropout", ["dropout"], awkward: lengths, large: large) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      var y = Matrix(rows: shape[0], columns: shape[1])
      var sum = run.matrix(shape[0], shape[1])
      let mask = DropoutMask(key: 11, rate: 0.3, firstRow: 7)
      let compute = run.compute
      run.measure(bytes: 20 * x.count) {
        mask.forward(x, into: &y, on: compute)
        mask.backward(x, dx: &sum, on: compute)
      }
      run.record(y)
      run.record(sum)
    },
    KernelCheck("adamw", ["adamw"], awkward: lengths, large: [1, 1 << 20]) { run, shape in
      let gradient = run.matrix(shape[0], shape[1])
      var parameter = run.matrix(shape[0], shape[1])
      var moment1 = run.matrix(shape[0], shape[1], bound: 0.1)
      var moment2 = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: 28 * gradient.count) {
        AdamW().step(
          &parameter, gradient: gradient, moment1: &moment1, moment2: &moment2, learningRate: 1e-3, step: 3, gradientScale: 0.5,
          on: compute)
      }
      run.record(parameter)
      run.record(moment1)
      run.record(moment2)
    },
    KernelCheck("bias", ["add_bias"], awkward: lengths, large: [2048, 2048]) { run, shape in
      let bias = run.weight(1, shape[1], .f32)
      var y = run.matrix(shape[0], shape[1])
      let compute = run.compute
      run.measure(bytes: 8 * y.count) { Bias.forward(bias, into: &y, on: compute) }
      run.record(y)
    },
    KernelCheck("dora", ["multiply_columns", "sum_products"], awkward: lengths, large: [2048, 2048]) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      let dy = run.matrix(shape[0], shape[1])
      let gain = run.matrix(1, shape[1])
      let magnitude = run.matrix(1, shape[1], bound: 2)
      var dMagnitude = run.matrix(1, shape[1])
      var dx = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: 16 * x.count) {
        DoRA.backward(dy, x: x, gain: gain, magnitude: magnitude, dMagnitude: &dMagnitude, into: &dx, on: compute)
      }
      run.record(dx)
      run.record(dMagnitude)
    },
    KernelCheck("bias gradient", ["sum_rows"], awkward: lengths, large: [2048, 2048]) { run, shape in
      let dy = run.matrix(shape[0], shape[1])
      var sums = run.matrix(1, shape[1])
      let compute = run.compute
      run.measure(bytes: 4 * dy.count) { Bias.backward(dy, dBias: &sums, on: compute) }
      run.record(sums)
    },
    keyValues("static scale", "fake_quantize_i8", .roundedFloats(scale: 0.05)),
    keyValues("scale per head", "quantize_heads_i8", .int8PerHead), keyValues("F16", "round_f16", .float16),
    KernelCheck("key/value rounding gradient", ["fake_quantize_i8_backward"], awkward: lengths, large: [2048, 1024]) { run, shape in
      var x = run.matrix(shape[0], shape[1], bound: 8)
      var dx = run.matrix(shape[0], shape[1])
      var rows = KeyValueRows(rows: shape[0], columns: shape[1], storage: .roundedFloats(scale: 0.05))
      var segments = Segments(capacity: 1)
      segments.append(rows: shape[0], start: 0)
      let compute = run.compute
      rows.write(&x, segments: segments, on: compute)
      run.measure(bytes: 8 * dx.count) { rows.backward(&dx, on: compute) }
      run.record(dx)
    },
  ]

  /// Storing keys or values, which rounds them to what is stored; some lie beyond the range of a static scale.
  private static func keyValues(_ name: String, _ kernel: String, _ storage: KeyValueRows.Storage) -> KernelCheck {
    KernelCheck("key/value rounding, \(name)", [kernel], awkward: [[1, 1], [3, 17], [5, 100]], large: [2048, 1024]) { run, shape in
      var x = run.matrix(shape[0], shape[1], bound: 8)
      var rows = KeyValueRows(rows: shape[0], columns: shape[1], storage: storage)
      var segments = Segments(capacity: 1)
      segments.append(rows: shape[0], start: 0)
      let compute = run.compute
      run.measure(bytes: 12 * x.count) { rows.write(&x, segments: segments, on: compute) }
      run.record(x)
    }
  }
}
