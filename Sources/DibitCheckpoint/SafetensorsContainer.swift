internal import DibitFiles
internal import DibitTensor

/// A mapped safetensors file.
struct SafetensorsContainer: TensorContainer {
  private let mapped: MappedFile
  private let file: SafetensorsFile
  let tensors: [StoredTensor]

  init(_ mapped: MappedFile) throws(CheckpointError) {
    self.mapped = mapped
    file = try SafetensorsFile(mapped.bytes, file: mapped.path)
    tensors = file.tensors.map {
      StoredTensor(name: $0.name, dtype: $0.dtype, shape: $0.shape, storage: $0.dtype.rawValue, byteCount: $0.range.count)
    }
  }

  var path: String { mapped.path }
  var metadata: [(key: String, value: String)] { file.metadata }

  func plainBytes(_ index: Int) -> Bytes? { file.bytes(of: file.tensors[index]) }

  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    let tensor = file.tensors[index]
    let part = Self.range(of: rows, tensors[index])
    Widening.widen(file.bytes(of: tensor).slice(part), tensor.dtype, into: &target)
  }

  func release(_ index: Int, rows: Range<Int>) {
    let part = Self.range(of: rows, tensors[index])
    let begin = file.tensors[index].range.lowerBound
    mapped.discard(begin + part.lowerBound..<begin + part.upperBound)
  }

  /// Returns the range of rows within the bytes of a plainly stored tensor.
  private static func range(of rows: Range<Int>, _ tensor: StoredTensor) -> Range<Int> {
    let stride = (tensor.shape.count >= 2 ? tensor.shape.dropFirst() : tensor.shape[...]).reduce(1, *) * tensor.dtype.byteCount
    return rows.lowerBound * stride..<rows.upperBound * stride
  }
}
