package import DibitTensor

/// One tensor as a file stores it.
package struct TensorEntry: Equatable, Sendable {
  /// The name, compared by its UTF-8 bytes.
  package let name: String
  /// The type of its elements.
  package let dtype: DType
  /// The dimensions, row-major; empty for a scalar. The product of those that are not zero fits 64 bits.
  package let shape: [Int]
  /// The range of the bytes, from the start of the file.
  package let range: Range<Int>

  /// Describes a tensor.
  package init(name: String, dtype: DType, shape: [Int], range: Range<Int>) {
    self.name = name
    self.dtype = dtype
    self.shape = shape
    self.range = range
  }

  /// Names, like all fields, are equal when their bytes are.
  package static func == (left: TensorEntry, right: TensorEntry) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.dtype == right.dtype && left.shape == right.shape && left.range == right.range
  }
}

/// A safetensors file, checked completely before the first tensor is handed out.
///
/// Layout: 8 bytes header length, little-endian; the header, JSON; the data. Accepted are only files in which every byte has one
/// meaning: sizes equal dtype times shape, tensors touch without holes or overlaps, and the data ends with the file. See
/// `docs/formats/staging.md` for how such files are written.
package struct SafetensorsFile: Sendable {
  /// The largest header that is read, in bytes.
  package static let headerLimit = 100_000_000

  /// The whole file.
  package let bytes: Bytes
  /// The strings under `__metadata__`, in the order of the file.
  package let metadata: [(key: String, value: String)]
  /// The tensors in the order of their data.
  package let tensors: [TensorEntry]
  private let indices: [[UInt8]: Int]

  /// Checks the header of `bytes`; `file` is its name in messages.
  ///
  /// - Throws: ``CheckpointError/malformed(file:_:)`` with the first fault.
  /// - Complexity: O(header bytes); the data is not read.
  package init(_ bytes: Bytes, file: String) throws(CheckpointError) {
    do throws(SafetensorsFault) {
      let header = try SafetensorsHeader(parsing: bytes)
      self.bytes = bytes
      metadata = header.metadata
      tensors = header.tensors
    } catch {
      throw .malformed(file: file, error)
    }
    var indices: [[UInt8]: Int] = [:]
    for (index, tensor) in tensors.enumerated() { indices[Array(tensor.name.utf8)] = index }
    self.indices = indices
  }

  /// The tensor with exactly these UTF-8 bytes as its name, or nil.
  package func entry(_ name: String) -> TensorEntry? { indices[Array(name.utf8)].map { tensors[$0] } }

  /// The bytes of a tensor of this file.
  package func bytes(of tensor: TensorEntry) -> Bytes { bytes.slice(tensor.range) }
}
