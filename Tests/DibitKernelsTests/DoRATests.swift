import ComplexModule
import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct DoRATests {
  static let shapes = [(1, 1, 1, 1), (5, 7, 16, 2), (9, 70, 33, 4), (3, 130, 100, 7)]

  @Test(arguments: shapes)
  func gainsAgreeWithTheOracle(n: Int, m: Int, k: Int, r: Int) {
    let (a, b, magnitude) = (uniforms(r * k, seed: 1), uniforms(m * r, seed: 2), uniforms(m, seed: 3))
    let scale: Float = 0.5
    for format in LinearTests.formats(columns: k) {
      let (weight, values) = randomWeight(rows: m, columns: k, format: format, seed: 4)
      let update = Oracle.linear(doubles(b), Oracle.transposed(doubles(a), columns: k), inner: r)
      let norms = (0..<m).map { row in
        (0..<k).reduce(0.0) { sum, column in
          let v = Double(values[row * k + column]) + 0.5 * update[row * k + column]
          return sum + v * v
        }.squareRoot()
      }
      let expected = zip(magnitude, norms).map { Double($0) / $1 } + norms
      agree(expected, tolerance: { roundingTolerance(length: k, magnitude: abs(expected[$0]) + 1e-3) }) { compute in
        var out = Matrix(rows: 1, columns: m)
        let left = Matrix(a, columns: k)
        let right = Matrix(b, columns: r)
        DoRA.gain(weight, a: left, b: right, scale: scale, magnitude: Matrix(magnitude, columns: m), into: &out, on: compute)
        let gain = out.values
        DoRA.norms(weight, a: left, b: right, scale: scale, into: &out, on: compute)
        return gain + out.values
      }
    }
  }

  /// `f = Σ dy ⊙ (m / norm) ⊙ x` with constant norms.
  @Test(arguments: [(1, 1), (5, 16), (33, 70)])
  func gradientsAgreeWithTheComplexStep(n: Int, m: Int) {
    let (x, dy, start) = (uniforms(n * m, seed: 1), uniforms(n * m, seed: 2), earlier(m))
    let magnitude = uniforms(m, seed: 3).map { $0 + 2 }
    let norms = uniforms(m, seed: 4).map { $0 + 3 }
    let gain = zip(magnitude, norms).map { $0 / $1 }
    func loss(_ magnitude: [Complex<Double>], _ x: [Complex<Double>]) -> Complex<Double> {
      (0..<n * m).reduce(Complex(0)) {
        $0 + Complex(Double(dy[$1])) * magnitude[$1 % m] / Complex(Double(norms[$1 % m])) * x[$1]
      }
    }
    let dm = complexStepGradient(at: doubles(magnitude)) { loss($0, doubles(x).map { Complex($0) }) }
    let dx = complexStepGradient(at: doubles(x)) { loss(doubles(magnitude).map { Complex($0) }, $0) }
    let expected = zip(dm, start).map { $0 + Double($1) } + dx
    agree(expected, tolerance: { _ in 1e-5 * Double(n) }) { compute in
      var dMagnitude = Matrix(start, columns: m)
      var result = Matrix(rows: n, columns: m)
      DoRA.backward(
        Matrix(dy, columns: m), x: Matrix(x, columns: m), gain: Matrix(gain, columns: m), magnitude: Matrix(magnitude, columns: m),
        dMagnitude: &dMagnitude, into: &result, on: compute)
      return dMagnitude.values + result.values
    }
    agree(zip(x, (0..<n).flatMap { _ in gain }).map { Double($0) * Double($1) }, tolerance: { _ in 1e-6 }) { compute in
      var y = Matrix(x, columns: m)
      DoRA.forward(Matrix(gain, columns: m), into: &y, on: compute)
      return y.values
    }
  }

  @Test func aRowOfZerosGivesNothing() {
    let weight = Weight(rows: 2, columns: 3, values: [0, 0, 0, 3, 0, 4])
    var gain = Matrix(rows: 1, columns: 2)
    DoRA.gain(
      weight, a: Matrix(rows: 1, columns: 3), b: Matrix(rows: 2, columns: 1), scale: 1, magnitude: Matrix([1, 10], columns: 2), into: &gain,
      on: Compute(threads: 1))
    #expect(gain.values == [0, 2])
  }
}
