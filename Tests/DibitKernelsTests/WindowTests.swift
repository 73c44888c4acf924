import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

/// Attention with a window, a cap on scores, or both.
@Suite struct WindowTests {
  private func attention(_ batch: Batch, _ window: Int?, _ cap: Float?) -> Attention {
    Attention(
      heads: batch.heads, keyValueHeads: batch.keyValueHeads, headSize: batch.headSize, scale: batch.scale, window: window, softCap: cap)
  }

  private func forward(_ batch: Batch, _ window: Int?, _ cap: Float?, on compute: Compute) -> (y: [Float], logSumExp: [Float]) {
    let columns = batch.heads * batch.headSize
    var logSumExp = Matrix(rows: batch.rows, columns: batch.heads)
    var y = Matrix(rows: batch.rows, columns: columns)
    attention(batch, window, cap).forward(
      Matrix(batch.q, columns: columns), keys: batch.stored(batch.k, on: compute), values: batch.stored(batch.v, on: compute),
      segments: batch.segments, saving: &logSumExp, into: &y, on: compute)
    return (y.values, logSumExp.values)
  }

  @Test(arguments: [1, 2, 7, 16, 17, 40], [nil, 2])
  func forwardAgreesWithTheOracle(window: Int, cap: Float?) {
    let batch = Batch(lengths: [3, 40, 1, 18], heads: 4, keyValueHeads: 2, headSize: 5)
    let expected = Oracle.attention(
      q: doubles(batch.q), k: doubles(batch.k), v: doubles(batch.v), heads: 4, keyValueHeads: 2, headSize: 5, scale: Double(batch.scale),
      sequences: batch.sequences, window: window, softCap: cap.map(Double.init))
    agree(expected, columns: 20, within: AttentionTests.tolerance(batch)) { forward(batch, window, cap, on: $0).y }
  }

  @Test func aWindowThatHoldsEverythingChangesNoBit() {
    let batch = Batch(lengths: [33, 5], heads: 2, keyValueHeads: 1, headSize: 8)
    for compute in Machine.own { #expect(forward(batch, 33, nil, on: compute) == forward(batch, nil, nil, on: compute)) }
  }

  @Test(arguments: [([2, 3], 1, nil), ([6, 4], 3, 2), ([17], 4, 1.5), ([5], nil, 2)] as [([Int], Int?, Float?)])
  func gradientsAgreeWithTheComplexStep(lengths: [Int], window: Int?, cap: Float?) {
    let batch = Batch(lengths: lengths, heads: 2, keyValueHeads: 1, headSize: 3)
    let dy = uniforms(batch.q.count, seed: 4)
    let gradients = expectedGradients(of: [doubles(batch.q), doubles(batch.k), doubles(batch.v)], dy: doubles(dy)) {
      Oracle.attention(
        q: $0[0], k: $0[1], v: $0[2], heads: 2, keyValueHeads: 1, headSize: 3, scale: Double(batch.scale), sequences: batch.sequences,
        window: window, softCap: cap.map(Double.init))
    }
    let magnitude = 4 * Double(batch.rows * batch.headSize * 2)
    agree(gradients.flatMap { onTop($0) }, within: AttentionTests.tolerance(batch, magnitude: magnitude)) { compute in
      let (y, logSumExp) = forward(batch, window, cap, on: compute)
      var dq = Matrix(earlier(batch.q.count), columns: 6)
      var dk = Matrix(earlier(batch.k.count), columns: 3)
      var dv = Matrix(earlier(batch.v.count), columns: 3)
      attention(batch, window, cap).backward(
        Matrix(dy, columns: 6), y: Matrix(y, columns: 6), q: Matrix(batch.q, columns: 6), keys: batch.stored(batch.k, on: compute),
        values: batch.stored(batch.v, on: compute), segments: batch.segments, saved: Matrix(logSumExp, columns: 2), dq: &dq, dk: &dk,
        dv: &dv, on: compute)
      return dq.values + dk.values + dv.values
    }
  }

  /// The window counts tokens, wherever their rows lie: across a shared prefix and into the past.
  @Test(arguments: [(5, 0, 4), (20, 3, 30), (40, 0, 1)], [1, 6, 19])
  func aWindowReachesIntoAPrefix(shape: (prefix: Int, past: Int, rows: Int), window: Int) {
    let (columns, all) = (6, shape.prefix + shape.past + shape.rows)
    let (k, v, q) = (uniforms(all * 3, seed: 1), uniforms(all * 3, seed: 2), uniforms(shape.rows * columns, seed: 3))
    let attention = Attention(heads: 2, keyValueHeads: 1, headSize: 3, scale: 0.5, window: window)
    func outputs(gap: Int, on compute: Compute) -> [Float] {
      var writing = Segments(capacity: 2)
      writing.append(rows: shape.prefix, start: 0)
      writing.append(rows: all - shape.prefix, start: shape.prefix + gap)
      func cache(_ x: [Float]) -> KeyValueRows {
        var cache = KeyValueRows(rows: all + gap, columns: 3, storage: .floats)
        var copy = Matrix(x, columns: 3)
        cache.write(&copy, segments: writing, on: compute)
        return cache
      }
      var reading = Segments(capacity: 1)
      if gap == 0 {
        reading.append(rows: shape.rows, start: 0, past: shape.prefix + shape.past)
      } else {
        reading.append(rows: shape.rows, start: shape.prefix + gap, past: shape.past, prefix: 0..<shape.prefix)
      }
      var logSumExp = Matrix(rows: shape.rows, columns: 2)
      var y = Matrix(rows: shape.rows, columns: columns)
      attention.forward(
        Matrix(q, columns: columns), keys: cache(k), values: cache(v), segments: reading, saving: &logSumExp, into: &y, on: compute)
      return y.values + logSumExp.values
    }
    let queries = [Float](repeating: 0, count: (all - shape.rows) * columns) + q
    let expected = Oracle.attention(
      q: doubles(queries), k: doubles(k), v: doubles(v), heads: 2, keyValueHeads: 1, headSize: 3, scale: 0.5,
      sequences: [Oracle.Sequence(queries: 0..<all, own: 0)], window: window)
    for compute in Machine.own {
      let found = outputs(gap: 0, on: compute)
      #expect(mismatch(Array(found.prefix(q.count)), Array(expected.suffix(q.count)), columns: columns, within: 1e-5) == nil)
      #expect(bitMismatch(outputs(gap: 7, on: compute), found) == nil, compute.label)
    }
  }
}
