internal import CDibitKernels
package import DibitTensor

/// The keys or the values that queries attend to, `[rows, K D]`, as floats or rounded to fewer bits.
///
/// Quantised values are `clip(round(x / s), -128, 127) · s`. A training pass keeps such values as floats, because its backward pass reads
/// them; a cache for decoding keeps the codes.
@safe
package struct KeyValueRows: ~Copyable, Sendable {
  /// The format in which rows are stored.
  package enum Storage: Equatable, Sendable {
    case floats
    /// Half precision, ties to even; beyond 65504 the largest half.
    case float16
    /// Floats that lie on the int8 grid of this scale.
    case roundedFloats(scale: Float)
    /// Codes with one static scale.
    case int8(scale: Float)
    /// Codes with a scale of their own for each token and head, `max|x| / 127`.
    case int8PerHead

    /// True when the backward pass can read the rows.
    var isFloat: Bool {
      switch self {
      case .floats, .roundedFloats: true
      case .float16, .int8, .int8PerHead: false
      }
    }

    /// The static scale, if there is one.
    var scale: Float? {
      switch self {
      case .roundedFloats(let scale), .int8(let scale): scale
      case .floats, .float16, .int8PerHead: nil
      }
    }
  }

  /// The most tokens that fit.
  package let rows: Int
  /// Heads of a token, `K`, where each has a scale of its own.
  package let heads: Int
  /// Elements of a token, `K D`.
  package let columns: Int
  /// The format in which the rows are stored.
  package let storage: Storage
  private var floats: Matrix
  private var halves: Buffer<UInt16>
  private var codes: Buffer<Int8>
  private var scales: Buffer<Float>  // [rows, K]

  /// Zeroed rows of `columns` elements. The number of heads matters to ``Storage/int8PerHead`` only.
  package init(rows: Int, columns: Int, heads: Int = 1, storage: Storage) {
    require(heads > 0 && columns % heads == 0, "KeyValueRows: \(columns) columns, \(heads) heads")
    if let scale = storage.scale { require(scale > 0, "KeyValueRows: scale \(scale) is not positive") }
    self.rows = rows
    self.heads = heads
    self.columns = columns
    self.storage = storage
    let keepsHalves = storage == .float16
    let keepsCodes = !keepsHalves && !storage.isFloat
    floats = Matrix(rows: storage.isFloat ? rows : 0, columns: columns)
    halves = Buffer(count: keepsHalves ? rows * columns : 0)
    codes = Buffer(count: keepsCodes ? rows * columns : 0)
    scales = Buffer(count: storage == .int8PerHead ? rows * heads : 0)
  }

  /// Bytes that the rows take.
  package var byteCount: Int { floats.capacity * columns * 4 + halves.count * 2 + codes.count + scales.count * 4 }

  /// Stores the rows of `x: [n, K D]` where the segments say; `x` is rounded to what is stored.
  package mutating func write(_ x: inout Matrix, segments: borrowing Segments, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("key/value write", begin, rows: x.rows, columns: x.columns) }
    require(x.columns == columns && x.rows == segments.rows, "KeyValueRows: x \(x.shape), \(columns) columns, \(segments.rows) rows")
    require(segments.cacheRows <= rows, "KeyValueRows: \(segments.cacheRows) rows needed, \(rows) allocated")
    let (columns, heads, storage, count) = (columns, heads, storage, segments.count)
    let (xs, segment) = unsafe (x.mutablePointer, segments.pointer)
    let (fs, hs, cs, ss) = unsafe (floats.mutablePointer, halves.mutablePointer, codes.mutablePointer, scales.mutablePointer)
    compute.forEachRange(x.rows, step: 16) { range, _ in
      for index in 0..<count {
        let s = unsafe segment[index]
        let (row, end) = (max(range.lowerBound, Int(s.row)), min(range.upperBound, Int(s.row + s.rows)))
        guard row < end else { continue }
        let (source, n) = unsafe (xs + row * columns, (end - row) * columns)
        let cacheRow = Int(s.own + s.past - s.row) + row
        let to = cacheRow * columns
        switch storage {
        case .floats: unsafe (fs + to).update(from: source, count: n)
        case .float16: unsafe compute.kernels.round_f16(source, hs + to, n)
        case .roundedFloats(let scale):
          unsafe compute.kernels.fake_quantize_i8(scale, source, nil, n)
          unsafe (fs + to).update(from: source, count: n)
        case .int8(let scale): unsafe compute.kernels.fake_quantize_i8(scale, source, cs + to, n)
        case .int8PerHead:
          unsafe compute.kernels.quantize_heads_i8(source, cs + to, ss + cacheRow * heads, (end - row) * heads, columns / heads)
        }
      }
    }
  }

  /// Copies the first `count` rows of another cache of the same kind.
  package mutating func copyRows(from other: borrowing KeyValueRows, count: Int) {
    require(
      columns == other.columns && heads == other.heads && storage == other.storage,
      "KeyValueRows.copyRows: [\(other.rows), \(other.columns)] \(other.storage) to [\(rows), \(columns)] \(storage)")
    require(count >= 0 && count <= min(rows, other.rows), "KeyValueRows.copyRows: \(count) of \(other.rows) rows to \(rows)")
    let n = count * columns
    if storage.isFloat { unsafe floats.mutablePointer.update(from: other.floats.pointer, count: n) }
    if halves.count > 0 { unsafe halves.mutablePointer.update(from: other.halves.pointer, count: n) }
    if codes.count > 0 { unsafe codes.mutablePointer.update(from: other.codes.pointer, count: n) }
    if scales.count > 0 { unsafe scales.mutablePointer.update(from: other.scales.pointer, count: count * heads) }
  }

  /// Copies rows of this cache to those that begin at `start` and do not overlap them.
  package mutating func copyRows(_ range: Range<Int>, to start: Int) {
    require(
      range.lowerBound >= 0 && range.upperBound <= rows && start >= 0 && start + range.count <= rows
        && (start >= range.upperBound || start + range.count <= range.lowerBound),
      "KeyValueRows.copyRows: \(range) to \(start) of \(rows)")
    let (from, to, n) = (range.lowerBound * columns, start * columns, range.count * columns)
    // SAFETY: both ranges lie in the allocations, as checked, and do not overlap.
    if storage.isFloat { unsafe (floats.mutablePointer + to).update(from: floats.pointer + from, count: n) }
    if halves.count > 0 { unsafe (halves.mutablePointer + to).update(from: halves.pointer + from, count: n) }
    if codes.count > 0 { unsafe (codes.mutablePointer + to).update(from: codes.pointer + from, count: n) }
    guard scales.count > 0 else { return }
    unsafe (scales.mutablePointer + start * heads).update(from: scales.pointer + range.lowerBound * heads, count: range.count * heads)
  }

  /// Stops the gradient `dx: [rows, K D]` where rounding saturated: straight through elsewhere.
  package func backward(_ dx: inout Matrix, on compute: Compute) {
    guard case .roundedFloats(let scale) = storage else { return }
    require(dx.count <= floats.count, "KeyValueRows.backward: dx \(dx.shape), \(rows) rows stored")
    unsafe compute.kernels.fake_quantize_i8_backward(scale, floats.pointer, dx.mutablePointer, dx.count)
  }

  /// The largest magnitude in the first `count` rows, to choose a static scale from; 0 where no floats are kept.
  package func largestMagnitude(rows count: Int) -> Float {
    let span = floats.span
    var largest: Float = 0
    for index in 0..<min(count, floats.rows) * columns { largest = max(largest, abs(span[index])) }
    return largest
  }

  /// Returns whether queries of `count` heads can read the rows.
  func fits(heads count: Int) -> Bool { storage != .int8PerHead || heads == count }

  @unsafe var view: dibit_kv {
    switch storage {
    case .floats, .roundedFloats:
      unsafe dibit_kv(elements: UnsafeRawPointer(floats.pointer), scales: nil, scale: 1, format: DIBIT_KV_F32)
    case .float16: unsafe dibit_kv(elements: UnsafeRawPointer(halves.pointer), scales: nil, scale: 1, format: DIBIT_KV_F16)
    case .int8(let scale): unsafe dibit_kv(elements: UnsafeRawPointer(codes.pointer), scales: nil, scale: scale, format: DIBIT_KV_I8)
    case .int8PerHead:
      unsafe dibit_kv(elements: UnsafeRawPointer(codes.pointer), scales: scales.pointer, scale: 1, format: DIBIT_KV_I8_SCALED)
    }
  }
}
