import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

/// However queries are grouped into passes and tasks, a query's result has the same bits.
@Suite struct AttentionTileTests {
  static let storages: [KeyValueRows.Storage] = [.floats, .float16, .roundedFloats(scale: 0.02), .int8(scale: 0.02), .int8PerHead]

  /// Heads of every kind of width, over several blocks of keys.
  @Test(arguments: [8, 17, 64, 80, 128], [(1, 1), (4, 1), (6, 2)])
  func awkwardHeadsAgreeWithTheOracle(headSize: Int, heads: (query: Int, keyValue: Int)) {
    let batch = Batch(lengths: [3, 150, 1, 65], heads: heads.query, keyValueHeads: heads.keyValue, headSize: headSize)
    let expected = Oracle.attention(
      q: doubles(batch.q), k: doubles(batch.k), v: doubles(batch.v), heads: batch.heads, keyValueHeads: batch.keyValueHeads,
      headSize: headSize, scale: Double(batch.scale), sequences: batch.sequences)
    agree(expected, columns: batch.heads * headSize, within: AttentionTests.tolerance(batch)) { batch.forward(on: $0).y }
  }

  /// One sequence in a cache of `storage`; a pass computes some of its queries.
  private struct Case {
    let length: Int
    let attention: Attention
    let storage: KeyValueRows.Storage
    let q: [Float]
    let k: [Float]
    let v: [Float]

    init(_ length: Int, _ attention: Attention, _ storage: KeyValueRows.Storage) {
      (self.length, self.attention, self.storage) = (length, attention, storage)
      q = uniforms(length * attention.heads * attention.headSize, seed: 1, bound: 2)
      k = uniforms(length * attention.keyValueHeads * attention.headSize, seed: 2, bound: 2)
      v = uniforms(length * attention.keyValueHeads * attention.headSize, seed: 3)
    }

    var queryColumns: Int { attention.heads * attention.headSize }

    /// The rows of `x`, which becomes what it was rounded to.
    func stored(_ x: inout [Float], as storage: KeyValueRows.Storage, on compute: Compute) -> KeyValueRows {
      let columns = attention.keyValueHeads * attention.headSize
      var rows = KeyValueRows(rows: length, columns: columns, heads: attention.keyValueHeads, storage: storage)
      var copy = Matrix(x, columns: columns)
      var segments = Segments(capacity: 1)
      segments.append(rows: length, start: 0)
      rows.write(&copy, segments: segments, on: compute)
      x = copy.values
      return rows
    }

    func outputs(of queries: Range<Int>, _ keys: borrowing KeyValueRows, _ values: borrowing KeyValueRows, on compute: Compute) -> [Float] {
      var segments = Segments(capacity: 1)
      segments.append(rows: queries.count, start: 0, past: queries.lowerBound)
      var y = Matrix(rows: queries.count, columns: queryColumns)
      var logSumExp = Matrix(rows: queries.count, columns: attention.heads)
      attention.forward(
        Matrix(Array(q[queries.lowerBound * queryColumns..<queries.upperBound * queryColumns]), columns: queryColumns), keys: keys,
        values: values, segments: segments, saving: &logSumExp, into: &y, on: compute)
      let (values, sums) = (y.values, logSumExp.values)
      var rows: [Float] = []
      for row in 0..<queries.count {
        rows += values[row * queryColumns..<(row + 1) * queryColumns]
        rows += sums[row * attention.heads..<(row + 1) * attention.heads]
      }
      return rows
    }
  }

  @Test(arguments: storages, [(nil, nil), (50, nil), (70, 1.5)] as [(Int?, Float?)])
  func decodingHasTheBitsOfTheWholePrompt(storage: KeyValueRows.Storage, kind: (window: Int?, cap: Float?)) {
    for (heads, keyValueHeads, size) in [(4, 2, 17), (3, 3, 16), (8, 1, 64)] {
      let one = Case(
        140,
        Attention(heads: heads, keyValueHeads: keyValueHeads, headSize: size, scale: 0.2, window: kind.window, softCap: kind.cap), storage)
      for compute in Machine.own {
        var (k, v) = (one.k, one.v)
        let keys = one.stored(&k, as: storage, on: compute)
        let values = one.stored(&v, as: storage, on: compute)
        let whole = one.outputs(of: 0..<140, keys, values, on: compute)
        var pieces: [Float] = []
        for piece in [0..<1, 1..<2, 2..<5, 5..<63, 63..<64, 64..<65, 65..<129, 129..<139, 139..<140] {
          pieces += one.outputs(of: piece, keys, values, on: compute)
        }
        #expect(bitMismatch(pieces, whole) == nil, compute.label)
      }
    }
  }

  @Test(arguments: storages)
  func everyKindReadsWhatItsWriterSaidItStored(storage: KeyValueRows.Storage) {
    let one = Case(70, Attention(heads: 4, keyValueHeads: 2, headSize: 17, scale: 0.2), storage)
    for compute in Machine.own {
      var (k, v) = (one.k, one.v)
      let keys = one.stored(&k, as: storage, on: compute)
      let values = one.stored(&v, as: storage, on: compute)
      let plainKeys = one.stored(&k, as: .floats, on: compute)
      let plainValues = one.stored(&v, as: .floats, on: compute)
      let found = one.outputs(of: 0..<70, keys, values, on: compute)
      #expect(bitMismatch(found, one.outputs(of: 0..<70, plainKeys, plainValues, on: compute)) == nil, compute.label)
    }
  }

  @Test func selectedRowsHaveTheBitsOfAllRows() {
    let (heads, size, columns) = (4, 17, 68)
    let attention = Attention(heads: heads, keyValueHeads: 2, headSize: size, scale: 0.25)
    var all = Segments(capacity: 3)
    all.append(rows: 5, start: 20, past: 3, prefix: 0..<10)
    all.append(rows: 70, start: 40)
    all.append(rows: 2, start: 110, prefix: 0..<10)
    let (k, v, q) = (uniforms(112 * 34, seed: 1), uniforms(112 * 34, seed: 2), uniforms(77 * columns, seed: 3))
    let rows = [1, 2, 4, 5, 9, 73, 74, 75, 76]
    var chosen = Buffer<Int32>(count: rows.count)
    for (index, row) in rows.enumerated() { chosen[index] = Int32(row) }
    var some = Segments(capacity: rows.count)
    some.select(chosen, count: rows.count, of: all)
    #expect(some.rows == rows.count && some.count == 6 && some.longest == 70 && some.cacheRows == 112)

    func outputs(_ q: [Float], _ segments: borrowing Segments, on compute: Compute) -> [Float] {
      var whole = Segments(capacity: 1)
      whole.append(rows: 112, start: 0)
      var keys = KeyValueRows(rows: 112, columns: 34, storage: .floats)
      var values = KeyValueRows(rows: 112, columns: 34, storage: .floats)
      var ks = Matrix(k, columns: 34)
      var vs = Matrix(v, columns: 34)
      keys.write(&ks, segments: whole, on: compute)
      values.write(&vs, segments: whole, on: compute)
      var y = Matrix(rows: segments.rows, columns: columns)
      var logSumExp = Matrix(rows: segments.rows, columns: heads)
      attention.forward(
        Matrix(q, columns: columns), keys: keys, values: values, segments: segments, saving: &logSumExp, into: &y, on: compute)
      return y.values
    }
    for compute in Machine.own {
      let expected = outputs(q, all, on: compute)
      var few = Matrix(q, columns: columns)
      few.keepRows(chosen, count: rows.count)
      let found = outputs(few.values, some, on: compute)
      #expect(bitMismatch(found, rows.flatMap { expected[$0 * columns..<($0 + 1) * columns] }, columns: columns) == nil, compute.label)
    }
  }

  @Test func gradientsOverSeveralTilesAgreeWithTheComplexStep() {
    let batch = Batch(lengths: [70], heads: 2, keyValueHeads: 1, headSize: 2)
    let dy = uniforms(batch.q.count, seed: 4)
    let attention = Attention(heads: 2, keyValueHeads: 1, headSize: 2, scale: batch.scale, window: 66, softCap: 3)
    let gradients = expectedGradients(of: [doubles(batch.q), doubles(batch.k), doubles(batch.v)], dy: doubles(dy)) {
      Oracle.attention(
        q: $0[0], k: $0[1], v: $0[2], heads: 2, keyValueHeads: 1, headSize: 2, scale: Double(batch.scale), sequences: batch.sequences,
        window: 66, softCap: 3)
    }
    let magnitude = 4 * Double(batch.rows * batch.headSize * 2)
    agree(gradients.flatMap { onTop($0) }, within: AttentionTests.tolerance(batch, magnitude: magnitude)) { compute in
      let keys = batch.stored(batch.k, on: compute)
      let values = batch.stored(batch.v, on: compute)
      var y = Matrix(rows: batch.rows, columns: 4)
      var logSumExp = Matrix(rows: batch.rows, columns: 2)
      attention.forward(
        Matrix(batch.q, columns: 4), keys: keys, values: values, segments: batch.segments, saving: &logSumExp, into: &y, on: compute)
      var dq = Matrix(earlier(batch.q.count), columns: 4)
      var dk = Matrix(earlier(batch.k.count), columns: 2)
      var dv = Matrix(earlier(batch.v.count), columns: 2)
      attention.backward(
        Matrix(dy, columns: 4), y: y, q: Matrix(batch.q, columns: 4), keys: keys, values: values, segments: batch.segments,
        saved: logSumExp, dq: &dq, dk: &dk, dv: &dv, on: compute)
      return dq.values + dk.values + dv.values
    }
  }

  @Test func rowsThatDoNotAscendTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var all = Segments(capacity: 1)
      all.append(rows: 4, start: 0)
      var chosen = Buffer<Int32>(count: 2)
      chosen[0] = 2
      chosen[1] = 1
      var some = Segments(capacity: 2)
      some.select(chosen, count: 2, of: all)
    }
    expectTrap("Segments.select: rows do not ascend", result)
  }

  @Test func aRowBehindTheBatchTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var all = Segments(capacity: 1)
      all.append(rows: 4, start: 0)
      var chosen = Buffer<Int32>(count: 1)
      chosen[0] = 4
      var some = Segments(capacity: 2)
      some.select(chosen, count: 1, of: all)
    }
    expectTrap("Segments.select: row 4 of 4", result)
  }
}

/// The kinds of rows that a cache for inference keeps.
@Suite struct CachePrecisionTests {
  /// Writes `x` as one token of `heads` heads; returns what it became.
  private func rounded(_ x: [Float], heads: Int, as storage: KeyValueRows.Storage, on compute: Compute) -> [Float] {
    var segments = Segments(capacity: 1)
    segments.append(rows: 1, start: 0)
    var rows = KeyValueRows(rows: 1, columns: x.count, heads: heads, storage: storage)
    var copy = Matrix(x, columns: x.count)
    rows.write(&copy, segments: segments, on: compute)
    return copy.values
  }

  /// Each head has a scale of its own, so that a small head keeps its digits beside a large one.
  @Test(arguments: [1, 8, 16, 17, 64, 80])
  func aHeadIsRoundedByItsLargest(size: Int) {
    let bounds: [Float] = [1e-3, 50, 0.5, 0]
    let x: [Float] = (0..<4).flatMap { uniforms(size, seed: UInt64($0), bound: bounds[$0]) }
    let expected = stride(from: 0, to: x.count, by: size).flatMap { start -> [Float] in
      let head = x[start..<start + size]
      let scale = (head.map(abs).max() ?? 0) / 127
      return head.map { scale == 0 ? 0 : ($0 / scale).rounded(.toNearestOrEven) * scale }
    }
    for compute in Machine.own {
      let found = rounded(x, heads: 4, as: .int8PerHead, on: compute)
      #expect(bitMismatch(found.map { $0 + 0 }, expected.map { $0 + 0 }, columns: size) == nil, compute.label)
    }
    let worst = zip(x, expected).map { abs($0 - $1) }
    for head in 0..<3 {
      let largest = x[head * size..<(head + 1) * size].map(abs).max() ?? 0
      #expect((worst[head * size..<(head + 1) * size].max() ?? 1) <= largest / 254 * 1.0001)
    }
  }

  /// A scale survives being written and read again: the second rounding changes nothing but the scale's last bit.
  @Test func roundingTwiceIsRoundingOnce() {
    let x = uniforms(4 * 64, seed: 9, bound: 3)
    let once = rounded(x, heads: 4, as: .int8PerHead, on: Machine.usual)
    let twice = rounded(once, heads: 4, as: .int8PerHead, on: Machine.usual)
    #expect(mismatch(twice, doubles(once), within: 3 * Double(Float.ulpOfOne) * 2) == nil)
  }

  @Test(arguments: [KeyValueRows.Storage.int8PerHead, .float16])
  func whatIsNotFiniteStaysSo(storage: KeyValueRows.Storage) {
    for bad in [Float.nan, .infinity, -.infinity] {
      var x = uniforms(34, seed: 1)
      x[20] = bad
      for compute in Machine.own {
        let found = rounded(x, heads: 2, as: storage, on: compute)
        #expect(!found[20].isFinite, compute.label)
        #expect(found[0..<17].allSatisfy { $0.isFinite }, compute.label)
      }
    }
  }

  @Test func halvesRoundToEvenAndStayFinite() {
    let x: [Float] =
      [0, 1, -1, 65504, 65519, 1e9, -1e9, 1.00048828125, 1.00146484375, 6e-8, 3e-8, 1e-12, 0.1] + uniforms(40, seed: 2, bound: 9)
    let expected = x.map { min(max(Float(Float16($0)), -65504), 65504) }
    for compute in Machine.own {
      #expect(bitMismatch(rounded(x, heads: 1, as: .float16, on: compute), expected) == nil, compute.label)
    }
  }

  @Test func bytesOfEachKind() {
    func bytes(_ storage: KeyValueRows.Storage) -> Int { KeyValueRows(rows: 3, columns: 8, heads: 2, storage: storage).byteCount }
    #expect([bytes(.floats), bytes(.float16), bytes(.int8(scale: 1)), bytes(.int8PerHead)] == [96, 48, 24, 48])
  }

  @Test(arguments: AttentionTileTests.storages)
  func copiedRowsAreTheSameRows(storage: KeyValueRows.Storage) {
    let attention = Attention(heads: 2, keyValueHeads: 2, headSize: 5, scale: 1)
    var segments = Segments(capacity: 1)
    segments.append(rows: 6, start: 0)
    var source = KeyValueRows(rows: 6, columns: 10, heads: 2, storage: storage)
    var x = Matrix(uniforms(60, seed: 1), columns: 10)
    source.write(&x, segments: segments, on: Machine.usual)
    var copy = KeyValueRows(rows: 9, columns: 10, heads: 2, storage: storage)
    copy.copyRows(from: source, count: 4)

    func outputs(_ rows: borrowing KeyValueRows) -> [Float] {
      var one = Segments(capacity: 1)
      one.append(rows: 1, start: 0, past: 3)
      var y = Matrix(rows: 1, columns: 10)
      var logSumExp = Matrix(rows: 1, columns: 2)
      attention.forward(
        Matrix(uniforms(10, seed: 3), columns: 10), keys: rows, values: rows, segments: one, saving: &logSumExp, into: &y, on: Machine.usual
      )
      return y.values
    }
    #expect(outputs(copy) == outputs(source))
    #expect(outputs(copy).contains { $0 != 0 })
  }

  @Test func rowsOfAnotherKindAreNotCopied() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let source = KeyValueRows(rows: 2, columns: 4, storage: .floats)
      var copy = KeyValueRows(rows: 2, columns: 4, storage: .float16)
      copy.copyRows(from: source, count: 1)
    }
    expectTrap("KeyValueRows.copyRows: [2, 4] floats to [2, 4] float16", result)
  }
}
