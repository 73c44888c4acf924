/// Puts a GGUF file together, right or wrong.
package struct GGUFBytes {
  /// No keys and no tensors.
  package init() {}

  /// The first four bytes.
  package var magic = "GGUF"
  /// The version.
  package var version: UInt32 = 3
  /// The number of tensors that the header says, where it lies.
  package var tensorCount: UInt64?
  /// The number of keys that the header says, where it lies.
  package var pairCount: UInt64?
  /// Keys and values.
  package var pairs: [[UInt8]] = []
  /// The descriptions of the tensors.
  package var tensors: [[UInt8]] = []
  /// The bytes of zeros that follow.
  package var data = 64
  /// Where the data begins is a multiple of it.
  package var alignment = 32

  /// The type of a string.
  package static let string: UInt32 = 8
  /// The type of an array.
  package static let array: UInt32 = 9
  /// The type of a whole number of 32 bits.
  package static let uint32: UInt32 = 4

  /// A string with its length.
  package static func text(_ text: String) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(UInt64(text.utf8.count))
    builder.append(text)
    return builder.bytes
  }

  /// A key and its value.
  package static func pair(_ key: String, _ type: UInt32, _ value: [UInt8]) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(text(key))
    builder.append(type)
    builder.append(value)
    return builder.bytes
  }

  /// A number.
  package static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(number)
    return builder.bytes
  }

  /// The description of a tensor.
  package static func tensor(_ name: String, _ dimensions: [UInt64] = [4, 4], type: UInt32 = 0, offset: UInt64 = 0, count: UInt32? = nil)
    -> [UInt8]
  {
    var builder = ByteBuilder()
    builder.append(text(name))
    builder.append(count ?? UInt32(dimensions.count))
    for dimension in dimensions { builder.append(dimension) }
    builder.append(type)
    builder.append(offset)
    return builder.bytes
  }

  /// The file.
  package var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(magic)
    builder.append(version)
    builder.append(tensorCount ?? UInt64(tensors.count))
    builder.append(pairCount ?? UInt64(pairs.count))
    for part in pairs + tensors { builder.append(part) }
    while builder.bytes.count % alignment != 0 { builder.append(UInt8(0)) }
    return builder.bytes + [UInt8](repeating: 0, count: data)
  }
}
