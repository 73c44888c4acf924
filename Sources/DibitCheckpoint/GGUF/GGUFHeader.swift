internal import DibitFailure
internal import DibitTensor

/// Everything before the data of a GGUF file, parsed and checked against the size of the file.
struct GGUFHeader {
  private(set) var version = 0
  private(set) var alignment = 32
  private(set) var metadata: [(key: String, value: GGUFValue)] = []
  private(set) var tensors: [GGUFTensor] = []
  private(set) var keys: [[UInt8]: Int] = [:]

  /// The least that a pair takes: length, one byte of key, type, one byte of value.
  private static let minimumPairBytes = 14
  /// The least that the description of a tensor takes: length, one byte of name, number of dimensions, type, offset.
  private static let minimumTensorBytes = 25

  init(parsing bytes: Bytes) throws(GGUFFault) {
    var cursor = GGUFCursor(bytes)
    version = try Self.version(&cursor, bytes)
    let tensorCount = try Self.count(&cursor, "number of tensors", minimumBytes: Self.minimumTensorBytes)
    let pairCount = try Self.count(&cursor, "number of keys", minimumBytes: Self.minimumPairBytes)
    try readPairs(&cursor, pairCount)
    try readAlignment()
    let entries = try readTensors(&cursor, tensorCount)
    try locate(entries, headerEnd: cursor.offset, fileSize: bytes.count)
  }

  private static func version(_ cursor: inout GGUFCursor, _ bytes: Bytes) throws(GGUFFault) -> Int {
    let magic = try cursor.raw(min(4, max(cursor.remaining, 1)), "magic 'GGUF'")
    guard magic == Array("GGUF".utf8) else {
      if let kind = FileKind.recognise(bytes), kind != .gguf { throw .otherFormat(kind) }
      throw .magic(found: magic)
    }
    let version: UInt32 = try cursor.number("GGUF version")
    guard version == 2 || version == 3 else {
      if (1...3).contains(version.byteSwapped) { throw .bigEndian(version: version.byteSwapped) }
      throw .version(found: version)
    }
    return Int(version)
  }

  private static func count(_ cursor: inout GGUFCursor, _ what: String, minimumBytes: Int) throws(GGUFFault) -> Int {
    let found: UInt64 = try cursor.number(what)
    guard found <= UInt64(cursor.remaining / minimumBytes) else {
      throw .count(what: what, offset: cursor.offset - 8, found: found, foundBytes: cursor.remaining)
    }
    return Int(found)
  }

  private mutating func readPairs(_ cursor: inout GGUFCursor, _ count: Int) throws(GGUFFault) {
    metadata.reserveCapacity(count)
    keys.reserveCapacity(count)
    for _ in 0..<count {
      let begin = cursor.offset
      let length: UInt64 = try cursor.number("length of a key")
      guard length >= 1, length <= UInt64(GGUFFile.keyLimit) else {
        throw .keyLength(offset: begin, found: length, limit: GGUFFile.keyLimit)
      }
      let raw = try cursor.raw(Int(length), "key")
      guard let key = String(validating: raw, as: UTF8.self) else { throw .notText(what: "key", offset: begin + 8) }
      guard keys.updateValue(metadata.count, forKey: raw) == nil else { throw .duplicateKey(key, offset: begin) }
      metadata.append((key: key, value: try Self.value(&cursor, key)))
    }
  }

  private static func value(_ cursor: inout GGUFCursor, _ key: String) throws(GGUFFault) -> GGUFValue {
    let what = "value of key " + quoted(key)
    let type: UInt32 = try cursor.number("type of key " + quoted(key))
    switch type {
    case 0: return .uint8(try cursor.number(what))
    case 1: return .int8(try cursor.number(what))
    case 2: return .uint16(try cursor.number(what))
    case 3: return .int16(try cursor.number(what))
    case 4: return .uint32(try cursor.number(what))
    case 5: return .int32(try cursor.number(what))
    case 6: return .float32(Float(bitPattern: try cursor.number(what)))
    case 7: return .bool(try bool(try cursor.number(what), key, at: cursor.offset - 1))
    case 8: return .string(try cursor.string(what))
    case 9: return .array(try array(&cursor, key, depth: 1))
    case 10: return .uint64(try cursor.number(what))
    case 11: return .int64(try cursor.number(what))
    case 12: return .float64(Double(bitPattern: try cursor.number(what)))
    default: throw .valueType(key: key, offset: cursor.offset - 4, found: type)
    }
  }

  private static func bool(_ byte: UInt8, _ key: String, at offset: Int) throws(GGUFFault) -> Bool {
    guard byte <= 1 else { throw .boolean(key: key, offset: offset, found: byte) }
    return byte == 1
  }

  private static func array(_ cursor: inout GGUFCursor, _ key: String, depth: Int) throws(GGUFFault) -> GGUFArray {
    let begin = cursor.offset
    guard depth <= GGUFFile.depthLimit else { throw .depth(key: key, offset: begin, limit: GGUFFile.depthLimit) }
    let type: UInt32 = try cursor.number("element type of key " + quoted(key))
    let count: UInt64 = try cursor.number("number of elements of key " + quoted(key))
    switch type {
    case 0: return .uint8(try cursor.numbers(count, key))
    case 1: return .int8(try cursor.numbers(count, key))
    case 2: return .uint16(try cursor.numbers(count, key))
    case 3: return .int16(try cursor.numbers(count, key))
    case 4: return .uint32(try cursor.numbers(count, key))
    case 5: return .int32(try cursor.numbers(count, key))
    case 6: return .float32(try cursor.numbers(count, key))
    case 7:
      let first = cursor.offset
      let bytes: [UInt8] = try cursor.numbers(count, key)
      if let bad = bytes.firstIndex(where: { $0 > 1 }) { throw .boolean(key: key, offset: first + bad, found: bytes[bad]) }
      return .bool(bytes.map { $0 == 1 })
    case 8:
      var strings = GGUFStrings()
      strings.reserve(try fitting(count, &cursor, key, minimumBytes: 8))
      for _ in 0..<count { strings.append(try cursor.string("string of key")) }
      return .strings(strings)
    case 9:
      var arrays: [GGUFArray] = []
      arrays.reserveCapacity(try fitting(count, &cursor, key, minimumBytes: 12))
      for _ in 0..<count { arrays.append(try array(&cursor, key, depth: depth + 1)) }
      return .arrays(arrays)
    case 10: return .uint64(try cursor.numbers(count, key))
    case 11: return .int64(try cursor.numbers(count, key))
    case 12: return .float64(try cursor.numbers(count, key))
    default: throw .valueType(key: key, offset: begin, found: type)
    }
  }

  private static func fitting(_ count: UInt64, _ cursor: inout GGUFCursor, _ key: String, minimumBytes: Int) throws(GGUFFault) -> Int {
    guard count <= UInt64(cursor.remaining / minimumBytes) else {
      throw .count(what: "elements of key " + quoted(key), offset: cursor.offset - 8, found: count, foundBytes: cursor.remaining)
    }
    return Int(count)
  }

  private mutating func readAlignment() throws(GGUFFault) {
    guard let index = keys[Array("general.alignment".utf8)] else { return }
    guard case .uint32(let found) = metadata[index].value else { throw .alignmentType(found: metadata[index].value.kind) }
    guard found > 0, found & (found - 1) == 0, found <= UInt32(GGUFFile.alignmentLimit) else {
      throw .alignment(found: found, limit: GGUFFile.alignmentLimit)
    }
    alignment = Int(found)
  }

  /// A tensor whose range was not checked yet.
  private struct Entry {
    let name: String
    let type: GGMLType
    let shape: [Int]
    let byteCount: Int
    let begin: UInt64
  }

  private func readTensors(_ cursor: inout GGUFCursor, _ count: Int) throws(GGUFFault) -> [Entry] {
    var entries: [Entry] = []
    entries.reserveCapacity(count)
    var names = Set<[UInt8]>(minimumCapacity: count)
    for _ in 0..<count {
      let begin = cursor.offset
      let length: UInt64 = try cursor.number("length of a tensor name")
      guard length >= 1, length <= UInt64(GGUFFile.nameLimit) else {
        throw .nameLength(offset: begin, found: length, limit: GGUFFile.nameLimit)
      }
      let raw = try cursor.raw(Int(length), "tensor name")
      guard let name = String(validating: raw, as: UTF8.self) else { throw .notText(what: "tensor name", offset: begin + 8) }
      guard names.insert(raw).inserted else { throw .duplicateTensor(name, offset: begin) }
      entries.append(try Self.entry(&cursor, name))
    }
    return entries
  }

  private static func entry(_ cursor: inout GGUFCursor, _ name: String) throws(GGUFFault) -> Entry {
    let dimensions: UInt32 = try cursor.number("number of dimensions")
    guard dimensions <= UInt32(GGUFFile.dimensionLimit) else {
      throw .dimensions(tensor: name, offset: cursor.offset - 4, found: dimensions, limit: GGUFFile.dimensionLimit)
    }
    var shape: [Int] = []
    for index in 0..<Int(dimensions) {
      let found: UInt64 = try cursor.number("dimension")
      guard found > 0, let dimension = Int(exactly: found) else {
        throw .dimension(tensor: name, offset: cursor.offset - 8, index: index, found: found)
      }
      shape.insert(dimension, at: 0)
    }
    let number: UInt32 = try cursor.number("tensor type")
    guard let type = GGMLType(rawValue: number) else { throw .tensorType(tensor: name, offset: cursor.offset - 4, found: number) }
    let begin: UInt64 = try cursor.number("tensor offset")
    let columns = shape.last ?? 1
    guard columns % type.blockSize == 0 else { throw .blocks(tensor: name, type: type, columns: columns) }
    guard let size = GGUFSize(type: type, shape: shape) else { throw .shapeOverflow(tensor: name, shape: shape) }
    return Entry(name: name, type: type, shape: shape, byteCount: size.bytes, begin: begin)
  }

  /// Checks that the tensors follow each other in steps of the alignment, up to the end of the file.
  private mutating func locate(_ entries: [Entry], headerEnd: Int, fileSize: Int) throws(GGUFFault) {
    guard !entries.isEmpty else {
      // Without data there is nothing to align, but writers may pad.
      let end = padded(headerEnd) ?? headerEnd
      guard fileSize <= end else { throw .trailingBytes(expectedBytes: end, foundBytes: fileSize) }
      return
    }
    guard let dataStart = padded(headerEnd) else { throw .trailingBytes(expectedBytes: headerEnd, foundBytes: fileSize) }
    var end = 0
    var previous = ""
    tensors.reserveCapacity(entries.count)
    for entry in entries.sorted(by: { $0.begin < $1.begin }) {
      guard entry.begin % UInt64(alignment) == 0 else {
        throw .unaligned(tensor: entry.name, begin: entry.begin, alignment: alignment)
      }
      guard entry.begin >= UInt64(end) else {
        throw .overlap(tensor: entry.name, begin: entry.begin, previous: previous, previousEnd: end)
      }
      // `end` lies within the file, so that padding it cannot overflow.
      let expected = padded(end) ?? end
      guard entry.begin == UInt64(expected) else { throw .hole(tensor: entry.name, begin: entry.begin, expected: expected) }
      let (fileEnd, overflow) = entry.byteCount.addingReportingOverflow(dataStart + expected)
      guard !overflow, fileEnd <= fileSize else {
        throw .truncatedData(tensor: entry.name, expectedBytes: overflow ? Int.max : fileEnd, foundBytes: fileSize)
      }
      tensors.append(GGUFTensor(name: entry.name, type: entry.type, shape: entry.shape, range: dataStart + expected..<fileEnd))
      (end, previous) = (expected + entry.byteCount, entry.name)
    }
    // Most writers pad the last tensor too.
    let last = dataStart + (padded(end) ?? end)
    guard fileSize <= last else { throw .trailingBytes(expectedBytes: last, foundBytes: fileSize) }
  }

  /// The next multiple of the alignment; nil when there is none.
  private func padded(_ offset: Int) -> Int? {
    let (sum, overflow) = offset.addingReportingOverflow(alignment - 1)
    return overflow ? nil : sum / alignment * alignment
  }
}

/// The number of elements and bytes of a GGUF tensor; nil when a product does not fit 63 bits.
struct GGUFSize: Equatable {
  let elements: Int
  let bytes: Int

  /// No dimension may be zero or negative, and rows must hold whole blocks.
  init?(type: GGMLType, shape: [Int]) {
    var elements = 1
    for dimension in shape {
      let (product, overflow) = elements.multipliedReportingOverflow(by: dimension)
      if overflow { return nil }
      elements = product
    }
    let (bytes, overflow) = (elements / type.blockSize).multipliedReportingOverflow(by: type.blockBytes)
    // Blocks of elements that are read as floats: those must be countable too.
    if overflow || elements.multipliedReportingOverflow(by: 8).overflow { return nil }
    self.elements = elements
    self.bytes = bytes
  }
}
