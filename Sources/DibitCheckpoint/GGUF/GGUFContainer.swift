internal import DibitFiles
package import DibitTensor

/// The tensors of a GGUF file. Plain elements are handed out as they are, blocks are turned into floats where they are read.
struct GGUFContainer: TensorContainer {
  private let mapped: MappedFile
  let file: GGUFFile
  let tensors: [StoredTensor]
  /// The metadata that is text, as it is; arrays and numbers are in ``file``.
  let metadata: [(key: String, value: String)]

  init(_ mapped: MappedFile) throws(CheckpointError) {
    self.mapped = mapped
    let file = try GGUFFile(mapped.bytes, file: mapped.path)
    self.file = file
    tensors = file.tensors.map {
      StoredTensor(name: $0.name, dtype: $0.type.dtype ?? .f32, shape: $0.shape, storage: $0.type.name, byteCount: $0.range.count)
    }
    metadata = file.metadata.compactMap { key, value in value.text.map { (key: key, value: $0) } }
  }

  var path: String { mapped.path }

  func plainBytes(_ index: Int) -> Bytes? {
    let tensor = file.tensors[index]
    return tensor.type.dtype == nil ? nil : file.bytes(of: tensor)
  }

  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    let tensor = file.tensors[index]
    let bytes = file.bytes(of: tensor).slice(byteRange(index, rows))
    if let dtype = tensor.type.dtype { return Widening.widen(bytes, dtype, into: &target) }
    guard tensor.type.isReadable else { throw .gguf(file: path, .unreadable(tensor: tensor.name, type: tensor.type)) }
    GGMLBlocks.widen(bytes, tensor.type, into: &target)
  }

  func release(_ index: Int, rows: Range<Int>) {
    let range = byteRange(index, rows)
    let begin = file.tensors[index].range.lowerBound
    mapped.discard(begin + range.lowerBound..<begin + range.upperBound)
  }

  /// Returns the range of rows within their tensor. Rows of more than two dimensions hold whole blocks too: the last dimension does.
  private func byteRange(_ index: Int, _ rows: Range<Int>) -> Range<Int> {
    let tensor = file.tensors[index]
    let count = tensor.shape.count >= 2 ? tensor.shape[0] : 1
    let stride = tensor.range.count / count
    return rows.lowerBound * stride..<rows.upperBound * stride
  }
}

extension GGMLType {
  /// The dtype of types whose elements are stored one by one; nil for blocks.
  package var dtype: DType? {
    switch self {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .f64: .f64
    case .i8: .i8
    case .i16: .i16
    case .i32: .i32
    case .i64: .i64
    default: nil
    }
  }
}

extension Checkpoint {
  /// The GGUF file that this was opened from, for its metadata; nil for other formats.
  package var gguf: GGUFFile? { (containers.first as? GGUFContainer)?.file }
}
