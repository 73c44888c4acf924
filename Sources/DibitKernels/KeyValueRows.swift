internal import CDibitKernels
public import DibitTensor

/// The keys or the values that queries attend to, `[rows, K D]`: floats, or int8 codes with one static scale.
///
/// A quantised value is `clip(round(x / s), -128, 127) · s`. A training pass keeps those values as floats, because its backward
/// pass reads them; a cache for decoding keeps the codes.
@safe
public struct KeyValueRows: ~Copyable, Sendable {
  /// How rows are stored.
  public enum Storage: Equatable, Sendable {
    case floats
    /// Floats that lie on the int8 grid of this scale.
    case roundedFloats(scale: Float)
    case int8(scale: Float)

    /// Whether the backward pass can read the rows.
    var isFloat: Bool { if case .int8 = self { false } else { true } }
  }

  /// The most tokens that fit.
  public let rows: Int
  /// Elements of a token, `K D`.
  public let columns: Int
  /// How rows are stored.
  public let storage: Storage
  private var floats: Matrix
  private var codes: Buffer<Int8>

  /// Zeroed rows.
  public init(rows: Int, columns: Int, storage: Storage) {
    self.rows = rows
    self.columns = columns
    self.storage = storage
    var keepsCodes = false
    switch storage {
    case .floats: break
    case .roundedFloats(let scale): require(scale > 0, "KeyValueRows: scale \(scale) is not positive")
    case .int8(let scale):
      require(scale > 0, "KeyValueRows: scale \(scale) is not positive")
      keepsCodes = true
    }
    floats = Matrix(rows: keepsCodes ? 0 : rows, columns: columns)
    codes = Buffer(count: keepsCodes ? rows * columns : 0)
  }

  /// Bytes that the rows take.
  public var byteCount: Int { floats.count * 4 + codes.count }

  /// Stores the rows of `x: [n, K D]` where the segments say; `x` is rounded to what is stored.
  public mutating func write(_ x: inout Matrix, segments: borrowing Segments, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("key/value write", begin, rows: x.rows, columns: x.columns) }
    require(x.columns == columns && x.rows == segments.rows, "KeyValueRows: x \(x.shape), \(columns) columns, \(segments.rows) rows")
    require(segments.cacheRows <= rows, "KeyValueRows: \(segments.cacheRows) rows needed, \(rows) allocated")
    let columns = columns
    let xs = unsafe x.mutablePointer
    let storage = storage
    let (fs, cs) = unsafe (floats.mutablePointer, codes.mutablePointer)
    segments.forEach { row, count, cacheRow, _ in
      let (source, n) = unsafe (xs + row * columns, count * columns)
      switch storage {
      case .floats: unsafe (fs + cacheRow * columns).update(from: source, count: n)
      case .roundedFloats(let scale):
        unsafe compute.kernels.fake_quantize_i8(scale, source, nil, n)
        unsafe (fs + cacheRow * columns).update(from: source, count: n)
      case .int8(let scale): unsafe compute.kernels.fake_quantize_i8(scale, source, cs + cacheRow * columns, n)
      }
    }
  }

  /// Stops the gradient `dx: [rows, K D]` where rounding saturated: straight through elsewhere.
  public func backward(_ dx: inout Matrix, on compute: Compute) {
    guard case .roundedFloats(let scale) = storage else { return }
    require(dx.count <= floats.count, "KeyValueRows.backward: dx \(dx.shape), \(rows) rows stored")
    unsafe compute.kernels.fake_quantize_i8_backward(scale, floats.pointer, dx.mutablePointer, dx.count)
  }

  /// The largest magnitude in the first `count` rows, to choose a static scale from.
  public func largestMagnitude(rows count: Int) -> Float {
    guard codes.count == 0 else { return 0 }
    let span = floats.span
    var largest: Float = 0
    for index in 0..<min(count, rows) * columns { largest = max(largest, abs(span[index])) }
    return largest
  }

  @unsafe var view: dibit_kv {
    if case .int8(let scale) = storage { return unsafe dibit_kv(floats: nil, codes: codes.pointer, scale: scale) }
    return unsafe dibit_kv(floats: floats.pointer, codes: nil, scale: 1)
  }
}
