internal import DibitFailure
package import DibitTensor

/// One tensor as a GGUF file stores it.
package struct GGUFTensor: Equatable, Sendable {
  /// The name, compared by its UTF-8 bytes.
  package let name: String
  /// The storage type of its elements.
  package let type: GGMLType
  /// The dimensions, row-major: the format's own list (`ne`) backwards. Empty for a scalar; none is zero.
  package let shape: [Int]
  /// The range of the bytes, from the start of the file.
  package let range: Range<Int>

  /// Describes a tensor.
  package init(name: String, type: GGMLType, shape: [Int], range: Range<Int>) {
    self.name = name
    self.type = type
    self.shape = shape
    self.range = range
  }
}

/// A GGUF file, version 2 or 3, checked completely before the first tensor is handed out.
///
/// Layout, little-endian: `GGUF`, version, number of tensors, number of key/value pairs; the pairs; name, dimensions, type and offset of
/// each tensor; padding; the data. Accepted are only files in which every byte has one meaning: keys and names differ, tensors follow
/// each other in steps of `general.alignment` without holes or overlaps, and the data ends with the file. See `docs/formats/gguf.md`.
package struct GGUFFile: Sendable {
  /// The longest key, in bytes.
  package static let keyLimit = 65_535
  /// The longest tensor name, in bytes.
  package static let nameLimit = 64
  /// The most dimensions of a tensor.
  package static let dimensionLimit = 4
  /// The largest `general.alignment`.
  package static let alignmentLimit = 1 << 20
  /// The greatest depth of arrays within arrays.
  package static let depthLimit = 8

  /// The whole file.
  package let bytes: Bytes
  /// 2 or 3.
  package let version: Int
  /// Tensors begin at multiples of this, counted from the begin of the data.
  package let alignment: Int
  /// Keys and values in the order of the file; no key appears twice.
  package let metadata: [(key: String, value: GGUFValue)]
  /// The tensors in the order of their data.
  package let tensors: [GGUFTensor]
  private let keys: [[UInt8]: Int]
  private let indices: [[UInt8]: Int]

  /// Checks the metadata and the list of tensors of `bytes`; `file` is its name in messages.
  ///
  /// - Throws: ``CheckpointError/gguf(file:_:)`` with the first fault.
  /// - Complexity: O(header bytes); the data is not read.
  package init(_ bytes: Bytes, file: String) throws(CheckpointError) {
    let header = try rethrow(as: { (fault: GGUFFault) in CheckpointError.gguf(file: file, fault) }, GGUFHeader(parsing: bytes))
    self.bytes = bytes
    version = header.version
    alignment = header.alignment
    metadata = header.metadata
    tensors = header.tensors
    keys = header.keys
    var indices: [[UInt8]: Int] = [:]
    indices.reserveCapacity(tensors.count)
    for (index, tensor) in tensors.enumerated() { indices[Array(tensor.name.utf8)] = index }
    self.indices = indices
  }

  /// The value of a key, or nil.
  package subscript(key: String) -> GGUFValue? { keys[Array(key.utf8)].map { metadata[$0].value } }

  /// The tensor with exactly these UTF-8 bytes as its name, or nil.
  package func tensor(_ name: String) -> GGUFTensor? { indices[Array(name.utf8)].map { tensors[$0] } }

  /// The stored bytes of a tensor of this file.
  package func bytes(of tensor: GGUFTensor) -> Bytes { bytes.slice(tensor.range) }
}

extension GGUFTensor {
  /// Names, like all fields, are equal when their bytes are.
  package static func == (left: GGUFTensor, right: GGUFTensor) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.type == right.type && left.shape == right.shape && left.range == right.range
  }
}
