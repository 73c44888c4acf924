import DibitKernels
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct GemmTests {
  /// Shapes around the vector width and across the 128 and 256 of the tiles.
  static let shapes = [(1, 1, 1), (2, 3, 5), (5, 17, 16), (7, 31, 33), (16, 64, 64), (17, 63, 67), (3, 129, 300), (300, 5, 3), (2, 300, 1)]

  static func tolerance(_ length: Int, _ magnitude: Double) -> Double { roundingTolerance(length: length, magnitude: magnitude) }

  @Test(arguments: shapes, [false, true])
  func ntAgrees(shape: (n: Int, m: Int, k: Int), accumulating: Bool) {
    let (n, m, k) = shape
    let (x, w, before) = (uniforms(n * k, seed: 1), uniforms(m * k, seed: 2), earlier(n * m))
    let product = Oracle.linear(doubles(x), doubles(w), inner: k)
    let size = Oracle.linear(magnitudes(x), magnitudes(w), inner: k)
    let expected = zip(product, before).map { 0.75 * $0 + (accumulating ? Double($1) : 0) }
    agree(expected, columns: m, tolerance: { Self.tolerance(k, size[$0] + 1) }) { compute in
      var y = Matrix(before, columns: m)
      Gemm.nt(Matrix(x, columns: k), Matrix(w, columns: k), scale: 0.75, accumulating: accumulating, into: &y, on: compute)
      return y.values
    }
  }

  @Test(arguments: shapes)
  func nnAndTnAgree(n: Int, m: Int, k: Int) {
    let (x, w, before) = (uniforms(n * k, seed: 3), uniforms(k * m, seed: 4), earlier(n * m))
    let product = Oracle.linear(doubles(x), Oracle.transposed(doubles(w), columns: m), inner: k)
    let size = Oracle.linear(magnitudes(x), Oracle.transposed(magnitudes(w), columns: m), inner: k)
    let expected = zip(product, before).map { -1.5 * $0 + Double($1) }
    agree(expected, columns: m, tolerance: { Self.tolerance(k, 1.5 * size[$0] + 1) }) { compute in
      var y = Matrix(before, columns: m)
      Gemm.nn(Matrix(x, columns: k), Matrix(w, columns: m), scale: -1.5, into: &y, on: compute)
      return y.values
    }
    let xt = Oracle.transposed(x, columns: k)
    agree(expected, columns: m, tolerance: { Self.tolerance(k, 1.5 * size[$0] + 1) }) { compute in
      var y = Matrix(before, columns: m)
      Gemm.tn(Matrix(xt, columns: n), Matrix(w, columns: m), scale: -1.5, into: &y, on: compute)
      return y.values
    }
  }

  @Test func notANumberInAnOldResultDoesNotSurvive() {
    for compute in [Machine.own[0], Machine.products[0]] {
      var y = Matrix(rows: 6, columns: 2, values: [Float](repeating: .nan, count: 12))
      Gemm.nt(Matrix(rows: 6, columns: 3), Matrix(rows: 2, columns: 3), into: &y, on: compute)
      #expect(y.values == [Float](repeating: 0, count: 12), compute.label)
    }
  }

  /// OpenBLAS may run instructions above a tier that was asked for, so a lower tier keeps to its own kernels.
  @Test(arguments: ISA.available)
  func onlyTheDetectedTierUsesOpenBLAS(isa: ISA) {
    let name = Compute(isa: isa, threads: 1).productLibrary
    if isa < .detected { #expect(name == "dibit") }
    #expect(Compute(isa: isa, threads: 1, usesBLAS: false).productLibrary == "dibit")
  }
}

@Suite struct LinearTests {
  static let formats: [WeightFormat] =
    [.f32, .f16, .bf16] + GridLevels.all.flatMap { levels in [32, 64, 128].map { .grid(Grid(levels, group: $0)) } }
  /// Columns with and without a full last block; 300 crosses the tile of the backward pass.
  static let columns = [1, 16, 17, 64, 100, 172, 300]

  static func formats(columns: Int) -> [WeightFormat] { formats + GridLevels.all.map { .grid(Grid($0, group: columns)) } }

  static func forward(_ x: [Float], _ w: Weight, on compute: Compute) -> [Float] {
    let input = Matrix(x, columns: w.columns)
    var y = Matrix(rows: input.rows, columns: w.rows)
    Linear.forward(input, weight: w, into: &y, on: compute)
    return y.values
  }

  /// What a weight is multiplied with: `x` itself, or for a packed one its values on the int8 grid.
  static func rounded(_ x: [Float], for w: Weight, on compute: Compute = Machine.usual) -> [Float] {
    guard case .grid = w.format else { return x }
    var rounded = QuantizedRows(capacity: x.count / w.columns, columns: w.columns)
    rounded.quantize(Matrix(x, columns: w.columns), on: compute)
    return rounded.values
  }

  /// Two bytes of an activation: the same bits on each tier, for one row and for many.
  @Test(arguments: [1, 100, 172, 1100])
  func wideActivationsAgreeWithTheOracle(columns k: Int) {
    let x = uniforms(7 * k, seed: 16)
    for format in Self.formats(columns: k) {
      let (w, values) = randomWeight(rows: 67, columns: k, format: format, seed: 17)
      var first: [Float]?
      for isa in ISA.available {
        let compute = Compute(isa: isa, threads: 2, usesBLAS: false, activations: .int16)
        let input = Self.rounded(x, for: w, on: compute)
        let size = Oracle.linear(magnitudes(input), magnitudes(values), inner: k)
        let found = Self.forward(x, w, on: compute)
        let alone = Self.forward(Array(x[..<k]), w, on: compute)
        let expected = Oracle.linear(doubles(input), doubles(values), inner: k)
        #expect(
          mismatch(found, expected, columns: 67, tolerance: { roundingTolerance(length: k, magnitude: size[$0]) }) == nil, compute.label)
        #expect(bitMismatch(alone, Array(found[..<67]), columns: 67) == nil, "\(format), \(compute.label)")
        #expect(bitMismatch(found, first ?? found, columns: 67) == nil, "\(format), \(compute.label)")
        first = first ?? found
      }
    }
  }

  /// One loop over several weights gives the bits of a loop for each, also where a piece of it ends in one weight and begins in another.
  @Test(arguments: [1, 100, 300], [1, 3, 4, 5])
  func severalWeightsAtOnceAreTheSame(columns k: Int, rows n: Int) {
    let x = Matrix(uniforms(n * k, seed: 21), columns: k)
    let (packed, wide, float) = (WeightFormat.grid(bits: 2, group: 64), WeightFormat.grid(bits: 4, group: 32), WeightFormat.f32)
    for formats in [
      [packed, packed, packed], [packed, wide, .grid(bits: 8, group: 64)], [packed, packed, float], [packed, float, wide],
      [float, float, float],
    ] {
      let weights = zip([67, 16, 1400], formats).enumerated().map { seed, one in
        randomWeight(rows: one.0, columns: k, format: one.1, seed: UInt64(22 + seed)).0
      }
      for compute in Machine.own {
        var rounded = QuantizedRows(capacity: n, columns: k)
        rounded.quantize(x, on: compute)
        let alone = weights.map { weight in
          var y = Matrix(rows: n, columns: weight.rows)
          Linear.forward(x, rounded: rounded, weight: weight, into: &y, on: compute)
          return y.values
        }
        var first = Matrix(rows: n, columns: 67)
        var second = Matrix(rows: n, columns: 16)
        var third = Matrix(rows: n, columns: 1400)
        Linear.forward(x, rounded: rounded, weights: weights[0], weights[1], into: &first, &second, on: compute)
        #expect([first.values, second.values] == Array(alone[..<2]), compute.label)
        first.fill(0)
        second.fill(0)
        Linear.forward(
          x, rounded: rounded, weights: weights[0], weights[1], weights[2], into: &first, &second, &third, on: compute)
        #expect([first.values, second.values, third.values] == alone, compute.label)
      }
    }
  }

  /// Few rows go through the matrix-vector kernel, more through tiles.
  @Test(arguments: columns, [1, 4, 5, 33])
  func forwardAgreesWithTheOracle(columns k: Int, rows n: Int) {
    let m = 67
    let x = uniforms(n * k, seed: 1)
    for format in Self.formats(columns: k) {
      let (w, values) = randomWeight(rows: m, columns: k, format: format, seed: 2)
      let input = Self.rounded(x, for: w)
      let expected = Oracle.linear(doubles(input), doubles(values), inner: k)
      let size = Oracle.linear(magnitudes(input), magnitudes(values), inner: k)
      agree(expected, columns: m, tolerance: { roundingTolerance(length: k, magnitude: size[$0]) }) { Self.forward(x, w, on: $0) }
    }
  }

  /// Whole numbers are summed exactly, so a row's result does not depend on how many rows come with it.
  @Test(arguments: [16, 100, 172, 1100])
  func aRowOfManyIsTheSameAsARowAlone(columns k: Int) {
    let x = uniforms(13 * k, seed: 12)
    for format in Self.formats(columns: k) {
      guard case .grid = format else { continue }
      let (w, _) = randomWeight(rows: 150, columns: k, format: format, seed: 13)
      for compute in Machine.own {
        let all = Self.forward(x, w, on: compute)
        for row in [0, 5, 12] {
          let alone = Self.forward(Array(x[row * k..<(row + 1) * k]), w, on: compute)
          #expect(bitMismatch(alone, Array(all[row * 150..<(row + 1) * 150]), columns: 150) == nil, "\(format), \(compute.label)")
        }
      }
    }
  }

  @Test func someRowsOfAPackedWeightAreThoseRows() {
    let x = uniforms(2 * 172, seed: 14)
    for format in [WeightFormat.grid(bits: 2, group: 64), .grid(bits: 4, group: 32), .grid(bits: 8, group: 64), .grid(bits: 2, group: 172)]
    {
      let (w, _) = randomWeight(rows: 70, columns: 172, format: format, seed: 15)
      let all = Self.forward(x, w, on: Machine.usual)
      for range in [0..<70, 16..<40, 5..<70, 17..<18] {
        let part = Self.forward(x, w.packedRows(range), on: Machine.usual)
        let expected = (0..<2).flatMap { all[$0 * 70 + range.lowerBound..<$0 * 70 + range.upperBound] }
        #expect(bitMismatch(part, expected, columns: range.count) == nil, "\(format), \(range)")
      }
    }
  }

  @Test(arguments: columns)
  func aPackedWeightExpandedGivesTheSameBitsAsItsValues(columns k: Int) {
    for format in Self.formats(columns: k) {
      let (w, values) = randomWeight(rows: 67, columns: k, format: format, seed: 3)
      let plain = Weight(rows: 67, columns: k, values: values)
      for n in [2, 9] {
        let x = uniforms(n * k, seed: 4)
        let compute = Compute(isa: .scalar, threads: 1, usesBLAS: false, activations: .float)
        #expect(
          bitMismatch(Self.forward(x, w, on: compute), Self.forward(x, plain, on: compute), columns: 67) == nil, "\(format), \(n) rows")
      }
    }
  }

  @Test(arguments: [(1, 17), (3, 100), (9, 172), (2, 300)])
  func backwardAgreesWithTheOracle(rows n: Int, columns k: Int) {
    let m = n == 2 ? 260 : 67
    let dy = uniforms(n * m, seed: 5)
    for format in Self.formats(columns: k) {
      let (w, values) = randomWeight(rows: m, columns: k, format: format, seed: 6)
      let expected = Oracle.linear(doubles(dy), Oracle.transposed(doubles(values), columns: k), inner: m)
      let size = Oracle.linear(magnitudes(dy), Oracle.transposed(magnitudes(values), columns: k), inner: m)
      agree(onTop(expected), columns: k, tolerance: { roundingTolerance(length: m, magnitude: size[$0] + 1) }) { compute in
        var dx = Matrix(earlier(n * k), columns: k)
        Linear.backward(Matrix(dy, columns: m), weight: w, dx: &dx, on: compute)
        return dx.values
      }
    }
  }

  @Test func gradientsAgreeWithTheComplexStep() {
    let (n, m, k) = (3, 4, 5)
    let (x, w, dy) = (uniforms(n * k, seed: 7), uniforms(m * k, seed: 8), uniforms(n * m, seed: 9))
    let gradients = expectedGradients(of: [doubles(x), doubles(w)], dy: doubles(dy)) { Oracle.linear($0[0], $0[1], inner: k) }
    agree(gradients.flatMap { onTop($0) }, columns: k, within: roundingTolerance(length: 4, magnitude: 5)) { compute in
      var dx = Matrix(earlier(n * k), columns: k)
      var dw = Matrix(earlier(m * k), columns: k)
      Linear.backward(Matrix(dy, columns: m), weight: Weight(rows: m, columns: k, values: w), dx: &dx, on: compute)
      Linear.backwardWeight(Matrix(dy, columns: m), Matrix(x, columns: k), dWeight: &dw, on: compute)
      return dx.values + dw.values
    }
  }

  @Test func shapesThatDoNotFitTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var y = Matrix(rows: 2, columns: 3)
      Linear.forward(
        Matrix(rows: 2, columns: 4), weight: Weight(zerosWithRows: 3, columns: 5), into: &y, on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("Linear: x [2, 4], W [3, 5], y [2, 3]", result)
  }

  /// Each F16 pattern as a weight of one column, times one.
  @Test func everyHalfPatternIsExpandedExactly() {
    let bytes = (0..<65_536).flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    let w = Weight(rows: 65_536, columns: 1, format: .f16, elements: Bytes(SharedBytes(bytes)))
    for compute in Machine.own where compute.threads == 1 {
      var y = Matrix(rows: 65_536, columns: 1)
      Embedding.forward([Int32](0..<65_536).span, weight: w, into: &y, on: compute)
      let found = y.values
      let wrong = (0..<65_536).filter { pattern in
        let expected = halfValue(UInt16(pattern))
        return expected.isNaN ? !found[pattern].isNaN : found[pattern].bitPattern != expected.bitPattern
      }
      #expect(wrong.isEmpty, compute.label)
    }
  }
}

@Suite struct LoRATests {
  static func run(n: Int, m: Int, k: Int, r: Int, gradientTest: Bool) {
    let scale: Float = 0.5
    let (x, a, b) = (uniforms(n * k, seed: 1), uniforms(r * k, seed: 2), uniforms(m * r, seed: 3))
    let dy = uniforms(n * m, seed: 4)
    let update = Oracle.lora(doubles(x), a: doubles(a), b: doubles(b), scale: Double(scale), inner: k)
    let size = Oracle.lora(magnitudes(x), a: magnitudes(a), b: magnitudes(b), scale: Double(scale), inner: k)
    agree(onTop(update), columns: m, tolerance: { roundingTolerance(length: k + r, magnitude: size[$0] + 1) }) { compute in
      var h = Matrix(rows: n, columns: r)
      var y = Matrix(earlier(n * m), columns: m)
      LoRA.forward(
        Matrix(x, columns: k), a: Matrix(a, columns: k), b: Matrix(b, columns: r), scale: scale, saving: &h, into: &y, on: compute)
      return y.values
    }
    guard gradientTest else { return }
    let gradients = expectedGradients(of: [doubles(x), doubles(a), doubles(b)], dy: doubles(dy)) {
      Oracle.lora($0[0], a: $0[1], b: $0[2], scale: Double(scale), inner: k)
    }
    let magnitude = Double(scale) * Double(max(n, m)) * Double(max(r, k))
    agree(gradients.flatMap { onTop($0) }, within: roundingTolerance(length: m + r + k, magnitude: magnitude)) { compute in
      var h = Matrix(rows: n, columns: r)
      var y = Matrix(rows: n, columns: m)
      var dh = Matrix([Float](repeating: 7, count: n * r), columns: r)  // working memory: what it held must not matter
      var da = Matrix(earlier(r * k), columns: k)
      var db = Matrix(earlier(m * r), columns: r)
      var dx = Matrix(earlier(n * k), columns: k)
      let (input, down, up) = (Input(x, k), Input(a, k), Input(b, r))
      LoRA.forward(input.matrix, a: down.matrix, b: up.matrix, scale: scale, saving: &h, into: &y, on: compute)
      LoRA.backwardB(Matrix(dy, columns: m), scale: scale, saved: h, db: &db, on: compute)
      LoRA.backwardA(Matrix(dy, columns: m), x: input.matrix, b: up.matrix, scale: scale, dh: &dh, da: &da, on: compute)
      LoRA.backwardInput(dh, a: down.matrix, accumulating: true, dx: &dx, on: compute)
      return dx.values + da.values + db.values
    }
  }

  /// A matrix that may lie in a tuple.
  private final class Input {
    let matrix: Matrix
    init(_ values: [Float], _ columns: Int) { matrix = Matrix(values, columns: columns) }
  }

  @Test(arguments: [(1, 1, 1, 1), (2, 3, 5, 2), (5, 7, 3, 4), (6, 2, 17, 3)])
  func gradientsAgreeWithTheComplexStep(n: Int, m: Int, k: Int, r: Int) { Self.run(n: n, m: m, k: k, r: r, gradientTest: true) }

  @Test(arguments: [(1, 129, 67, 8), (19, 64, 130, 32), (5, 33, 17, 16)])
  func forwardAgreesWithTheOracle(n: Int, m: Int, k: Int, r: Int) { Self.run(n: n, m: m, k: k, r: r, gradientTest: false) }
}
