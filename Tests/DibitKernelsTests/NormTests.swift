import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct RMSNormTests {
  static let epsilon: Float = 1e-5

  /// The tolerance of a value or a gradient: squares are averaged, then a root, a division and two products.
  static func tolerance(_ magnitude: Double, columns: Int) -> Double { roundingTolerance(length: columns, magnitude: magnitude, steps: 8) }

  static func forward(_ x: [Float], _ w: [Float], columns: Int, on compute: Compute) -> (y: [Float], inverse: [Float]) {
    let input = Matrix(x, columns: columns)
    var inverse = Matrix(rows: x.count / w.count, columns: 1)
    var y = Matrix(rows: input.rows, columns: columns)
    RMSNorm.forward(input, weight: Weight(rows: 1, columns: w.count, values: w), epsilon: epsilon, saving: &inverse, into: &y, on: compute)
    return (y.values, inverse.values)
  }

  @Test(arguments: awkward, [1, 19])
  func forwardAgreesWithTheOracle(columns: Int, rows: Int) {
    let (x, w) = (uniforms(rows * columns, seed: 1), uniforms(columns, seed: 2, bound: 2))
    let expected = Oracle.rmsNorm(doubles(x), weight: doubles(w), epsilon: Double(Self.epsilon))
    agree(expected, columns: columns, tolerance: { Self.tolerance(abs(expected[$0]), columns: columns) }) {
      Self.forward(x, w, columns: columns, on: $0).y
    }
  }

  /// `heads` above 1: one weight of a head's size normalises every head of a row.
  @Test(arguments: [(1, 1, 1), (3, 1, 7), (2, 3, 5), (1, 2, 17), (18, 1, 2)])
  func gradientsAgreeWithTheComplexStep(rows: Int, heads: Int, size: Int) {
    let columns = heads * size
    let (x, w, dy) = (uniforms(rows * columns, seed: 3), uniforms(size, seed: 4, bound: 2), uniforms(rows * columns, seed: 5))
    let gradients = expectedGradients(of: [doubles(x), doubles(w)], dy: doubles(dy)) {
      Oracle.rmsNorm($0[0], weight: $0[1], epsilon: Double(Self.epsilon))
    }
    let inverse = Self.forward(x, w, columns: columns, on: Machine.own[0]).inverse
    let scale = largestMagnitude(doubles(inverse), atLeast: 1)
    agree(onTop(gradients[0]), columns: columns, within: Self.tolerance(4 * scale, columns: size)) { compute in
      var dx = Matrix(earlier(x.count), columns: columns)
      RMSNorm.backward(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), weight: Weight(rows: 1, columns: size, values: w),
        saved: Matrix(inverse, columns: 1), dx: &dx, on: compute)
      return dx.values
    }
    agree(onTop(gradients[1]), within: Self.tolerance(Double(rows * heads) * scale, columns: rows * heads)) { compute in
      var dw = Matrix(earlier(size), columns: size)
      RMSNorm.backwardWeight(
        Matrix(dy, columns: columns), x: Matrix(x, columns: columns), saved: Matrix(inverse, columns: 1), dWeight: &dw, on: compute)
      return dw.values
    }
  }

  @Test func zerosStayZerosAndFinite() {
    let y = Self.forward([Float](repeating: 0, count: 20), uniforms(20, seed: 1), columns: 20, on: Machine.usual).y
    #expect(y.allSatisfy { $0 == 0 })
  }
}

@Suite struct RoPETests {
  static func table(pairs: Int, interleaved: Bool) -> RoPE {
    RoPE(
      frequencies: RoPE.frequencies(headSize: 2 * pairs, theta: 10_000), pairing: interleaved ? .interleaved : .half)
  }

  /// Each element is a sum of two products with table entries that were rounded once.
  static let tolerance = roundingTolerance(length: 2, magnitude: 2)

  @Test(arguments: [1, 2, 3, 8, 16, 17, 64], [true, false])
  func forwardAgreesWithTheOracle(pairs: Int, interleaved: Bool) {
    let (heads, positions) = (3, [Int32](0..<17).map { $0 * 37 % 64 })
    let columns = heads * 2 * pairs
    let x = uniforms(positions.count * columns, seed: 6)
    let expected = Oracle.rope(
      doubles(x), positions: positions.ints, frequencies: RoPE.frequencies(headSize: 2 * pairs, theta: 10_000), columns: columns,
      interleaved: interleaved)
    agree(expected, columns: columns, within: Self.tolerance) { compute in
      var y = Matrix(x, columns: columns)
      let rope = Self.table(pairs: pairs, interleaved: interleaved)
      rope.forward(&y, by: rope.angles(at: positions.span, on: compute), on: compute)
      return y.values
    }
  }

  /// The backward pass turns a gradient where it lies: what it holds is `dy` before and `dx` after.
  @Test(arguments: [true, false])
  func gradientAgreesWithTheComplexStep(interleaved: Bool) {
    let (columns, positions) = (12, [Int32]([0, 5, 63]))
    let (x, dy) = (uniforms(36, seed: 7), uniforms(36, seed: 8))
    let gradient = expectedGradients(of: [doubles(x)], dy: doubles(dy)) {
      Oracle.rope(
        $0[0], positions: positions.ints, frequencies: RoPE.frequencies(headSize: 6, theta: 10_000), columns: columns,
        interleaved: interleaved)
    }
    agree(gradient[0], columns: columns, within: Self.tolerance) { compute in
      var dx = Matrix(dy, columns: columns)
      let rope = Self.table(pairs: 3, interleaved: interleaved)
      rope.backward(&dx, by: rope.angles(at: positions.span, on: compute), on: compute)
      return dx.values
    }
  }

  @Test func anglesOfOtherRowsTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (rope, compute) = (RoPE(frequencies: [1], pairing: .half), Compute(threads: 1, usesBLAS: false))
      var x = Matrix(rows: 1, columns: 2)
      rope.forward(&x, by: rope.angles(at: [Int32](arrayLiteral: 8, 9).span, on: compute), on: compute)
    }
    expectTrap("RoPE: x [1, 2], head size 2, angles [2, 1]", result)
  }

  @Test func frequenciesFallFromOneToNearlyTheInverseOfTheta() {
    let found = RoPE.frequencies(headSize: 4, theta: 10_000)
    #expect(found == [1, Double(1 / Float(100))])
  }
}
