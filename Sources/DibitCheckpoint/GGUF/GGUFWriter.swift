internal import DibitFailure
internal import DibitFiles
internal import DibitTensor

/// Writes a GGUF file, version 3, from one end to the other; equal input gives equal bytes.
///
/// Declare metadata and tensors, append the bytes of the tensors in that order in pieces of any size, then call ``finalize()``. A writer that
/// is dropped earlier removes its file. Only a crash leaves a part of one, which readers refuse because data is missing: write within a
/// ``StagedDirectory``, which gives files their final names when all are whole.
package struct GGUFWriter: ~Copyable {
  /// The path of the file.
  package let path: String
  /// The size of the whole file in bytes.
  package let byteCount: Int
  private let tensors: [(name: String, type: GGMLType, shape: [Int])]
  private let layout: GGUFLayout
  /// The tensor that the next byte belongs to, and how many bytes of it were given.
  private var current = 0
  private var given = 0
  private var output: HashedFile

  /// Creates the file and writes everything before the data.
  ///
  /// Shapes are row-major; the last dimension of types with blocks holds whole ones. `general.alignment` need not be given.
  ///
  /// - Throws: ``CheckpointError`` when the file exists or cannot be created, there is no room for all of it, or a declaration does not fit the format.
  package init(path: String, metadata: [(key: String, value: GGUFValue)], tensors: [(name: String, type: GGMLType, shape: [Int])])
    throws(CheckpointError)
  {
    let layout = try GGUFLayout(metadata: metadata, tensors: tensors, file: path)
    let byteCount = layout.header.count + layout.sizes.reduce(0, +) + layout.paddings.reduce(0, +)
    try rethrow(as: CheckpointError.file, FreeSpace().check(byteCount, at: path))
    output = try rethrow(as: CheckpointError.file, HashedFile(path: path, start: layout.header))
    self.byteCount = byteCount
    self.path = path
    self.layout = layout
    self.tensors = tensors
  }

  /// Adds stored bytes to the current tensor: the first that was declared and is not yet whole.
  ///
  /// - Throws: ``CheckpointError/wrongByteCount(file:tensor:declared:given:)`` when the piece is longer than what the tensor still lacks;
  ///   ``CheckpointError/system(operation:path:code:)`` for a full disk.
  package mutating func append(_ bytes: Span<UInt8>) throws(CheckpointError) {
    guard bytes.count > 0 else { return }
    guard current < tensors.count else {
      let (last, size) = (tensors.last?.name ?? "", layout.sizes.last ?? 0)
      throw .wrongByteCount(file: path, tensor: last, declared: size, given: size + bytes.count)
    }
    guard bytes.count <= layout.sizes[current] - given else {
      throw .wrongByteCount(
        file: path, tensor: tensors[current].name, declared: layout.sizes[current], given: given + bytes.count)
    }
    given += bytes.count
    try rethrow(as: CheckpointError.file, output.append(bytes))
    guard given == layout.sizes[current] else { return }
    let padding = [UInt8](repeating: 0, count: layout.paddings[current])
    try rethrow(as: CheckpointError.file, output.append(padding.span))
    (current, given) = (current + 1, 0)
  }

  /// Adds floats to the current tensor, whose type must be F32, F16, BF16 or F64; rounded to nearest, ties to even.
  package mutating func append(floats: Span<Float>) throws(CheckpointError) {
    guard floats.count > 0 else { return }
    let type = current < tensors.count ? tensors[current].type : .f32
    guard let dtype = type.dtype, dtype.isFloat else { fatalError("GGUFWriter: floats cannot be stored as \(type)") }
    var first = 0
    while first < floats.count {
      let piece = floats.extracting(first..<min(first + 16_384, floats.count))
      let bytes = Narrowing.narrow(piece, to: dtype)
      try append(bytes.span)
      first += piece.count
    }
  }

  /// Checks that every tensor got its bytes and waits until the file is on the disk.
  ///
  /// - Returns: the SHA-256 of the whole file in hexadecimal.
  package consuming func finalize() throws(CheckpointError) -> String {
    guard current == tensors.count else {
      throw .wrongByteCount(file: path, tensor: tensors[current].name, declared: layout.sizes[current], given: given)
    }
    return try rethrow(as: CheckpointError.file, output.finalize())
  }
}
