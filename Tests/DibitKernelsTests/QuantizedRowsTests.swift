import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct QuantizedRowsTests {
  static func values(_ x: [Float], columns: Int, on compute: Compute = Machine.usual) -> [Float] {
    var rounded = QuantizedRows(capacity: x.count / columns + 3, columns: columns + 70)
    rounded.quantize(Matrix(x, columns: columns), on: compute)
    return rounded.values
  }

  @Test(arguments: [1, 15, 16, 63, 64, 65, 200])
  func everyValueGoesToTheNearestOf255Levels(columns k: Int) {
    let x = gaussians(5 * k, seed: 1)
    for compute in Machine.own {
      let found = Self.values(x, columns: k, on: compute)
      for row in 0..<5 {
        for first in stride(from: 0, to: k, by: 64) {
          let group = row * k + first..<row * k + min(first + 64, k)
          let step = group.reduce(0.0) { max($0, abs(Double(x[$1]))) } / 127
          for i in group {
            // Half a step, and the rounding of step and product to floats.
            #expect(abs(Double(found[i]) - Double(x[i])) <= step * (0.5 + 127 * 0x1p-22), compute.label)
          }
        }
      }
      #expect(bitMismatch(found, Self.values(x, columns: k, on: Machine.own[0]), columns: k) == nil, compute.label)
    }
  }

  @Test func twoBytesAreFiner() {
    let x = gaussians(3 * 130, seed: 4)
    for isa in ISA.available {
      let found = Self.values(x, columns: 130, on: Compute(isa: isa, threads: 1, usesBLAS: false, activations: .int16))
      for row in 0..<3 {
        for first in stride(from: 0, to: 130, by: 64) {
          let group = row * 130 + first..<row * 130 + min(first + 64, 130)
          let step = group.reduce(0.0) { max($0, abs(Double(x[$1]))) } / 16_256
          // Half a step, and the rounding of step and product to floats.
          for i in group { #expect(abs(Double(found[i]) - Double(x[i])) <= step * (0.5 + 16_256 * 0x1p-22)) }
        }
      }
    }
  }

  @Test func valuesOnTheGridStay() {
    let x = (0..<64).map { Float($0 * 4 - 127) / 8 }
    #expect(Self.values(x + [Float](repeating: 0, count: 64), columns: 64) == x + [Float](repeating: 0, count: 64))
  }

  @Test(arguments: [Float.nan, .infinity, -.infinity])
  func whatIsNotFiniteSpoilsTheRow(bad: Float) {
    let (w, _) = randomWeight(rows: 20, columns: 200, format: .grid(bits: 2, group: 64), seed: 3)
    for compute in Machine.own {
      for n in [1, 7] {
        var x = uniforms(n * 200, seed: 2)
        x[70] = bad
        let y = LinearTests.forward(x, w, on: compute)
        #expect(y[..<20].allSatisfy(\.isNaN) && y[20...].allSatisfy(\.isFinite), compute.label)
      }
    }
  }

  @Test func tooManyColumnsTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var rounded = QuantizedRows(capacity: 1, columns: 64)
      rounded.quantize(Matrix(rows: 1, columns: 65), on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("QuantizedRows: x [1, 65], room for [1, 64]", result)
  }
}
