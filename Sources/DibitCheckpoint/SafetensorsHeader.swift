internal import DibitFailure
internal import DibitJSON
internal import DibitTensor

/// The header of a safetensors file, parsed and checked against the size of the file.
struct SafetensorsHeader {
  private(set) var metadata: [(key: String, value: String)] = []
  private(set) var tensors: [TensorEntry] = []

  init(parsing bytes: Bytes) throws(SafetensorsFault) {
    let length = try Self.length(of: bytes)
    // A header nests three levels; the limit keeps recursion short.
    let json = try rethrow(
      as: { (error: JSONError) in SafetensorsFault.headerSyntax(reason: error.description) },
      JSONValue(parsing: bytes.slice(8..<8 + length).array, depthLimit: 16))
    for (key, value) in json.object?.members ?? [] {
      if key.utf8.elementsEqual("__metadata__".utf8) {
        metadata = try Self.metadata(value)
      } else {
        tensors.append(try Self.tensor(key, value))
      }
    }
    // Tensors without bytes share their offset with a neighbour: they sort before it.
    tensors.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    try locate(dataStart: 8 + length, fileSize: bytes.count)
  }

  /// The header length, when it and the first byte of the header are plausible.
  private static func length(of bytes: Bytes) throws(SafetensorsFault) -> Int {
    guard bytes.count >= 8 else {
      if let kind = FileKind.recognise(bytes) { throw .otherFormat(kind) }
      throw .tooShort(foundBytes: bytes.count)
    }
    let found = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[$1]) << UInt64(8 * $1) }
    guard found >= 2, found <= UInt64(SafetensorsFile.headerLimit) else {
      if let kind = FileKind.recognise(bytes), kind != .safetensors { throw .otherFormat(kind) }
      throw .headerLength(found: found, limit: SafetensorsFile.headerLimit)
    }
    let length = Int(found)
    if bytes.count > 8, bytes[8] != UInt8(ascii: "{") {
      if let kind = FileKind.recognise(bytes) { throw .otherFormat(kind) }
      throw .headerStart(found: bytes[8])
    }
    guard length <= bytes.count - 8 else { throw .truncated(expectedBytes: 8 + length, foundBytes: bytes.count) }
    return length
  }

  private static func metadata(_ value: JSONValue) throws(SafetensorsFault) -> [(key: String, value: String)] {
    if value.isNull { return [] }  // as MLX writes a file without metadata
    guard let object = value.object else { throw .wrongType(key: "__metadata__", expected: "an object", found: value.shown) }
    var metadata: [(key: String, value: String)] = []
    for (key, value) in object.members {
      guard let text = value.string else {
        throw .wrongType(key: "__metadata__." + key, expected: "a string", found: value.shown)
      }
      metadata.append((key: key, value: text))
    }
    return metadata
  }

  /// One tensor; its range is relative to the data section until ``locate(dataStart:fileSize:)``.
  private static func tensor(_ name: String, _ value: JSONValue) throws(SafetensorsFault) -> TensorEntry {
    guard let object = value.object else { throw .wrongType(key: name, expected: "an object", found: value.shown) }
    let keys = ["dtype", "shape", "data_offsets"]
    if let unknown = object.keys.first(where: { !keys.contains($0) }) { throw .unknownKey(tensor: name, key: unknown) }
    if let missing = keys.first(where: { object[$0] == nil }) { throw .missingKey(tensor: name, key: missing) }

    let dtype = try dtype(object["dtype"] ?? .null, tensor: name)
    let shape = try shape(object["shape"] ?? .null, tensor: name)
    let range = try offsets(object["data_offsets"] ?? .null, tensor: name)
    guard let size = TensorSize(dtype: dtype, shape: shape) else { throw .shapeOverflow(tensor: name, shape: shape) }
    guard size.bytes == range.count else {
      throw .sizeMismatch(tensor: name, dtype: dtype, shape: shape, expectedBytes: size.bytes, foundBytes: range.count)
    }
    return TensorEntry(name: name, dtype: dtype, shape: shape, range: range)
  }

  private static func dtype(_ value: JSONValue, tensor: String) throws(SafetensorsFault) -> DType {
    guard let text = value.string else { throw .wrongType(key: tensor + ".dtype", expected: "a string", found: value.shown) }
    guard let dtype = DType(rawValue: text) else { throw .unknownDType(tensor: tensor, found: text) }
    return dtype
  }

  private static func shape(_ value: JSONValue, tensor: String) throws(SafetensorsFault) -> [Int] {
    guard let elements = value.array else { throw .wrongType(key: tensor + ".shape", expected: "an array", found: value.shown) }
    var shape: [Int] = []
    for (index, element) in elements.enumerated() {
      guard case .integer(let dimension) = element, dimension >= 0 else {
        throw .dimension(tensor: tensor, index: index, found: element.shown)
      }
      shape.append(dimension)
    }
    return shape
  }

  private static func offsets(_ value: JSONValue, tensor: String) throws(SafetensorsFault) -> Range<Int> {
    guard let elements = value.array, elements.count == 2, case .integer(let begin) = elements[0], case .integer(let end) = elements[1],
      begin >= 0, begin <= end
    else { throw .offsets(tensor: tensor, found: value.shown) }
    return begin..<end
  }

  /// Checks that the sorted tensors fill the data section exactly, and makes their ranges relative to the file.
  private mutating func locate(dataStart: Int, fileSize: Int) throws(SafetensorsFault) {
    var end = 0
    var previous = ""
    for tensor in tensors {
      let begin = tensor.range.lowerBound
      guard begin >= end else { throw .overlap(tensor: tensor.name, begin: begin, previous: previous, previousEnd: end) }
      guard begin == end else { throw .hole(tensor: tensor.name, begin: begin, previousEnd: end) }
      end = tensor.range.upperBound
      previous = tensor.name
    }
    let (expected, overflow) = dataStart.addingReportingOverflow(end)
    guard !overflow, expected <= fileSize else {
      throw .truncated(expectedBytes: overflow ? Int.max : expected, foundBytes: fileSize)
    }
    guard expected == fileSize else { throw .trailingBytes(expectedBytes: expected, foundBytes: fileSize) }
    tensors = tensors.map {
      TensorEntry(
        name: $0.name, dtype: $0.dtype, shape: $0.shape, range: dataStart + $0.range.lowerBound..<dataStart + $0.range.upperBound)
    }
  }
}

/// The number of elements and bytes of a tensor; nil when a product does not fit 64 bits.
struct TensorSize: Equatable {
  let elements: Int
  let bytes: Int

  /// Dimensions must not be negative.
  init?(dtype: DType, shape: [Int]) {
    // A zero may not hide an overflow among the other dimensions: readers multiply those alone.
    var product = dtype.byteCount
    for dimension in shape {
      let (next, overflow) = product.multipliedReportingOverflow(by: max(dimension, 1))
      if overflow { return nil }
      product = next
    }
    bytes = shape.contains(0) ? 0 : product
    elements = bytes / dtype.byteCount
  }
}

extension JSONValue {
  /// The value for a message: short ones as they are written, long ones by their kind.
  var shown: String {
    switch self {
    case .object: return kind
    case .string(let text): return quoted(text)
    case .array(let elements) where elements.count > 4 || elements.contains { $0.array != nil || $0.object != nil }:
      return "an array of \(elements.count)"
    default:
      let text = serialized()
      return text.utf8.count <= 80 ? text : kind
    }
  }
}
