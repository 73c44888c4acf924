internal import DibitFailure
internal import DibitFiles
package import DibitTensor
internal import Glibc

/// Writes a safetensors file from one end to the other; equal input gives equal bytes.
///
/// Declare all tensors, append their bytes in that order in pieces of any size, then call ``finalize()``. A writer that is dropped
/// earlier removes its file. Only a crash leaves a part of one, and its header does not match its size: write within a
/// ``StagedDirectory``, which gives files their final names when all are whole.
///
/// Tensors follow each other without padding. Declare wide dtypes first where other readers need aligned elements.
package struct SafetensorsWriter: ~Copyable {
  /// The path of the file.
  package let path: String
  /// The size of the whole file in bytes.
  package let byteCount: Int
  private let tensors: [(name: String, dtype: DType, shape: [Int])]
  private let sizes: [Int]
  /// The tensor that the next byte belongs to, and how many bytes of it were given.
  private var current = 0
  private var given = 0
  private var output: HashedFile

  /// The bytes of a file with these tensors.
  package static func byteCount(
    of tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)] = []
  ) throws(CheckpointError) -> Int {
    let layout = try SafetensorsLayout(tensors, metadata: metadata, file: "")
    return layout.header.count + layout.sizes.reduce(0, +)
  }

  /// Creates the file and writes its header.
  ///
  /// - Throws: ``CheckpointError`` when the file exists or cannot be created, there is no room for all of it, or a declaration is no tensor of a safetensors file.
  package init(path: String, tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)] = [])
    throws(CheckpointError)
  {
    let layout = try SafetensorsLayout(tensors, metadata: metadata, file: path)
    let byteCount = layout.header.count + layout.sizes.reduce(0, +)
    try rethrow(as: CheckpointError.file, FreeSpace().check(byteCount, at: path))
    output = try rethrow(as: CheckpointError.file, HashedFile(path: path, start: layout.header))
    self.byteCount = byteCount
    self.path = path
    self.tensors = tensors
    sizes = layout.sizes
    skipWhole()
  }

  /// Adds bytes to the current tensor: the first that was declared and is not yet whole.
  ///
  /// - Throws: ``CheckpointError/wrongByteCount(file:tensor:declared:given:)`` when the piece is longer than what the tensor still
  ///   lacks, so that a wrong shape is found where it happens; ``CheckpointError/system(operation:path:code:)`` for a full disk.
  package mutating func append(_ bytes: Span<UInt8>) throws(CheckpointError) {
    try take(bytes.count)
    try rethrow(as: CheckpointError.file, output.append(bytes))
    skipWhole()
  }

  /// Adds floats to the current tensor, rounded to nearest, ties to even.
  ///
  /// A float too large for F16 becomes infinity; NaN stays NaN. `dtype` must be F64, F32, F16 or BF16, and that of the tensor.
  package mutating func append(floats: Span<Float>, as dtype: DType) throws(CheckpointError) {
    let declared = current < tensors.count ? tensors[current].dtype : dtype
    require(dtype == declared, "SafetensorsWriter: \(dtype.rawValue) elements for a tensor of \(declared.rawValue)")
    try take(floats.count * dtype.byteCount)
    var first = 0
    while first < floats.count {
      let piece = floats.extracting(first..<min(first + 16_384, floats.count))
      try rethrow(as: CheckpointError.file, output.append(Narrowing.narrow(piece, to: dtype).span))
      first += piece.count
    }
    skipWhole()
  }

  /// The SHA-256 of all bytes so far, header included, in hexadecimal: a last tensor can hold the checksum of everything before it.
  package mutating func digest() throws(CheckpointError) -> String { try rethrow(as: CheckpointError.file, output.digest()) }

  /// Checks that every tensor got its bytes and waits until the file is on the disk.
  ///
  /// - Returns: the SHA-256 of the whole file in hexadecimal.
  package consuming func finalize() throws(CheckpointError) -> String {
    guard current == tensors.count else {
      throw .wrongByteCount(file: path, tensor: tensors[current].name, declared: sizes[current], given: given)
    }
    return try rethrow(as: CheckpointError.file, output.finalize())
  }

  /// Counts bytes towards the current tensor.
  private mutating func take(_ count: Int) throws(CheckpointError) {
    guard count > 0 else { return }
    guard current < tensors.count else {
      throw .wrongByteCount(file: path, tensor: tensors.last?.name ?? "", declared: sizes.last ?? 0, given: (sizes.last ?? 0) + count)
    }
    guard count <= sizes[current] - given else {
      throw .wrongByteCount(file: path, tensor: tensors[current].name, declared: sizes[current], given: given + count)
    }
    given += count
  }

  /// Moves on from tensors that are whole, among them those without bytes.
  private mutating func skipWhole() {
    while current < sizes.count, given == sizes[current] { (current, given) = (current + 1, 0) }
  }
}

/// Turns floats into stored elements.
enum Narrowing {
  static func narrow(_ values: Span<Float>, to dtype: DType) -> [UInt8] {
    switch dtype {
    case .f32: bytes(of: values) { $0 }
    case .bf16: bytes(of: values) { BFloat16($0).bitPattern }
    case .f16: bytes(of: values) { Float16($0).bitPattern }
    case .f64: bytes(of: values) { Double($0) }
    default: fatalError("SafetensorsWriter: floats cannot be stored as \(dtype.rawValue)")
    }
  }

  @inline(__always)
  private static func bytes<Element: BitwiseCopyable>(of values: Span<Float>, _ element: (Float) -> Element) -> [UInt8] {
    let count = values.count * MemoryLayout<Element>.size
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      // SAFETY: element `index` lies within the `count` bytes; elements have no padding, and every bit pattern is a byte.
      let raw = UnsafeMutableRawBufferPointer(buffer)
      for index in values.indices {
        unsafe raw.storeBytes(of: element(values[index]), toByteOffset: index * MemoryLayout<Element>.size, as: Element.self)
      }
      filled = count
    }
  }
}
