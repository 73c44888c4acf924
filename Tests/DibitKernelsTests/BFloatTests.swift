import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct BFloatTests {
  private static func rounded(_ x: [Float]) -> [Float] { x.map { Float(BFloat16($0)) } }
  private static func rounded(_ x: [Double]) -> [Double] { rounded(x.map { Float($0) }).map { Double($0) } }

  /// Rows that fill tiles of six and leave some over, up to 300 outputs for two tiles of the sum; odd ones leave half a pair.
  static let shapes = [(1, 1, 16), (2, 33, 64), (5, 65, 100), (6, 300, 172), (11, 257, 31), (13, 16, 257)]

  @Test(arguments: shapes, [false, true])
  func backwardAgreesWithTheOracle(shape: (n: Int, m: Int, k: Int), accumulating: Bool) {
    let (n, m, k) = shape
    let (dy, before) = (uniforms(n * m, seed: 1), earlier(n * k))
    let left = doubles(Self.rounded(dy))
    for format in LinearTests.formats(columns: k) {
      let (weight, values) = randomWeight(rows: m, columns: k, format: format, seed: 2)
      let right = Oracle.transposed(doubles(Self.rounded(values)), columns: k)
      let product = Oracle.linear(left, right, inner: m)
      let size = Oracle.linear(left.map(abs), right.map(abs), inner: m)
      let expected = zip(product, before).map { $0 + (accumulating ? Double($1) : 0) }
      agreeOnEachTier(expected, columns: k, tolerance: { roundingTolerance(length: m, magnitude: size[$0] + 1) }) { compute in
        // One row more and wider than needed: rows may lie apart.
        var rows = BFloatRows(capacity: n + 1, columns: m + 5)
        rows.round(Matrix(dy, columns: m), on: compute)
        var dx = Matrix(before, columns: k)
        Linear.backward(rows, weight: weight, dx: &dx, accumulating: accumulating, on: compute)
        return dx.values
      }
    }
  }

  @Test(arguments: [(1, 1, 16, 1), (7, 70, 100, 5), (300, 65, 130, 32), (257, 30, 64, 70)])
  func adapterAgreesWithTheOracle(n: Int, m: Int, k: Int, r: Int) {
    let scale: Float = 0.5
    let (dy, x) = (uniforms(n * m, seed: 1), uniforms(n * k, seed: 2))
    let (a, b, h) = (uniforms(r * k, seed: 3), uniforms(m * r, seed: 4), uniforms(n * r, seed: 5))
    let (bf, wide) = (Self.rounded(doubles(dy)), Self.rounded(doubles(x)))
    let dh = Oracle.linear(bf, Oracle.transposed(Self.rounded(doubles(b)), columns: r), inner: m)
    let low = Self.rounded(dh.map { 0.5 * $0 })
    func transposed(_ x: [Double], _ columns: Int) -> [Double] { Oracle.transposed(x, columns: columns) }
    let db = Oracle.linear(transposed(bf, m), transposed(Self.rounded(doubles(h).map { 0.5 * $0 }), r), inner: n)
    let da = Oracle.linear(transposed(low, r), transposed(wide, k), inner: n)
    let dx = Oracle.linear(low, transposed(Self.rounded(doubles(a)), k), inner: r)
    // A sum that lies between two BF16 numbers may be rounded to either: a 256th of the largest.
    let largest = low.reduce(0) { max($0, abs($1)) }
    let counts = [r * k, m * r, n * k]
    let tolerances = [Double(n), 1e-3, Double(r)].map { 1e-4 + $0 * largest / 256 * 0.1 }
    agreeOnEachTier(
      onTop(da + db + dx),
      tolerance: { index in
        tolerances[index < counts[0] ? 0 : index < counts[0] + counts[1] ? 1 : 2]
      }
    ) { compute in
      let start = earlier(counts.reduce(0, +))
      var dA = Matrix(Array(start[..<counts[0]]), columns: k)
      var dB = Matrix(Array(start[counts[0]..<counts[0] + counts[1]]), columns: r)
      var dX = Matrix(Array(start[(counts[0] + counts[1])...]), columns: k)
      var work = BFloatWork(capacity: n, columns: m, rank: r)
      var dH = Matrix(rows: n, columns: r)
      let gradient = Matrix(dy, columns: m)
      work.rows.round(gradient, on: compute)
      LoRA.backwardParameters(
        gradient, x: Matrix(x, columns: k), b: Matrix(b, columns: r), scale: scale, saved: Matrix(h, columns: r), work: &work,
        dh: &dH, da: &dA, db: &dB, on: compute)
      LoRA.backwardInput(work, a: Matrix(a, columns: k), accumulating: true, dx: &dX, on: compute)
      return dA.values + dB.values + dX.values
    }
  }

  /// NaN and infinity must reach whoever looks for them, and halves go to the even neighbour.
  @Test func roundingKeepsWhatIsNotFinite() {
    let odd: [Float] = [.nan, .infinity, -.infinity, 0, -0, 1.00390625, 1.01171875, .greatestFiniteMagnitude]
    for compute in Machine.own {
      var rows = BFloatRows(capacity: 8, columns: 8)
      var diagonal = Matrix(rows: 8, columns: 8)
      for i in 0..<8 { diagonal[i, i] = odd[i] }
      rows.round(diagonal, on: compute)
      for i in 0..<8 {
        var dx = Matrix(rows: 8, columns: 1)
        var unit = [Float](repeating: 0, count: 8)
        unit[i] = 1
        Linear.backward(rows, weight: Weight(rows: 8, columns: 1, values: unit), dx: &dx, accumulating: false, on: compute)
        let (found, expected) = (dx[i, 0], Float(BFloat16(odd[i])))
        #expect(found == expected || (found.isNaN && !expected.isFinite), "\(odd[i]) on \(compute.label): \(found)")
        #expect(!(odd[i].isNaN && !found.isNaN))
      }
    }
  }

  /// A float weight that is trained: forward, and its own gradient. Only tiers with the instruction round; the others stay exact.
  @Test(arguments: shapes + [(300, 70, 100)])
  func trainedFloatsAgreeWithTheOracle(n: Int, m: Int, k: Int) {
    let (x, dy, start) = (uniforms(n * k, seed: 1), uniforms(n * m, seed: 2), earlier(m * k))
    let (weight, values) = randomWeight(rows: m, columns: k, format: .f32, seed: 3)
    for isa in ISA.available {
      let compute = Compute(isa: isa, threads: 2, floats: .bfloat16)
      let isRounded = compute.floats == .bfloat16
      let (left, right) = isRounded ? (Self.rounded(doubles(x)), doubles(Self.rounded(values))) : (doubles(x), doubles(values))
      let gradient = isRounded ? Self.rounded(doubles(dy)) : doubles(dy)
      let product = Oracle.linear(left, right, inner: k)
      let size = Oracle.linear(left.map(abs), right.map(abs), inner: k)
      var y = Matrix(rows: n, columns: m)
      Linear.forward(Matrix(x, columns: k), weight: weight, into: &y, on: compute)
      let slack = { (length: Int, size: [Double]) in { roundingTolerance(length: length, magnitude: size[$0] + 1) } }
      #expect(mismatch(y.values, product, columns: m, tolerance: slack(k, size)) == nil, "\(isa)")
      guard isRounded else { continue }
      let inputs = Oracle.transposed(left, columns: k)
      let sum = Oracle.linear(Oracle.transposed(gradient, columns: m), inputs, inner: n)
      let sumSize = Oracle.linear(Oracle.transposed(gradient.map(abs), columns: m), inputs.map(abs), inner: n)
      var pairs = BFloatPairs(capacity: n, columns: k)
      pairs.round(Matrix(x, columns: k), factor: 1, on: compute)
      var dWeight = Matrix(start, columns: k)
      Linear.backwardWeight(Matrix(dy, columns: m), pairs, dWeight: &dWeight, on: compute)
      let expected = zip(sum, start).map { $0 + Double($1) }
      #expect(mismatch(dWeight.values, expected, columns: k, tolerance: slack(n, sumSize)) == nil, "\(isa)")
    }
  }

  @Test func tiersWithoutTheInstructionUseFloats() {
    for isa in ISA.available {
      let compute = Compute(isa: isa, threads: 1)
      #expect((compute.gradients == .bfloat16) == (isa == .avx512bf16 || isa == .amx))
      #expect(Compute(isa: isa, threads: 1, gradients: .float).gradients == .float)
    }
  }
}
