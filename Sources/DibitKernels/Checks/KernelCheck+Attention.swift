internal import DibitTensor

extension KernelCheck {
  /// A variant of attention besides the plain one.
  private struct Variant {
    var name: String
    var window: Int?
    var softCap: Float?
    var storage = KeyValueRows.Storage.floats
  }

  private static let variants = [
    Variant(name: "f32"), Variant(name: "int8", storage: .int8(scale: 0.01)), Variant(name: "window", window: 5),
    Variant(name: "soft cap", softCap: 3),
  ]

  /// Attention over sequences with and without a past, RoPE, and their gradients.
  static let attention: [KernelCheck] =
    variants.map(forward) + [.init(name: "f32"), .init(name: "window", window: 5), .init(name: "soft cap", softCap: 3)].map(backward)
    + [RoPE.Pairing.half, .interleaved].map(rope)

  /// The shape is query heads, key/value heads, head size, queries and past.
  private static func forward(_ variant: Variant) -> KernelCheck {
    KernelCheck(
      "attention \(variant.name)", ["attention"], awkward: [[1, 1, 1, 1, 0], [4, 2, 20, 7, 9], [3, 1, 64, 1, 33]],
      large: [16, 4, 128, 32, 992]
    ) { run, shape in
      let (heads, groups, size, rows, past) = (shape[0], shape[1], shape[2], shape[3], shape[4])
      let op = Attention(
        heads: heads, keyValueHeads: groups, headSize: size, scale: 1 / Float(size).squareRoot(), window: variant.window,
        softCap: variant.softCap)
      let compute = run.compute
      // A sequence with a past, and a short one that shares the first rows.
      let shared = min(past, 3)
      var segments = Segments(capacity: 2)
      segments.append(rows: past + rows, start: 0)
      let keys = stored(run, past + rows, groups * size, variant.storage, segments)
      let values = stored(run, past + rows, groups * size, variant.storage, segments)
      segments.removeAll()
      segments.append(rows: rows, start: 0, past: past)
      segments.append(rows: 1, start: past, prefix: 0..<shared)
      let q = run.matrix(rows + 1, heads * size)
      var y = Matrix(rows: rows + 1, columns: heads * size)
      var logSumExp = Matrix(rows: rows + 1, columns: heads)
      let seen = (0..<rows).reduce(0) { $0 + min(past + $1 + 1, variant.window ?? .max) }
      run.measure(operations: 4 * heads * size * seen) {
        op.forward(q, keys: keys, values: values, segments: segments, saving: &logSumExp, into: &y, on: compute)
      }
      run.record(y)
      run.record(logSumExp)
    }
  }

  private static func stored(
    _ run: KernelRun, _ rows: Int, _ columns: Int, _ storage: KeyValueRows.Storage, _ segments: borrowing Segments
  ) -> KeyValueRows {
    var result = KeyValueRows(rows: rows, columns: columns, storage: storage)
    var x = run.matrix(rows, columns)
    result.write(&x, segments: segments, on: run.compute)
    return result
  }

  /// The shape is query heads, key/value heads, head size and queries.
  private static func backward(_ variant: Variant) -> KernelCheck {
    KernelCheck(
      "attention \(variant.name) gradient", ["attention", "attention_backward"], awkward: [[1, 1, 1, 1], [4, 2, 20, 7], [3, 1, 64, 33]],
      large: [8, 2, 64, 256]
    ) { run, shape in
      let (heads, groups, size, rows) = (shape[0], shape[1], shape[2], shape[3])
      let op = Attention(
        heads: heads, keyValueHeads: groups, headSize: size, scale: 1 / Float(size).squareRoot(), window: variant.window,
        softCap: variant.softCap)
      let compute = run.compute
      var segments = Segments(capacity: 1)
      segments.append(rows: rows, start: 0)
      let keys = stored(run, rows, groups * size, .floats, segments)
      let values = stored(run, rows, groups * size, .floats, segments)
      let q = run.matrix(rows, heads * size)
      let dy = run.matrix(rows, heads * size)
      var y = Matrix(rows: rows, columns: heads * size)
      var logSumExp = Matrix(rows: rows, columns: heads)
      op.forward(q, keys: keys, values: values, segments: segments, saving: &logSumExp, into: &y, on: compute)
      var dq = run.matrix(rows, heads * size)
      var dk = run.matrix(rows, groups * size)
      var dv = run.matrix(rows, groups * size)
      let seen = (0..<rows).reduce(0) { $0 + min($1 + 1, variant.window ?? .max) }
      run.measure(operations: 10 * heads * size * seen) {
        op.backward(
          dy, y: y, q: q, keys: keys, values: values, segments: segments, saved: logSumExp, dq: &dq, dk: &dk, dv: &dv, on: compute)
      }
      run.record(dq)
      run.record(dk)
      run.record(dv)
    }
  }

  /// The shape is rows, heads, head size and pairs.
  private static func rope(_ pairing: RoPE.Pairing) -> KernelCheck {
    KernelCheck(
      "rope \(pairing)", ["rope"], awkward: [[1, 1, 2, 1], [5, 3, 20, 7], [17, 2, 64, 32]], large: [512, 16, 128, 64]
    ) { run, shape in
      let frequencies = (0..<shape[3]).map { 1 / Double($0 + 1) }
      let rope = RoPE(frequencies: frequencies, pairing: pairing, headSize: shape[2])
      var x = run.matrix(shape[0], shape[1] * shape[2])
      let positions = (0..<shape[0]).map { Int32($0 + 9) }
      let compute = run.compute
      let angles = rope.angles(at: positions.span, on: compute)
      run.measure(bytes: 8 * x.count) { rope.forward(&x, by: angles, on: compute) }
      run.record(x)
    }
  }
}
