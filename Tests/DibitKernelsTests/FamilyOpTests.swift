import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct LayerNormTests {
  static let epsilon: Float = 1e-5

  static func vector(_ x: [Float]) -> Weight { Weight(rows: 1, columns: x.count, values: x) }

  static func forward(_ x: [Float], _ w: [Float], _ b: [Float], on compute: Compute) -> (y: [Float], moments: [Float]) {
    let input = Matrix(x, columns: w.count)
    var moments = Matrix(rows: input.rows, columns: 2)
    var y = Matrix(rows: input.rows, columns: w.count)
    LayerNorm.forward(input, weight: vector(w), bias: vector(b), epsilon: epsilon, saving: &moments, into: &y, on: compute)
    return (y.values, moments.values)
  }

  @Test(arguments: awkward.dropFirst(), [1, 19])
  func forwardAgreesWithTheOracle(columns: Int, rows: Int) {
    let (x, w, b) = (uniforms(rows * columns, seed: 1), uniforms(columns, seed: 2, bound: 2), uniforms(columns, seed: 3))
    let expected = Oracle.layerNorm(doubles(x), weight: doubles(w), bias: doubles(b), epsilon: Double(Self.epsilon))
    let steepest = largestMagnitude(doubles(Self.forward(x, w, b, on: Machine.own[0]).moments), atLeast: 1)
    agree(expected, columns: columns, within: roundingTolerance(length: columns, magnitude: 4 * steepest, steps: 8)) {
      Self.forward(x, w, b, on: $0).y
    }
  }

  /// Large means cancel in the variance unless the mean is taken away first.
  @Test func aLargeMeanDoesNotCancel() {
    let x = uniforms(64, seed: 1).map { $0 + 4096 }
    let ones = [Float](repeating: 1, count: 64)
    let y = Self.forward(x, ones, [Float](repeating: 0, count: 64), on: Machine.usual).y
    let expected = Oracle.layerNorm(
      doubles(x), weight: doubles(ones), bias: [Double](repeating: 0, count: 64), epsilon: Double(Self.epsilon))
    #expect(mismatch(y, expected, within: 2e-3) == nil)
  }

  @Test(arguments: [(1, 2), (3, 7), (2, 17), (18, 5)])
  func gradientsAgreeWithTheComplexStep(rows: Int, columns: Int) {
    let (x, w, b) = (uniforms(rows * columns, seed: 4), uniforms(columns, seed: 5, bound: 2), uniforms(columns, seed: 6))
    let dy = uniforms(rows * columns, seed: 7)
    let gradients = expectedGradients(of: [doubles(x), doubles(w), doubles(b)], dy: doubles(dy)) {
      Oracle.layerNorm($0[0], weight: $0[1], bias: $0[2], epsilon: Double(Self.epsilon))
    }
    let moments = Self.forward(x, w, b, on: Machine.own[0]).moments
    let steepest = largestMagnitude(doubles(moments), atLeast: 1)
    agree(onTop(gradients[0]), columns: columns, within: roundingTolerance(length: columns, magnitude: 16 * steepest, steps: 8)) {
      compute in
      var dx = Matrix(earlier(x.count), columns: columns)
      LayerNorm.backward(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), weight: Self.vector(w), saved: Matrix(moments, columns: 2), dx: &dx,
        on: compute)
      return dx.values
    }
    agree(onTop(gradients[1]), within: roundingTolerance(length: rows, magnitude: Double(rows) * 4 * steepest, steps: 8)) { compute in
      var dw = Matrix(earlier(columns), columns: columns)
      LayerNorm.backwardWeight(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), saved: Matrix(moments, columns: 2), dWeight: &dw, on: compute)
      return dw.values
    }
    agree(onTop(gradients[2]), within: roundingTolerance(length: rows, magnitude: Double(rows))) { compute in
      var db = Matrix(earlier(columns), columns: columns)
      Bias.backward(Matrix(dy, columns: columns), dBias: &db, on: compute)
      return db.values
    }
  }
}

@Suite struct BiasTests {
  @Test(arguments: [(1, 1), (3, 16), (37, 67)])
  func forwardAgreesWithTheOracle(rows: Int, columns: Int) {
    let (y, b) = (uniforms(rows * columns, seed: 1), uniforms(columns, seed: 2))
    agree(Oracle.bias(doubles(y), doubles(b)), columns: columns, within: roundingTolerance(length: 1, magnitude: 2)) {
      var sum = Matrix(y, columns: columns)
      Bias.forward(LayerNormTests.vector(b), into: &sum, on: $0)
      return sum.values
    }
  }
}

/// An RMSNorm that adds one to its weight, as gemma does.
@Suite struct OffsetNormTests {
  @Test func forwardAndGradientsAgreeWithTheOracle() {
    let (rows, columns) = (5, 19)
    let (x, w, dy) = (uniforms(rows * columns, seed: 1), uniforms(columns, seed: 2, bound: 0.5), uniforms(rows * columns, seed: 3))
    let weight = LayerNormTests.vector(w)
    func forward(_ compute: Compute) -> (y: [Float], inverse: [Float]) {
      var inverse = Matrix(rows: rows, columns: 1)
      var y = Matrix(rows: rows, columns: columns)
      RMSNorm.forward(Matrix(x, columns: columns), weight: weight, offset: 1, epsilon: 1e-6, saving: &inverse, into: &y, on: compute)
      return (y.values, inverse.values)
    }
    let epsilon = Double(Float(1e-6))
    let tolerance = roundingTolerance(length: columns, magnitude: 8, steps: 8)
    agree(
      Oracle.rmsNorm(doubles(x), weight: doubles(w), offset: 1, epsilon: epsilon), columns: columns, within: tolerance
    ) { forward($0).y }
    let gradients = expectedGradients(of: [doubles(x), doubles(w)], dy: doubles(dy)) {
      Oracle.rmsNorm($0[0], weight: $0[1], offset: 1, epsilon: epsilon)
    }
    agree(onTop(gradients[1]), within: 4 * tolerance) { compute in
      var dw = Matrix(earlier(columns), columns: columns)
      RMSNorm.backwardWeight(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), saved: Matrix(forward(compute).inverse, columns: 1), dWeight: &dw,
        on: compute)
      return dw.values
    }
    agree(onTop(gradients[0]), columns: columns, within: 4 * tolerance) { compute in
      var dx = Matrix(earlier(x.count), columns: columns)
      RMSNorm.backward(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), weight: weight, offset: 1,
        saved: Matrix(forward(compute).inverse, columns: 1), dx: &dx, on: compute)
      return dx.values
    }
  }
}

@Suite struct ActivationTests {
  static func oracle(_ kind: Activation) -> Oracle.Activation {
    switch kind {
    case .silu: .silu
    case .gelu: .gelu
    case .geluTanh: .geluTanh
    }
  }

  @Test(arguments: Activation.allCases, [1, 16, 45, 4097])
  func forwardAgreesWithTheOracle(kind: Activation, count: Int) {
    let (x, up) = (uniforms(count, seed: 1, bound: 8), uniforms(count, seed: 2))
    let expected = doubles(x).map { Oracle.activation(Self.oracle(kind), $0) }
    // An error of the function inside is one of its range, whatever is left of it in the tails.
    agree(expected, tolerance: { roundingTolerance(length: 1, magnitude: max(abs(Double(x[$0])), 0.1), steps: 6) }) {
      var y = Matrix(rows: 1, columns: count)
      kind.forward(Matrix(x, columns: count), into: &y, on: $0)
      return y.values
    }
    let gated = zip(expected, up).map { $0 * Double($1) }
    agree(gated, tolerance: { roundingTolerance(length: 1, magnitude: max(abs(Double(x[$0])), 0.1), steps: 6) }) {
      var y = Matrix(rows: 1, columns: count)
      kind.forward(gate: Matrix(x, columns: count), up: Matrix(up, columns: count), into: &y, on: $0)
      return y.values
    }
  }

  @Test(arguments: Activation.allCases, [1, 7, 45])
  func gradientsAgreeWithTheComplexStep(kind: Activation, count: Int) {
    let (x, up, dy) = (uniforms(count, seed: 3, bound: 4), uniforms(count, seed: 4), uniforms(count, seed: 5))
    let alone = expectedGradients(of: [doubles(x)], dy: doubles(dy)) { $0[0].map { Oracle.activation(Self.oracle(kind), $0) } }
    let tolerance = roundingTolerance(length: 1, magnitude: 5, steps: 8)
    agree(alone[0], within: tolerance) { compute in
      var dx = Matrix(earlier(count), columns: count)
      kind.backward(Matrix(dy, columns: count), x: Matrix(x, columns: count), dx: &dx, on: compute)
      return dx.values
    }
    let gated = expectedGradients(of: [doubles(x), doubles(up)], dy: doubles(dy)) { inputs in
      zip(inputs[0], inputs[1]).map { Oracle.activation(Self.oracle(kind), $0) * $1 }
    }
    agree(gated.flatMap(\.self), columns: count, within: tolerance) { compute in
      var dgate = Matrix(earlier(count), columns: count)
      var dup = Matrix(earlier(count), columns: count)
      kind.backward(
        Matrix(dy, columns: count), gate: Matrix(x, columns: count), up: Matrix(up, columns: count), dgate: &dgate, dup: &dup, on: compute)
      return dgate.values + dup.values
    }
  }

  @Test(arguments: Activation.allCases)
  func extremesSaturate(kind: Activation) {
    let x: [Float] = [-1e30, -1000, -20, 0, 20, 1000]
    var y = Matrix(rows: 1, columns: 6)
    kind.forward(Matrix(x, columns: 6), into: &y, on: Machine.usual)
    #expect(y.values.allSatisfy(\.isFinite) && y[0, 3] == 0 && y[0, 5] == 1000)
    #expect(abs(y[0, 4] - 20) < 1e-5 && abs(y[0, 2]) < 1e-6)
  }
}

@Suite struct SoftCapTests {
  @Test func forwardAndGradientAgreeWithTheOracle() {
    let (x, dy) = (uniforms(77, seed: 1, bound: 100), uniforms(77, seed: 2))
    let expected = doubles(x).map { Oracle.softCap($0, 30) }
    func forward(_ compute: Compute) -> [Float] {
      var y = Matrix(x, columns: 77)
      SoftCap.forward(&y, cap: 30, on: compute)
      return y.values
    }
    agree(expected, within: roundingTolerance(length: 1, magnitude: 30), forward)
    let gradient = expectedGradients(of: [doubles(x)], dy: doubles(dy)) { $0[0].map { Oracle.softCap($0, 30) } }
    agree(gradient[0], within: roundingTolerance(length: 1, magnitude: 2)) { compute in
      var d = Matrix(dy, columns: 77)
      SoftCap.backward(&d, y: Matrix(forward(compute), columns: 77), cap: 30, on: compute)
      return d.values
    }
  }
}

/// RoPE over the first part of a head, with a factor.
@Suite struct PartialRoPETests {
  @Test(arguments: [true, false], [(2, 6), (3, 17), (1, 2), (5, 11)])
  func forwardAndGradientAgreeWithTheOracle(interleaved: Bool, shape: (pairs: Int, headSize: Int)) {
    let columns = 2 * shape.headSize
    let positions: [Int32] = [0, 3, 63, 7]
    let (x, dy) = (uniforms(4 * columns, seed: 1), uniforms(4 * columns, seed: 2))
    let frequencies = RoPE.frequencies(headSize: 2 * shape.pairs, theta: 1000)
    let rope = RoPE(
      frequencies: frequencies, pairing: interleaved ? .interleaved : .half, headSize: shape.headSize, factor: 1.25)
    let expected = Oracle.rope(
      doubles(x), positions: positions.ints, frequencies: frequencies, columns: columns, interleaved: interleaved, headSize: shape.headSize,
      factor: 1.25)
    agree(expected, columns: columns, within: roundingTolerance(length: 2, magnitude: 2)) {
      var y = Matrix(x, columns: columns)
      rope.forward(&y, by: rope.angles(at: positions.span, on: $0), on: $0)
      return y.values
    }
    let gradient = expectedGradients(of: [doubles(x)], dy: doubles(dy)) {
      Oracle.rope(
        $0[0], positions: positions.ints, frequencies: frequencies, columns: columns, interleaved: interleaved, headSize: shape.headSize,
        factor: 1.25)
    }
    agree(gradient[0], columns: columns, within: roundingTolerance(length: 2, magnitude: 2)) {
      var d = Matrix(dy, columns: columns)
      rope.backward(&d, by: rope.angles(at: positions.span, on: $0), on: $0)
      return d.values
    }
  }
}

@Suite struct ColumnTests {
  @Test func partsComeOutAndGoBack() {
    let whole = Matrix(uniforms(3 * 10, seed: 1), columns: 10)
    var rebuilt = Matrix(rows: 3, columns: 10)
    for (column, count) in [(0, 4), (4, 1), (5, 5)] {
      var part = Matrix(rows: 3, columns: count)
      part.copyColumns(of: whole, from: column)
      for row in 0..<3 { for i in 0..<count { #expect(part[row, i] == whole[row, column + i]) } }
      rebuilt.setColumns(from: column, to: part)
    }
    #expect(rebuilt.values == whole.values)
  }
}
