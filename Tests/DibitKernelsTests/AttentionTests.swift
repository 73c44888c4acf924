import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

/// Several sequences, one after the other, in queries and cache.
struct Batch {
  let lengths: [Int]
  let heads: Int
  let keyValueHeads: Int
  let headSize: Int
  let q: [Float]
  let k: [Float]
  let v: [Float]

  init(lengths: [Int], heads: Int, keyValueHeads: Int, headSize: Int) {
    self.lengths = lengths
    self.heads = heads
    self.keyValueHeads = keyValueHeads
    self.headSize = headSize
    let rows = lengths.reduce(0, +)
    q = uniforms(rows * heads * headSize, seed: 1, bound: 2)
    k = uniforms(rows * keyValueHeads * headSize, seed: 2, bound: 2)
    v = uniforms(rows * keyValueHeads * headSize, seed: 3)
  }

  var rows: Int { lengths.reduce(0, +) }
  var scale: Float { 1 / Float(headSize).squareRoot() }
  var attention: Attention { Attention(heads: heads, keyValueHeads: keyValueHeads, headSize: headSize, scale: scale) }

  var segments: Segments {
    var segments = Segments(capacity: lengths.count)
    for length in lengths { segments.append(rows: length, start: segments.rows) }
    return segments
  }

  var sequences: [Oracle.Sequence] {
    var row = 0
    return lengths.map { length in
      defer { row += length }
      return Oracle.Sequence(queries: row..<row + length, own: row)
    }
  }

  func stored(_ x: [Float], as storage: KeyValueRows.Storage = .floats, on compute: Compute) -> KeyValueRows {
    var stored = KeyValueRows(rows: rows, columns: keyValueHeads * headSize, heads: keyValueHeads, storage: storage)
    var copy = Matrix(x, columns: keyValueHeads * headSize)
    stored.write(&copy, segments: segments, on: compute)
    return stored
  }

  func forward(keys: KeyValueRows.Storage = .floats, values: KeyValueRows.Storage = .floats, on compute: Compute) -> (
    y: [Float], logSumExp: [Float]
  ) {
    var logSumExp = Matrix(rows: rows, columns: heads)
    var y = Matrix(rows: rows, columns: heads * headSize)
    attention.forward(
      Matrix(q, columns: heads * headSize), keys: stored(k, as: keys, on: compute), values: stored(v, as: values, on: compute),
      segments: segments, saving: &logSumExp, into: &y, on: compute)
    return (y.values, logSumExp.values)
  }
}

@Suite struct AttentionTests {
  /// Scores are at most `headSize · 4 · scale` and an error of a score is a relative error of its probability.
  static func tolerance(_ batch: Batch, magnitude: Double = 1) -> Double {
    let score = Double(batch.headSize) * 4 * Double(batch.scale)
    return roundingTolerance(length: batch.headSize + batch.rows, magnitude: magnitude * (1 + score))
  }

  @Test(arguments: [1, 2, 5, 16, 17, 33, 64], [(1, 1), (4, 2), (6, 2), (3, 3)])
  func forwardAgreesWithTheOracle(headSize: Int, heads: (query: Int, keyValue: Int)) {
    let batch = Batch(lengths: [3, 1, 18], heads: heads.query, keyValueHeads: heads.keyValue, headSize: headSize)
    let expected = Oracle.attention(
      q: doubles(batch.q), k: doubles(batch.k), v: doubles(batch.v), heads: batch.heads, keyValueHeads: batch.keyValueHeads,
      headSize: headSize, scale: Double(batch.scale), sequences: batch.sequences)
    agree(expected, columns: batch.heads * headSize, within: Self.tolerance(batch)) { batch.forward(on: $0).y }
  }

  @Test(arguments: [[15], [16], [17], [33, 32]])
  func lengthsAroundTheVectorWidthAgree(lengths: [Int]) {
    let batch = Batch(lengths: lengths, heads: 2, keyValueHeads: 1, headSize: 4)
    let expected = Oracle.attention(
      q: doubles(batch.q), k: doubles(batch.k), v: doubles(batch.v), heads: 2, keyValueHeads: 1, headSize: 4, scale: Double(batch.scale),
      sequences: batch.sequences)
    agree(expected, columns: 8, within: Self.tolerance(batch)) { batch.forward(on: $0).y }
  }

  @Test(arguments: [([2, 3], 4, 2, 3), ([17], 2, 1, 1), ([1, 4, 1], 3, 3, 2), ([6], 4, 1, 5)])
  func gradientsAgreeWithTheComplexStep(lengths: [Int], heads: Int, keyValueHeads: Int, headSize: Int) {
    let batch = Batch(lengths: lengths, heads: heads, keyValueHeads: keyValueHeads, headSize: headSize)
    let dy = uniforms(batch.q.count, seed: 4)
    let gradients = expectedGradients(of: [doubles(batch.q), doubles(batch.k), doubles(batch.v)], dy: doubles(dy)) {
      Oracle.attention(
        q: $0[0], k: $0[1], v: $0[2], heads: heads, keyValueHeads: keyValueHeads, headSize: headSize, scale: Double(batch.scale),
        sequences: batch.sequences)
    }
    let magnitude = 4 * Double(batch.rows * headSize * (heads / keyValueHeads))
    agree(gradients.flatMap { onTop($0) }, within: Self.tolerance(batch, magnitude: magnitude)) { compute in
      let (y, logSumExp) = batch.forward(on: compute)
      let (queryColumns, keyColumns) = (heads * headSize, keyValueHeads * headSize)
      var dq = Matrix(earlier(batch.q.count), columns: queryColumns)
      var dk = Matrix(earlier(batch.k.count), columns: keyColumns)
      var dv = Matrix(earlier(batch.v.count), columns: keyColumns)
      batch.attention.backward(
        Matrix(dy, columns: queryColumns), y: Matrix(y, columns: queryColumns), q: Matrix(batch.q, columns: queryColumns),
        keys: batch.stored(batch.k, on: compute), values: batch.stored(batch.v, on: compute), segments: batch.segments,
        saved: Matrix(logSumExp, columns: heads), dq: &dq, dk: &dk, dv: &dv, on: compute)
      return dq.values + dk.values + dv.values
    }
  }

  /// Rows that a prefix shares lie elsewhere in the cache; nothing else may differ.
  @Test(arguments: [(1, 0, 1), (5, 0, 4), (18, 3, 20), (16, 16, 1)])
  func aSharedPrefixEqualsTheConcatenatedSequence(prefix: Int, past: Int, rows: Int) {
    let (heads, size) = (4, 17)
    let all = prefix + past + rows
    let (k, v) = (uniforms(all * 2 * size, seed: 1), uniforms(all * 2 * size, seed: 2))
    let q = uniforms(rows * heads * size, seed: 3)
    let attention = Attention(heads: heads, keyValueHeads: 2, headSize: size, scale: 0.25)

    func cache(_ x: [Float], at cacheRows: [Int], rows count: Int, on compute: Compute) -> KeyValueRows {
      var cache = KeyValueRows(rows: count, columns: 2 * size, storage: .floats)
      for (row, cacheRow) in cacheRows.enumerated() {
        var one = Segments(capacity: 1)
        one.append(rows: 1, start: cacheRow)
        var x = Matrix(Array(x[row * 2 * size..<(row + 1) * 2 * size]), columns: 2 * size)
        cache.write(&x, segments: one, on: compute)
      }
      return cache
    }

    func outputs(at cacheRows: [Int], rows count: Int, segment: (inout Segments) -> Void, on compute: Compute) -> [Float] {
      var segments = Segments(capacity: 1)
      segment(&segments)
      var logSumExp = Matrix(rows: rows, columns: heads)
      var y = Matrix(rows: rows, columns: heads * size)
      attention.forward(
        Matrix(q, columns: heads * size), keys: cache(k, at: cacheRows, rows: count, on: compute),
        values: cache(v, at: cacheRows, rows: count, on: compute), segments: segments, saving: &logSumExp, into: &y, on: compute)
      return y.values + logSumExp.values
    }

    for compute in Machine.own + Machine.products {
      let whole = outputs(at: Array(0..<all), rows: all, segment: { $0.append(rows: rows, start: 0, past: prefix + past) }, on: compute)
      let before = outputs(
        at: Array(2..<2 + prefix) + Array(prefix + 5..<all + 5), rows: all + 5,
        segment: { $0.append(rows: rows, start: prefix + 5, past: past, prefix: 2..<2 + prefix) }, on: compute)
      let after = outputs(
        at: Array(past + rows + 1..<all + 1) + Array(0..<past + rows), rows: all + 1,
        segment: { $0.append(rows: rows, start: 0, past: past, prefix: past + rows + 1..<all + 1) }, on: compute)
      #expect(bitMismatch(before, whole) == nil, compute.label)
      #expect(bitMismatch(after, whole) == nil, compute.label)
    }
  }

  @Test func segmentsCountEveryRowThatIsRead() {
    var segments = Segments(capacity: 2)
    segments.append(rows: 2, start: 0, past: 1, prefix: 10..<14)
    #expect(segments.cacheRows == 14 && segments.longest == 7 && segments.rows == 2 && !segments.areWhole)
    segments.append(rows: 1, start: 20)
    #expect(segments.cacheRows == 21 && segments.rows == 3)
    segments.removeAll()
    #expect(segments.cacheRows == 0 && segments.longest == 0 && segments.rows == 0 && segments.areWhole)
  }

  @Test func aSegmentWithoutRoomTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var segments = Segments(capacity: 1)
      segments.append(rows: 1, start: 0)
      segments.append(rows: 1, start: 1)
    }
    expectTrap("Segments: no room for more than 1", result)
  }

  @Test func rowsBehindTheCacheTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let attention = Attention(heads: 1, keyValueHeads: 1, headSize: 2, scale: 1)
      let rows = KeyValueRows(rows: 3, columns: 2, storage: .floats)
      var segments = Segments(capacity: 1)
      segments.append(rows: 1, start: 0, prefix: 1..<4)
      var y = Matrix(rows: 1, columns: 2)
      var logSumExp = Matrix(rows: 1, columns: 1)
      attention.forward(
        Matrix(rows: 1, columns: 2), keys: rows, values: rows, segments: segments, saving: &logSumExp, into: &y,
        on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("Attention: keys [3, 2]", result)
  }

  @Test func aBackwardPassOverAPrefixTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let rows = KeyValueRows(rows: 2, columns: 2, storage: .floats)
      var segments = Segments(capacity: 1)
      segments.append(rows: 1, start: 1, prefix: 0..<1)
      let x = Matrix(rows: 1, columns: 2)
      var dq = Matrix(rows: 1, columns: 2)
      var dk = Matrix(rows: 2, columns: 2)
      var dv = Matrix(rows: 2, columns: 2)
      Attention(heads: 1, keyValueHeads: 1, headSize: 2, scale: 1).backward(
        x, y: x, q: x, keys: rows, values: rows, segments: segments, saved: Matrix(rows: 1, columns: 1), dq: &dq, dk: &dk, dv: &dv,
        on: Compute(threads: 1, usesBLAS: false))
    }
    expectTrap("Attention.backward: a segment has a prefix or a past", result)
  }

  @Test func segmentsNameTheRowsToWrite() {
    var segments = Segments(capacity: 2)
    segments.append(rows: 2, start: 8, past: 1, prefix: 0..<4)
    segments.append(rows: 3, start: 20)
    var seen: [[Int]] = []
    segments.forEach { seen.append([$0, $1, $2, $3]) }
    #expect(seen == [[0, 2, 9, 5], [2, 3, 20, 0]])
  }
}

@Suite struct KeyValueRowsTests {
  static let scale: Float = 0.03

  /// Rows that hold `x`, which becomes what they hold.
  static func stored(_ x: inout [Float], as storage: KeyValueRows.Storage, on compute: Compute) -> KeyValueRows {
    var segments = Segments(capacity: 1)
    segments.append(rows: 1, start: 0)
    var rows = KeyValueRows(rows: 1, columns: x.count, storage: storage)
    var copy = Matrix(x, columns: x.count)
    rows.write(&copy, segments: segments, on: compute)
    x = copy.values
    return rows
  }

  /// Saturation on both sides, ties of both parities, and ordinary values.
  static let awkwardValues: [Float] =
    [-10, -3.85, -3.84, -3.83, 3.79, 3.81, 3.82, 10, 0, 0.015, 0.045, -0.015, -0.045] + uniforms(130, seed: 1, bound: 4)

  @Test(arguments: [true, false])
  func roundingFollowsItsFormula(keepsCodes: Bool) {
    let x = Self.awkwardValues
    let expected = x.map { min(max(($0 / Self.scale).rounded(.toNearestOrEven), -128), 127) * Self.scale }
    for compute in Machine.own {
      var found = x
      _ = Self.stored(&found, as: keepsCodes ? .int8(scale: Self.scale) : .roundedFloats(scale: Self.scale), on: compute)
      #expect(bitMismatch(found, expected) == nil, compute.label)
    }
  }

  @Test func theGradientPassesStraightThroughExceptWhereTheCodeSaturates() {
    let x = Self.awkwardValues
    let dy = uniforms(x.count, seed: 2)
    let codes = x.map { ($0 / Self.scale).rounded(.toNearestOrEven) }
    let expected = zip(dy, codes).map { $1 <= -128 || $1 >= 127 ? 0 : $0 }
    for compute in Machine.own {
      var dx = Matrix(dy, columns: x.count)
      var rounded = x
      Self.stored(&rounded, as: .roundedFloats(scale: Self.scale), on: compute).backward(&dx, on: compute)
      #expect(bitMismatch(dx.values, expected) == nil, compute.label)
    }
    #expect(zip(expected, dy).contains { $0 != $1 })
  }

  @Test func floatsAreKeptAndTheirGradientPasses() {
    let x = Self.awkwardValues
    var dx = Matrix(x, columns: x.count)
    var rounded = x
    let rows = Self.stored(&rounded, as: .floats, on: Machine.usual)
    rows.backward(&dx, on: Machine.usual)
    #expect(rounded == x && dx.values == x)
    #expect(rows.largestMagnitude(rows: 1) == 10)
  }

  @Test(arguments: [(Float(0.02), Float(0.01)), (0.5, 0.3)])
  func codesAndRoundedFloatsGiveTheSameAttention(keyScale: Float, valueScale: Float) {
    let batch = Batch(lengths: [3, 18], heads: 4, keyValueHeads: 2, headSize: 17)
    for compute in Machine.own {
      let codes = batch.forward(keys: .int8(scale: keyScale), values: .int8(scale: valueScale), on: compute)
      let floats = batch.forward(keys: .roundedFloats(scale: keyScale), values: .roundedFloats(scale: valueScale), on: compute)
      #expect(bitMismatch(codes.y + codes.logSumExp, floats.y + floats.logSumExp) == nil, compute.label)
    }
  }

  @Test func codesTakeOneByteEach() {
    #expect(KeyValueRows(rows: 3, columns: 5, storage: .int8(scale: 1)).byteCount == 15)
    #expect(KeyValueRows(rows: 3, columns: 5, storage: .floats).byteCount == 60)
  }
}
