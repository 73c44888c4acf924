package import DibitTensor

/// One tensor of an opened file, whatever the file's format.
package struct StoredTensor: Equatable, Sendable {
  /// The name, compared by its UTF-8 bytes.
  package let name: String
  /// The type of the elements as they are read; F32 for tensors that are stored in quantised blocks.
  package let dtype: DType
  /// The dimensions, row-major; empty for a scalar. Their product, and its size in bytes, fit 63 bits.
  package let shape: [Int]
  /// The storage of the elements in the file, in the format's own words: `F16`, `Q4_K`, `F32, gzip`.
  package let storage: String
  /// The bytes that the elements take in the file.
  package let byteCount: Int

  /// Describes a tensor.
  package init(name: String, dtype: DType, shape: [Int], storage: String, byteCount: Int) {
    self.name = name
    self.dtype = dtype
    self.shape = shape
    self.storage = storage
    self.byteCount = byteCount
  }
}

/// An opened file that holds named tensors. Each format has one; ``Checkpoint`` is the only one who asks.
///
/// Opening checks everything that can be checked without reading the data: counts, sizes, offsets, names.
protocol TensorContainer: Sendable {
  /// The path it was opened with.
  var path: String { get }
  /// The tensors, in the order of their data. No two have the same name.
  var tensors: [StoredTensor] { get }
  /// Strings stored beside the tensors.
  var metadata: [(key: String, value: String)] { get }

  /// The stored bytes of tensor `index` when they are row-major, little-endian elements of its dtype; nil for all other storage.
  func plainBytes(_ index: Int) -> Bytes?

  /// Fills `target` with rows of tensor `index` as floats. A tensor with fewer than two dimensions is one row; one with more is
  /// `[shape[0], product of the rest]`. The caller has checked `rows` and the size of `target`.
  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError)

  /// Lets the system forget the pages of rows that were processed; they can still be read again.
  func release(_ index: Int, rows: Range<Int>)
}
