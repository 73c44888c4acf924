/// Reads the fields of one protobuf message, checking every length against what is left.
struct ProtobufReader {
  /// A field's number and what it holds.
  struct Field {
    let number: Int
    let value: Value
    /// The start of the value in the file.
    let offset: Int
  }

  enum Value {
    case varint(UInt64)
    case fixed64
    case fixed32(UInt32)
    case bytes(Range<Int>)
  }

  private let bytes: [UInt8]
  private let end: Int
  private var offset: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  /// The next field, or nil at the end of the message.
  mutating func next() throws(TokenizerError) -> Field? {
    guard offset < end else { return nil }
    let start = offset
    let key = try varint("a field")
    guard let number = Int(exactly: key >> 3), number > 0, number < 1 << 29 else {
      throw fault(start, expected: "a field number from 1 to \((1 << 29) - 1)", found: "\(key >> 3)")
    }
    let valueOffset = offset
    switch key & 7 {
    case 0: return Field(number: number, value: .varint(try varint("a number")), offset: valueOffset)
    case 1:
      try skip(8)
      return Field(number: number, value: .fixed64, offset: valueOffset)
    case 2:
      let length = try varint("a length")
      guard length <= UInt64(end - offset) else {
        throw fault(valueOffset, expected: "at most \(end - offset) bytes for field \(number)", found: "a length of \(length)")
      }
      let range = offset..<offset + Int(length)
      offset = range.upperBound
      return Field(number: number, value: .bytes(range), offset: valueOffset)
    case 5:
      try skip(4)
      var value: UInt32 = 0
      for index in 0..<4 { value |= UInt32(bytes[valueOffset + index]) << UInt32(8 * index) }
      return Field(number: number, value: .fixed32(value), offset: valueOffset)
    default: throw fault(start, expected: "a wire type of 0, 1, 2 or 5", found: "\(key & 7)")
    }
  }

  private mutating func skip(_ count: Int) throws(TokenizerError) {
    guard end - offset >= count else { throw fault(offset, expected: "\(count) bytes", found: "\(end - offset)") }
    offset += count
  }

  private mutating func varint(_ what: String) throws(TokenizerError) -> UInt64 {
    let start = offset
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while offset < end {
      let byte = bytes[offset]
      offset += 1
      if shift == 63, byte > 1 { throw fault(start, expected: what, found: "a number of more than 64 bits") }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
      if shift > 63 { throw fault(start, expected: what, found: "a number of more than 64 bits") }
    }
    throw fault(start, expected: what, found: "the end of the message")
  }

  private func fault(_ offset: Int, expected: String, found: String) -> TokenizerError {
    .binary(file: "SentencePiece model", offset: offset, expected: expected, found: found)
  }
}
