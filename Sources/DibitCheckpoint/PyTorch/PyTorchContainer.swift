internal import DibitFailure
internal import DibitFiles
internal import DibitTensor

/// A mapped PyTorch file.
struct PyTorchContainer: TensorContainer {
  private let mapped: MappedFile
  private let file: PyTorchFile
  let tensors: [StoredTensor]

  /// Checks the file completely, without reading the tensors' data.
  ///
  /// - Throws: ``CheckpointError/pytorch(file:_:)``.
  init(_ mapped: MappedFile) throws(CheckpointError) {
    self.mapped = mapped
    file = try rethrow(as: { (fault: PyTorchFault) in CheckpointError.pytorch(file: mapped.path, fault) }, PyTorchFile(mapped.bytes))
    tensors = file.tensors.map {
      StoredTensor(
        name: $0.name, dtype: $0.tensor.dtype, shape: $0.tensor.shape,
        storage: $0.isContiguous ? $0.tensor.dtype.rawValue : "\($0.tensor.dtype.rawValue), strides \(shown($0.tensor.strides))",
        byteCount: $0.used.count)
    }
  }

  var path: String { mapped.path }
  var metadata: [(key: String, value: String)] { [] }

  func plainBytes(_ index: Int) -> Bytes? { file.plainBytes(index) }

  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    file.readRows(index, rows: rows, into: &target)
  }

  func release(_ index: Int, rows: Range<Int>) {
    let tensor = file.tensors[index]
    if tensor.isContiguous {
      let part = file.range(of: rows, index)
      mapped.discard(tensor.used.lowerBound + part.lowerBound..<tensor.used.lowerBound + part.upperBound)
    } else if rows.upperBound == (tensor.tensor.shape.count >= 2 ? tensor.tensor.shape[0] : 1) {
      // The rows of a transposed tensor lie all over its storage: it goes when the last one was read.
      mapped.discard(tensor.used)
    }
  }
}

extension PyTorchFile {
  /// Rows and columns that are copied together, so that both sides stay in the cache while a matrix is transposed.
  private static let tile = 64

  /// The bytes of a tensor whose elements lie row by row; nil for others. Storages may begin at any byte.
  func plainBytes(_ index: Int) -> Bytes? { tensors[index].isContiguous ? bytes.slice(tensors[index].used) : nil }

  /// Returns the range of rows within the bytes of a contiguous tensor.
  func range(of rows: Range<Int>, _ index: Int) -> Range<Int> {
    let tensor = tensors[index].tensor
    let stride = (tensor.shape.count >= 2 ? tensor.shape.dropFirst() : tensor.shape[...]).reduce(1, *) * tensor.dtype.byteCount
    return rows.lowerBound * stride..<rows.upperBound * stride
  }

  /// Fills `target` with rows of a tensor as floats; see ``TensorContainer/readRows(_:rows:into:)``.
  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) {
    let (placed, tensor) = (tensors[index], tensors[index].tensor)
    if let plain = plainBytes(index) { return Widening.widen(plain.slice(range(of: rows, index)), tensor.dtype, into: &target) }
    let isMatrix = tensor.shape.count >= 2
    let rowStride = isMatrix ? tensor.strides[0] : 0
    let columns = Self.offsets(
      isMatrix ? tensor.shape.dropFirst() : tensor.shape[...], isMatrix ? tensor.strides.dropFirst() : tensor.strides[...])
    let size = tensor.dtype.byteCount
    let source = bytes.slice(placed.used)
    let raw = source.bytes
    var ordered = [UInt8](repeating: 0, count: target.count * size)
    for firstRow in stride(from: rows.lowerBound, to: rows.upperBound, by: Self.tile) {
      for firstColumn in stride(from: 0, to: columns.count, by: Self.tile) {
        for row in firstRow..<min(firstRow + Self.tile, rows.upperBound) {
          for column in firstColumn..<min(firstColumn + Self.tile, columns.count) {
            let at = ((row - rows.lowerBound) * columns.count + column) * size
            let from = (row * rowStride + columns[column]) * size
            for byte in 0..<size { ordered[at + byte] = raw[from + byte] }
          }
        }
      }
    }
    Widening.widen(Bytes(SharedBytes(ordered)), tensor.dtype, into: &target)
  }

  /// The offset of every combination of the axes in elements, the last axis running fastest.
  private static func offsets(_ shape: ArraySlice<Int>, _ strides: ArraySlice<Int>) -> [Int] {
    var result = [0]
    for (dimension, stride) in zip(shape, strides) {
      var next: [Int] = []
      next.reserveCapacity(result.count * dimension)
      for offset in result { for index in 0..<dimension { next.append(offset + index * stride) } }
      result = next
    }
    return result
  }
}
