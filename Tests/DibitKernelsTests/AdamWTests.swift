import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct AdamWTests {
  /// Algorithm 2 of Loshchilov and Hutter in double precision.
  struct Reference {
    var parameter: [Double]
    var moment1: [Double]
    var moment2: [Double]
    var (power1, power2) = (1.0, 1.0)

    init(_ parameter: [Float]) {
      self.parameter = doubles(parameter)
      moment1 = parameter.map { _ in 0 }
      moment2 = moment1
    }

    mutating func step(_ gradient: [Float], rate: Float, scale: Float, _ options: AdamW, decays: Bool) {
      let (beta1, beta2) = (Double(options.beta1), Double(options.beta2))
      power1 *= beta1
      power2 *= beta2
      for i in parameter.indices {
        let g = Double(gradient[i]) * Double(scale)
        moment1[i] = beta1 * moment1[i] + (1 - beta1) * g
        moment2[i] = beta2 * moment2[i] + (1 - beta2) * g * g
        let step = moment1[i] / (1 - power1) / ((moment2[i] / (1 - power2)).squareRoot() + Double(options.epsilon))
        parameter[i] -= Double(rate) * (step + (decays ? Double(options.weightDecay) * parameter[i] : 0))
      }
    }
  }

  @Test(arguments: [1, 5, 16, 33, 20_000], [true, false])
  func twentyStepsAgreeWithDoublePrecision(count: Int, decays: Bool) {
    var options = AdamW()
    options.weightDecay = 0.1
    let start = uniforms(count, seed: 1)
    let gradients = (0..<20).map { step -> [Float] in
      let shift: Float = step % 3 == 0 ? 0.5 : 0
      return uniforms(count, seed: UInt64(100 + step)).map { $0 + shift }
    }
    let (rate, scale): (Float, Float) = (0.05, 0.5)
    var reference = Reference(start)
    for gradient in gradients { reference.step(gradient, rate: rate, scale: scale, options, decays: decays) }
    // Each of 20 steps rounds the parameter, of at most 2, and moves it by at most a few rates with a relative error of some units.
    agree(reference.parameter, within: roundingTolerance(length: 20, magnitude: 2 + 20 * Double(rate) * 3)) { compute in
      var parameter = Matrix(start, columns: count)
      var moment1 = Matrix(rows: 1, columns: count)
      var moment2 = Matrix(rows: 1, columns: count)
      for (index, gradient) in gradients.enumerated() {
        options.step(
          &parameter, gradient: Matrix(gradient, columns: count), moment1: &moment1, moment2: &moment2, learningRate: rate, step: index + 1,
          gradientScale: scale, decays: decays, on: compute)
      }
      return parameter.values
    }
  }

  @Test func aWeightStepsLikeAMatrix() {
    let (start, gradient) = (uniforms(33, seed: 1), uniforms(33, seed: 2))
    var parameter = Matrix(start, columns: 33)
    var weight = Weight(rows: 1, columns: 33, values: start)
    let before = weight
    let moments = (0..<4).map { _ in Moment(33) }
    for step in 1...3 {
      AdamW().step(
        &parameter, gradient: Matrix(gradient, columns: 33), moment1: &moments[0].matrix, moment2: &moments[1].matrix, learningRate: 0.1,
        step: step, on: Machine.usual)
      weight.withMutableValues { values in
        AdamW().step(
          &values, gradient: Matrix(gradient, columns: 33), moment1: &moments[2].matrix, moment2: &moments[3].matrix, learningRate: 0.1,
          step: step, on: Machine.usual)
      }
    }
    #expect(Array(copying: weight.values) == parameter.values)
    #expect(Array(copying: before.values) == start, "a copy of a weight keeps its elements")
    #expect(parameter.values != start)
  }

  /// A matrix that may lie in an array.
  private final class Moment {
    var matrix: Matrix
    init(_ count: Int) { matrix = Matrix(rows: 1, columns: count) }
  }
}

@Suite struct ElementwiseTests {
  @Test(arguments: awkward + [16_385, 40_000])
  func sumsAndProductsAgree(count: Int) {
    let (x, y) = (uniforms(count, seed: 1), uniforms(count, seed: 2))
    let expected = zip(x, y).map { Double($0 + $1) * -0.7 }
    agree(expected, within: roundingTolerance(length: 1, magnitude: 2)) { compute in
      var sum = Matrix(y, columns: count)
      sum.add(Matrix(x, columns: count), on: compute)
      sum.multiply(by: -0.7, on: compute)
      return sum.values
    }
  }

  @Test(arguments: awkward + [5000])
  func sumOfSquaresIsADouble(count: Int) {
    let x = uniforms(count, seed: 3)
    let expected = doubles(x).reduce(0) { $0 + $1 * $1 }
    let found = Machine.own.map { Matrix(x, columns: count).sumOfSquares(on: $0) }
    #expect(Set(found).count == 1)
    #expect(abs(found[0] - expected) <= Double.ulpOfOne * Double(count).squareRoot() * expected)
  }

  @Test("products are summed over the rows that are asked for", arguments: awkward)
  func sumOfProducts(columns: Int) {
    let (x, y) = (uniforms(7 * columns, seed: 3), uniforms(7 * columns, seed: 4))
    for rows in [0..<7, 2..<5, 6..<7, 3..<3] {
      let expected = (rows.lowerBound * columns..<rows.upperBound * columns).reduce(0.0) { $0 + Double(x[$1]) * Double(y[$1]) }
      for compute in Machine.own {
        let found = Matrix(x, columns: columns).sumOfProducts(with: Matrix(y, columns: columns), rows: rows, on: compute)
        #expect(abs(found - expected) <= 1e-6 * Double(7 * columns), compute.label)
      }
    }
  }

  @Test func rowsInUseAreSubtractedFromAndMultiplied() {
    var m = Matrix([1, 2, 3, 4, 5, 6], columns: 2)
    m.setRows(2)
    m.subtract(Matrix([1, 0, -1, 2], columns: 2), on: Machine.usual)
    #expect(m.values == [0, 2, 4, 2])
    m.multiplyRows(by: [3, -0.5], on: Machine.usual)
    #expect(m.values == [0, 6, -2, -1])
    m.setRows(3)
    #expect(m.values == [0, 6, -2, -1, 5, 6])
  }

  @Test(arguments: [1, 31, 33, 300])
  func threadsSubtractAndMultiplyAlike(rows: Int) {
    let (x, y) = (uniforms(rows * 100, seed: 4), uniforms(rows * 100, seed: 5))
    let factors = uniforms(rows, seed: 6)
    let expected = x.indices.map { (x[$0] - y[$0]) * factors[$0 / 100] }
    for compute in Machine.own {
      var m = Matrix(x, columns: 100)
      m.subtract(Matrix(y, columns: 100), on: compute)
      m.multiplyRows(by: factors, on: compute)
      #expect(m.values == expected)
    }
  }

  @Test func subtractingAnotherShapeTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      m.subtract(Matrix(rows: 1, columns: 3), on: Machine.usual)
    }
    expectTrap("Matrix.subtract: [1, 3] from [2, 3]", result)
  }

  @Test func factorsForOtherRowsTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      m.multiplyRows(by: [1, 2, 3], on: Machine.usual)
    }
    expectTrap("Matrix.multiplyRows: 3 factors for [2, 3]", result)
  }

  @Test func rowsAreCopiedAndAdded() {
    let source = Matrix([1, 2, 3, 4, 5, 6], columns: 2)
    var target = Matrix([10, 20, 30, 40], columns: 2)
    target.copyRow(2, of: source, to: 0)
    target.addRow(0, of: source, to: 1, on: Machine.usual)
    #expect(target.values == [5, 6, 31, 42])
  }
}
