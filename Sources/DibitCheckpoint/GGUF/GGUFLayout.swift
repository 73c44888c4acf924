internal import DibitTensor

/// The layout of the bytes of a GGUF file with given metadata and tensors.
struct GGUFLayout {
  /// Everything before the data, with the padding that follows it.
  let header: [UInt8]
  /// The size of each tensor in bytes.
  let sizes: [Int]
  /// The padding after each tensor.
  let paddings: [Int]

  /// The names that every reader accepts are one byte shorter than the format allows.
  private static let nameLimit = GGUFFile.nameLimit - 1
  static let alignment = 32

  init(metadata: [(key: String, value: GGUFValue)], tensors: [(name: String, type: GGMLType, shape: [Int])], file: String)
    throws(CheckpointError)
  {
    var bytes = Array("GGUF".utf8)
    bytes.append(number: UInt32(3))
    bytes.append(number: UInt64(tensors.count))
    bytes.append(number: UInt64(metadata.count))
    var keys = Set<[UInt8]>()
    for (key, value) in metadata {
      let utf8 = Array(key.utf8)
      func refuse(_ reason: String) -> CheckpointError { .badDeclaration(file: file, tensor: key, reason: reason) }
      guard (1...GGUFFile.keyLimit).contains(utf8.count) else {
        throw refuse("a key takes 1 to \(GGUFFile.keyLimit) bytes, this one has \(utf8.count)")
      }
      guard keys.insert(utf8).inserted else { throw refuse("the key is given twice") }
      if key == "general.alignment", value != .uint32(UInt32(Self.alignment)) { throw refuse("tensors are aligned to \(Self.alignment)") }
      if case .array(let array) = value, array.depth > GGUFFile.depthLimit {
        throw refuse("arrays nest at most \(GGUFFile.depthLimit) deep")
      }
      bytes.append(string: utf8)
      bytes.append(number: value.typeNumber)
      bytes.append(value)
    }
    var names = Set<[UInt8]>()
    var sizes: [Int] = []
    var paddings: [Int] = []
    var end = 0
    for (name, type, shape) in tensors {
      let utf8 = Array(name.utf8)
      func refuse(_ reason: String) -> CheckpointError { .badDeclaration(file: file, tensor: name, reason: reason) }
      guard (1...Self.nameLimit).contains(utf8.count) else {
        throw refuse("GGUF names take 1 to \(Self.nameLimit) bytes, this one has \(utf8.count)")
      }
      guard names.insert(utf8).inserted else { throw refuse("the name is taken") }
      guard shape.count <= GGUFFile.dimensionLimit, shape.allSatisfy({ $0 > 0 }), let size = GGUFSize(type: type, shape: shape) else {
        throw refuse(
          "up to \(GGUFFile.dimensionLimit) dimensions from 1, whose bytes 63 bits can count, expected, \(shown(shape)) found")
      }
      guard (shape.last ?? 1) % type.blockSize == 0 else {
        throw refuse("\(type) needs rows of whole blocks of \(type.blockSize) elements, \(shown(shape)) found")
      }
      let padding = (Self.alignment - size.bytes % Self.alignment) % Self.alignment
      let (sum, overflow) = end.addingReportingOverflow(size.bytes)
      guard !overflow, sum < Int.max - bytes.count - (1 << 32) else { throw refuse("the file would exceed 2^63 bytes") }
      bytes.append(string: utf8)
      bytes.append(number: UInt32(shape.count))
      for dimension in shape.reversed() { bytes.append(number: UInt64(dimension)) }
      bytes.append(number: type.rawValue)
      bytes.append(number: UInt64(end))
      sizes.append(size.bytes)
      paddings.append(padding)
      end = sum + padding
    }
    while bytes.count % Self.alignment != 0 { bytes.append(0) }
    header = bytes
    self.sizes = sizes
    self.paddings = paddings
  }
}

extension GGUFArray {
  /// The nesting depth of arrays, this one included.
  fileprivate var depth: Int {
    if case .arrays(let arrays) = self { 1 + (arrays.map(\.depth).max() ?? 0) } else { 1 }
  }
}

extension [UInt8] {
  fileprivate mutating func append<Number: FixedWidthInteger>(number: Number) {
    for byte in 0..<Number.bitWidth / 8 { append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
  }

  fileprivate mutating func append(string: some Collection<UInt8>) {
    append(number: UInt64(string.count))
    append(contentsOf: string)
  }

  /// The value, without its type.
  fileprivate mutating func append(_ value: GGUFValue) {
    switch value {
    case .uint8(let value): append(value)
    case .int8(let value): append(number: value)
    case .uint16(let value): append(number: value)
    case .int16(let value): append(number: value)
    case .uint32(let value): append(number: value)
    case .int32(let value): append(number: value)
    case .float32(let value): append(number: value.bitPattern)
    case .bool(let value): append(value ? 1 : 0)
    case .string(let value): append(string: value)
    case .array(let value): append(value)
    case .uint64(let value): append(number: value)
    case .int64(let value): append(number: value)
    case .float64(let value): append(number: value.bitPattern)
    }
  }

  private mutating func append(_ array: GGUFArray) {
    append(number: array.typeNumber)
    append(number: UInt64(array.count))
    switch array {
    case .uint8(let values): append(contentsOf: values)
    case .int8(let values): for value in values { append(number: value) }
    case .uint16(let values): for value in values { append(number: value) }
    case .int16(let values): for value in values { append(number: value) }
    case .uint32(let values): for value in values { append(number: value) }
    case .int32(let values): for value in values { append(number: value) }
    case .float32(let values): for value in values { append(number: value.bitPattern) }
    case .bool(let values): for value in values { append(value ? 1 : 0) }
    case .strings(let values): for value in values { append(string: value) }
    case .arrays(let values): for value in values { append(value) }
    case .uint64(let values): for value in values { append(number: value) }
    case .int64(let values): for value in values { append(number: value) }
    case .float64(let values): for value in values { append(number: value.bitPattern) }
    }
  }
}
