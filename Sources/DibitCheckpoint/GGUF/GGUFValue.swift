/// A metadata value of a GGUF file, with the type that the file gives it.
package enum GGUFValue: Equatable, Sendable {
  case uint8(UInt8)
  case int8(Int8)
  case uint16(UInt16)
  case int16(Int16)
  case uint32(UInt32)
  case int32(Int32)
  case float32(Float)
  case bool(Bool)
  /// The bytes as they are in the file: usually UTF-8, but the format does not insist on it and vocabularies hold other bytes.
  case string([UInt8])
  case array(GGUFArray)
  case uint64(UInt64)
  case int64(Int64)
  case float64(Double)
}

/// An array of a GGUF file: every element has the same type.
package enum GGUFArray: Equatable, Sendable {
  case uint8([UInt8])
  case int8([Int8])
  case uint16([UInt16])
  case int16([Int16])
  case uint32([UInt32])
  case int32([Int32])
  case float32([Float])
  case bool([Bool])
  case strings(GGUFStrings)
  case arrays([GGUFArray])
  case uint64([UInt64])
  case int64([Int64])
  case float64([Double])
}

/// Many strings in one allocation, such as a vocabulary; not necessarily UTF-8.
package struct GGUFStrings: Equatable, Sendable, RandomAccessCollection {
  private(set) var blob: [UInt8] = []
  private var ends: [Int] = []

  /// Copies `strings`.
  package init(_ strings: some Sequence<[UInt8]> = EmptyCollection()) {
    for string in strings { append(string) }
  }

  mutating func append(_ bytes: some Sequence<UInt8>) {
    blob.append(contentsOf: bytes)
    ends.append(blob.count)
  }

  mutating func reserve(_ count: Int) { ends.reserveCapacity(count) }

  /// The first index.
  package var startIndex: Int { 0 }

  /// The number of strings.
  package var endIndex: Int { ends.count }

  /// The bytes of a string; the index is checked.
  package subscript(index: Int) -> ArraySlice<UInt8> { blob[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}

extension GGUFValue {
  /// A string of the UTF-8 bytes of `text`.
  package static func text(_ text: String) -> GGUFValue { .string(Array(text.utf8)) }

  /// The integer, whatever its width; nil when this is none or does not fit.
  package var int: Int? {
    switch self {
    case .uint8(let value): Int(value)
    case .int8(let value): Int(value)
    case .uint16(let value): Int(value)
    case .int16(let value): Int(value)
    case .uint32(let value): Int(value)
    case .int32(let value): Int(value)
    case .uint64(let value): Int(exactly: value)
    case .int64(let value): Int(value)
    default: nil
    }
  }

  /// The number, whatever its type; nil when this is none.
  package var double: Double? {
    switch self {
    case .float32(let value): Double(value)
    case .float64(let value): value
    default: int.map { Double($0) }
    }
  }

  /// The truth value; nil when this is none.
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The bytes of a string; nil when this is none.
  package var bytes: [UInt8]? { if case .string(let value) = self { value } else { nil } }

  /// The text of a string; nil when this is none or not UTF-8.
  package var text: String? { bytes.flatMap { String(validating: $0, as: UTF8.self) } }

  /// The elements; nil when this is no array.
  package var array: GGUFArray? { if case .array(let value) = self { value } else { nil } }

  /// The kind of this value, for messages: "a string", "an array of 5 uint32", …
  package var kind: String {
    switch self {
    case .uint8, .int8, .uint16, .int16, .uint32, .int32, .uint64, .int64: "an integer"
    case .float32, .float64: "a float"
    case .bool: "a bool"
    case .string: "a string"
    case .array(let array): "an array of \(array.count) \(array.elementName)"
    }
  }

  /// The number that the format gives the type.
  var typeNumber: UInt32 {
    switch self {
    case .uint8: 0
    case .int8: 1
    case .uint16: 2
    case .int16: 3
    case .uint32: 4
    case .int32: 5
    case .float32: 6
    case .bool: 7
    case .string: 8
    case .array: 9
    case .uint64: 10
    case .int64: 11
    case .float64: 12
    }
  }
}

extension GGUFArray {
  /// The number of elements.
  package var count: Int {
    switch self {
    case .uint8(let values): values.count
    case .int8(let values): values.count
    case .uint16(let values): values.count
    case .int16(let values): values.count
    case .uint32(let values): values.count
    case .int32(let values): values.count
    case .float32(let values): values.count
    case .bool(let values): values.count
    case .strings(let values): values.count
    case .arrays(let values): values.count
    case .uint64(let values): values.count
    case .int64(let values): values.count
    case .float64(let values): values.count
    }
  }

  /// The integers, whatever their width; nil when these are none or one does not fit.
  package var ints: [Int]? {
    switch self {
    case .uint8(let values): return values.map { Int($0) }
    case .int8(let values): return values.map { Int($0) }
    case .uint16(let values): return values.map { Int($0) }
    case .int16(let values): return values.map { Int($0) }
    case .uint32(let values): return values.map { Int($0) }
    case .int32(let values): return values.map { Int($0) }
    case .int64(let values): return values.map { Int($0) }
    case .uint64(let values):
      let fitting = values.compactMap { Int(exactly: $0) }
      return fitting.count == values.count ? fitting : nil
    default: return nil
    }
  }

  /// The truth values; nil when these are none.
  package var bools: [Bool]? { if case .bool(let values) = self { values } else { nil } }

  /// The numbers as floats; nil when these are no floats.
  package var floats: [Float]? {
    switch self {
    case .float32(let values): values
    case .float64(let values): values.map { Float($0) }
    default: nil
    }
  }

  /// The strings; nil when these are none.
  package var strings: GGUFStrings? { if case .strings(let values) = self { values } else { nil } }

  /// The format's name of the element type.
  var elementName: String { GGUFArray.names[Int(typeNumber)] }

  static let names = [
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64",
  ]

  /// The number that the format gives the element type.
  var typeNumber: UInt32 {
    switch self {
    case .uint8: 0
    case .int8: 1
    case .uint16: 2
    case .int16: 3
    case .uint32: 4
    case .int32: 5
    case .float32: 6
    case .bool: 7
    case .strings: 8
    case .arrays: 9
    case .uint64: 10
    case .int64: 11
    case .float64: 12
    }
  }
}
