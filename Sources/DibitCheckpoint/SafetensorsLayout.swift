internal import DibitFailure
internal import DibitJSON
package import DibitTensor

/// The layout of the bytes of a safetensors file with given tensors.
struct SafetensorsLayout {
  /// The first bytes of the file: header length and header, padded with spaces so that the data begins at a multiple of 64.
  let header: [UInt8]
  /// The size of each tensor in bytes.
  let sizes: [Int]

  init(_ tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)], file: String)
    throws(CheckpointError)
  {
    var members: [(key: String, value: JSONValue)] = []
    if !metadata.isEmpty { members.append((key: "__metadata__", value: .object(try Self.object(metadata, file: file)))) }
    var sizes: [Int] = []
    var seen: Set<[UInt8]> = [Array("__metadata__".utf8)]
    var end = 0
    for (name, dtype, shape) in tensors {
      guard seen.insert(Array(name.utf8)).inserted else {
        throw .badDeclaration(file: file, tensor: name, reason: "the name is taken")
      }
      guard shape.allSatisfy({ $0 >= 0 }), let size = TensorSize(dtype: dtype, shape: shape) else {
        throw .badDeclaration(
          file: file, tensor: name, reason: "\(dtype.rawValue) \(shown(shape)) is not a shape whose bytes 64 bits can count")
      }
      let (next, overflow) = end.addingReportingOverflow(size.bytes)
      guard !overflow else { throw .badDeclaration(file: file, tensor: name, reason: "the file would exceed 2^63 bytes") }
      let entry = JSONObject([
        (key: "dtype", value: .string(dtype.rawValue)), (key: "shape", value: .array(shape.map { .integer($0) })),
        (key: "data_offsets", value: [.integer(end), .integer(next)]),
      ])
      members.append((key: name, value: .object(entry)))
      sizes.append(size.bytes)
      end = next
    }
    var json = Array(JSONValue.object(JSONObject(members)).serialized().utf8)
    while (8 + json.count) % 64 != 0 { json.append(UInt8(ascii: " ")) }
    guard json.count <= SafetensorsFile.headerLimit else {
      let reason = "the header takes \(json.count) bytes, at most \(SafetensorsFile.headerLimit) are allowed"
      throw .badDeclaration(file: file, tensor: tensors.last?.name ?? "", reason: reason)
    }
    header = UInt64(json.count).littleEndianBytes + json
    self.sizes = sizes
  }

  private static func object(_ metadata: [(key: String, value: String)], file: String) throws(CheckpointError) -> JSONObject {
    var seen = Set<[UInt8]>()
    for (key, _) in metadata where !seen.insert(Array(key.utf8)).inserted {
      throw .badDeclaration(file: file, tensor: "__metadata__", reason: "the key \(quoted(key)) is given twice")
    }
    return JSONObject(metadata.map { (key: $0.key, value: .string($0.value)) })
  }
}

extension SafetensorsFile {
  /// A tensor to be written, with its bytes: row-major, little-endian.
  package typealias Content = (name: String, dtype: DType, shape: [Int], bytes: [UInt8])

  /// The bytes of a small file; ``SafetensorsWriter`` writes large ones. Equal input gives equal bytes.
  ///
  /// - Throws: ``CheckpointError/badDeclaration(file:tensor:reason:)``.
  package static func bytes(of tensors: [Content], metadata: [(key: String, value: String)] = []) throws(CheckpointError) -> [UInt8] {
    let layout = try SafetensorsLayout(tensors.map { ($0.name, $0.dtype, $0.shape) }, metadata: metadata, file: "")
    for (tensor, size) in zip(tensors, layout.sizes) {
      require(tensor.bytes.count == size, "SafetensorsFile.bytes: \(tensor.bytes.count) bytes of \(tensor.name), \(size) declared")
    }
    return layout.header + tensors.flatMap(\.bytes)
  }
}
