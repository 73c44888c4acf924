internal import DibitFailure
internal import DibitTensor

/// Reads little-endian values of a GGUF file from one end to the other; every read is checked against what is left.
struct GGUFCursor {
  private let bytes: Bytes
  /// The beginning of the next read.
  private(set) var offset = 0

  init(_ bytes: Bytes) { self.bytes = bytes }

  /// The bytes that are left.
  var remaining: Int { bytes.count - offset }

  /// A number.
  mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ what: String, as: Number.Type = Number.self) throws(GGUFFault)
    -> Number
  {
    let size = MemoryLayout<Number>.size
    try need(size, what)
    // SAFETY: `need` checked that `size` bytes follow; every bit pattern is a value.
    let value = unsafe bytes.pointer.loadUnaligned(fromByteOffset: offset, as: Number.self)
    offset += size
    return Number(littleEndian: value)
  }

  /// `count` numbers.
  mutating func numbers<Number: BitwiseCopyable>(_ count: UInt64, _ key: String, as: Number.Type = Number.self) throws(GGUFFault)
    -> [Number]
  {
    let size = MemoryLayout<Number>.size
    guard count <= UInt64(remaining / size) else {
      throw .count(what: "elements of key " + quoted(key), offset: offset - 8, found: count, foundBytes: remaining)
    }
    let count = Int(count)
    let start = offset
    // SAFETY: the guard proves that `count` elements follow, and every bit pattern is one; the machine is little-endian.
    let values = unsafe [Number](unsafeUninitializedCapacity: count) { buffer, filled in
      let source = unsafe UnsafeRawBufferPointer(start: bytes.pointer + start, count: count * size)
      unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
      filled = count
    }
    offset += count * size
    return values
  }

  /// `count` raw bytes.
  mutating func raw(_ count: Int, _ what: String) throws(GGUFFault) -> [UInt8] {
    try need(count, what)
    defer { offset += count }
    return bytes.slice(offset..<offset + count).array
  }

  /// A string: its length as 8 bytes, then its bytes.
  mutating func string(_ what: String) throws(GGUFFault) -> [UInt8] {
    let length: UInt64 = try number("length of " + what)
    guard length <= UInt64(remaining) else {
      throw .count(what: "length of " + what, offset: offset - 8, found: length, foundBytes: remaining)
    }
    return try raw(Int(length), what)
  }

  private func need(_ count: Int, _ what: String) throws(GGUFFault) {
    guard count <= remaining else { throw .truncated(what: what, offset: offset, neededBytes: count, foundBytes: remaining) }
  }
}
