import DibitKernels
import DibitTensor
import Testing

@Suite struct GemmRowTests {
  private func random(_ rows: Int, _ columns: Int, seed: UInt64) -> Matrix {
    var rng = SplitMix64(seed: seed)
    return Matrix(rows: rows, columns: columns, values: (0..<rows * columns).map { _ in rng.uniform(bound: 1) })
  }

  /// Rows, columns and sums of awkward lengths: short sums, such as an adapter's rank, go another way than long ones.
  private static let shapes = [
    (1, 1, 1), (3, 5, 8), (9, 70, 32), (6, 16, 64), (5, 19, 65), (8, 3, 172), (7, 33, 257), (130, 140, 48), (4, 65, 4), (5, 66, 63),
  ]

  @Test("Dibit's own x wᵀ against double", arguments: ISA.available, shapes)
  func nt(isa: ISA, _ shape: (n: Int, m: Int, k: Int)) {
    let compute = Compute(isa: isa, threads: 2, usesBLAS: false)
    let x = random(shape.n, shape.k, seed: 1)
    let w = random(shape.m, shape.k, seed: 2)
    var y = random(shape.n, shape.m, seed: 3)
    var sum = random(shape.n, shape.m, seed: 3)
    let before = y.values
    Gemm.nt(x, w, scale: 0.5, into: &y, on: compute)
    Gemm.nt(x, w, scale: 0.5, accumulating: true, into: &sum, on: compute)
    for row in 0..<shape.n {
      for column in 0..<shape.m {
        var (exact, magnitude) = (0.0, 0.0)
        for index in 0..<shape.k {
          let product = 0.5 * Double(x[row, index]) * Double(w[column, index])
          exact += product
          magnitude += abs(product)
        }
        // Rounding of k additions, and of the last one.
        let tolerance = Double(Float.ulpOfOne) * (magnitude * Double(shape.k).squareRoot() + 2)
        #expect(abs(Double(y[row, column]) - exact) <= tolerance)
        #expect(abs(Double(sum[row, column]) - exact - Double(before[row * shape.m + column])) <= tolerance)
      }
    }
  }

  @Test("a row has the same bits whatever rows are beside it", arguments: ISA.available, shapes)
  func rows(isa: ISA, _ shape: (n: Int, m: Int, k: Int)) {
    let compute = Compute(isa: isa, threads: 2, usesBLAS: false)
    let x = random(shape.n, shape.k, seed: 1)
    let w = random(shape.m, shape.k, seed: 2)
    var all = Matrix(rows: shape.n, columns: shape.m)
    Gemm.nt(x, w, scale: 0.3, into: &all, on: compute)
    for row in 0..<shape.n {
      let one = Matrix(rows: 1, columns: shape.k, values: (0..<shape.k).map { x[row, $0] })
      var y = Matrix(rows: 1, columns: shape.m)
      Gemm.nt(one, w, scale: 0.3, into: &y, on: compute)
      for column in 0..<shape.m { #expect(y[0, column] == all[row, column]) }
    }
  }
}
