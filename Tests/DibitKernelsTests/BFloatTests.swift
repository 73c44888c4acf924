import DibitKernels
import DibitQuantization
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

  /// Two halves: `dh` against the oracle, then what follows from `dh` as it is. A sum between two BF16 numbers goes to either of them with the
  /// last bit of the sum, so that from the oracle's own `dh` on no tolerance below BF16's would hold.
  @Test(arguments: [(1, 1, 16, 1), (7, 70, 100, 5), (300, 65, 130, 32), (257, 30, 64, 70)])
  func adapterAgreesWithTheOracle(n: Int, m: Int, k: Int, r: Int) {
    let scale: Float = 0.5
    let (dy, x) = (uniforms(n * m, seed: 1), uniforms(n * k, seed: 2))
    let (a, b, h) = (uniforms(r * k, seed: 3), uniforms(m * r, seed: 4), uniforms(n * r, seed: 5))
    let (bf, wide) = (doubles(Self.rounded(dy)), doubles(Self.rounded(x)))
    func transposed(_ x: [Double], _ columns: Int) -> [Double] { Oracle.transposed(x, columns: columns) }
    /// `x Wᵀ` on top of `earlier`, and the tolerance of each sum.
    func product(_ x: [Double], _ w: [Double], inner: Int, on earlier: [Float]) -> (values: [Double], tolerances: [Double]) {
      let size = Oracle.linear(x.map(abs), w.map(abs), inner: inner)
      return (
        values: zip(Oracle.linear(x, w, inner: inner), earlier).map { $0 + Double($1) },
        tolerances: size.map { roundingTolerance(length: inner, magnitude: $0 + 1) }
      )
    }
    let zeros = [Float](repeating: 0, count: n * r)
    let dh = product(bf, transposed(doubles(Self.rounded(b)), r), inner: m, on: zeros)
    let (dAStart, dBStart, dXStart) = (earlier(r * k), earlier(m * r), earlier(n * k))
    let db = product(
      transposed(bf, m), transposed(doubles(Self.rounded(h.map { scale * $0 })), r), inner: n, on: dBStart)
    for isa in ISA.available {
      var first: [Float]?
      for compute in Machine.own where compute.isa == isa {
        var dA = Matrix(dAStart, columns: k)
        var dB = Matrix(dBStart, columns: r)
        var dX = Matrix(dXStart, columns: k)
        var work = BFloatWork(capacity: n, columns: m, rank: r)
        var dH = Matrix(rows: n, columns: r)
        let gradient = Matrix(dy, columns: m)
        work.rows.round(gradient, on: compute)
        LoRA.backwardB(gradient, scale: scale, saved: Matrix(h, columns: r), work: &work, db: &dB, on: compute)
        LoRA.backwardA(
          x: Matrix(x, columns: k), b: Matrix(b, columns: r), scale: scale, work: &work, dh: &dH, da: &dA, on: compute)
        LoRA.backwardInput(work, a: Matrix(a, columns: k), accumulating: true, dx: &dX, on: compute)
        let found = dH.values + dA.values + dB.values + dX.values
        // Every number of threads gives the same bits.
        if let first {
          #expect(bitMismatch(found, first, columns: k) == nil, compute.label)
          continue
        }
        first = found
        let low = doubles(Self.rounded(dH.values.map { scale * $0 }))
        let da = product(transposed(low, r), transposed(wide, k), inner: n, on: dAStart)
        let dx = product(low, transposed(doubles(Self.rounded(a)), k), inner: r, on: dXStart)
        for (name, found, expected) in [("dh", dH.values, dh), ("dA", dA.values, da), ("dB", dB.values, db), ("dx", dX.values, dx)] {
          let wrong = mismatch(found, expected.values, columns: 1) { expected.tolerances[$0] }
          #expect(wrong == nil, "\(name), \(compute.isa)")
        }
      }
    }
  }

  /// The term of an adapter in a forward pass, for some of the rows; in two halves as above. Ranks of one stripe and of more, rows of one block and of more.
  @Test(arguments: [(1, 1, 16, 1), (7, 70, 100, 5), (300, 65, 130, 32), (213, 30, 64, 70)])
  func forwardTermAgreesWithTheOracle(n: Int, m: Int, k: Int, r: Int) {
    let scale: Float = 0.5
    let rows = n / 4..<n
    let (x, a, b) = (uniforms(n * k, seed: 1), uniforms(r * k, seed: 2), uniforms(m * r, seed: 3))
    let before = earlier(n * m)
    let (xs, factor) = (doubles(Self.rounded(Array(x[(rows.lowerBound * k)...]))), doubles(Self.rounded(a)))
    let (product, size) = (Oracle.linear(xs, factor, inner: k), Oracle.linear(xs.map(abs), factor.map(abs), inner: k))
    for isa in ISA.available {
      var first: [Float]?
      for compute in Machine.own where compute.isa == isa {
        var work = BFloatWork(capacity: n + 1, columns: k + 3, rank: r + 2)
        var h = Matrix(rows: n, columns: r)
        var y = Matrix(before, columns: m)
        work.rows.round(Matrix(x, columns: k), on: compute)
        LoRA.forward(
          rows: rows, a: Matrix(a, columns: k), b: Matrix(b, columns: r), scale: scale, work: &work, projected: &h, into: &y, on: compute)
        let found = h.values + y.values
        if let first {
          #expect(bitMismatch(found, first, columns: 1) == nil, compute.label)
          continue
        }
        first = found
        #expect(
          mismatch(h.values, product, columns: r, tolerance: { roundingTolerance(length: k, magnitude: size[$0] + 1) }) == nil, "\(isa)")
        let (low, up) = (doubles(Self.rounded(h.values.map { scale * $0 })), doubles(Self.rounded(b)))
        let (term, termSize) = (Oracle.linear(low, up, inner: r), Oracle.linear(low.map(abs), up.map(abs), inner: r))
        let skipped = rows.lowerBound * m
        let expected = before.enumerated().map { Double($1) + ($0 < skipped ? 0 : term[$0 - skipped]) }
        let wrong = mismatch(y.values, expected, columns: m) {
          $0 < skipped ? .leastNonzeroMagnitude : roundingTolerance(length: r, magnitude: termSize[$0 - skipped] + 1)
        }
        #expect(wrong == nil, "\(isa)")
      }
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

  /// What scoring relies on where it multiplies float weights in BF16.
  @Test(arguments: [WeightFormat.f32, .f16, .bf16])
  func aRowIsTheSameAloneAndAmongOthers(format: WeightFormat) {
    let (n, m, k) = (23, 130, 300)
    let x = uniforms(n * k, seed: 1)
    let (weight, _) = randomWeight(rows: m, columns: k, format: format, seed: 2)
    for isa in ISA.available {
      let compute = Compute(isa: isa, threads: 2, usesBLAS: false, floats: .bfloat16)
      guard compute.floats == .bfloat16 else { continue }
      var all = Matrix(rows: n, columns: m)
      Linear.forward(Matrix(x, columns: k), weight: weight, into: &all, on: compute)
      for rows in [0..<1, 5..<9, 6..<23] {
        var some = Matrix(rows: rows.count, columns: m)
        Linear.forward(Matrix(Array(x[rows.lowerBound * k..<rows.upperBound * k]), columns: k), weight: weight, into: &some, on: compute)
        #expect(some.values == Array(all.values[rows.lowerBound * m..<rows.upperBound * m]), "\(isa), rows \(rows)")
      }
    }
  }

  @Test func theFastestActivationsAloneGoWithBFloat() {
    #expect(ActivationPrecision.allCases.filter { $0.floats == .bfloat16 } == [.int8])
  }

  @Test func tiersWithoutTheInstructionUseFloats() {
    for isa in ISA.available {
      let compute = Compute(isa: isa, threads: 1)
      #expect((compute.gradients == .bfloat16) == (isa == .avx512bf16 || isa == .amx))
      #expect(Compute(isa: isa, threads: 1, gradients: .float).gradients == .float)
    }
  }
}
