internal import DibitFailure
internal import DibitFiles
internal import DibitTensor

/// A mapped file of llama2.c: the original names of Llama, one tensor for each block.
struct Llama2CContainer: TensorContainer {
  private let mapped: MappedFile
  private let file: Llama2CFile
  let tensors: [StoredTensor]

  /// Checks the header and the exact size of the file.
  ///
  /// - Throws: ``CheckpointError/llama2c(file:_:)``.
  init(_ mapped: MappedFile) throws(CheckpointError) {
    self.mapped = mapped
    file = try rethrow(as: { (fault: Llama2CFault) in CheckpointError.llama2c(file: mapped.path, fault) }, Llama2CFile(mapped.bytes))
    let groupSize = file.parameters.groupSize
    tensors = file.tensors.map {
      StoredTensor(
        name: $0.name, dtype: .f32, shape: $0.shape, storage: $0.isQuantized ? "Q8_0, groups of \(groupSize)" : "F32",
        byteCount: $0.elements.count + $0.scales.count)
    }
  }

  /// Checks that the bytes are a llama2.c file: they have its signature, or a header without signature that tells the exact size.
  static func recognises(_ bytes: Bytes) -> Bool { Llama2CFile.recognises(bytes) }

  /// The numbers of the header.
  var parameters: Llama2CParameters { file.parameters }
  var path: String { mapped.path }
  var metadata: [(key: String, value: String)] { file.parameters.metadata }

  func plainBytes(_ index: Int) -> Bytes? { file.plainBytes(index) }

  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    file.readRows(index, rows: rows, into: &target)
  }

  func release(_ index: Int, rows: Range<Int>) {
    let tensor = file.tensors[index]
    for (part, stride) in file.parts(of: tensor) {
      mapped.discard(part.lowerBound + rows.lowerBound * stride..<part.lowerBound + rows.upperBound * stride)
    }
  }
}

/// A file of llama2.c.
struct Llama2CFile: Sendable {
  let bytes: Bytes
  let parameters: Llama2CParameters
  let tensors: [Llama2CTensor]

  init(_ bytes: Bytes) throws(Llama2CFault) {
    self.bytes = bytes
    parameters = try Llama2CParameters(bytes)
    tensors = try Llama2CLayout(parameters, fileBytes: bytes.count).tensors
  }

  static func recognises(_ bytes: Bytes) -> Bool {
    if bytes.count >= 4, bytes.zipNumber(0, UInt32.self) == Llama2CParameters.signature { return true }
    return (try? Llama2CFile(bytes)) != nil
  }

  /// The bytes of a tensor of floats.
  func plainBytes(_ index: Int) -> Bytes? { tensors[index].isQuantized ? nil : bytes.slice(tensors[index].elements) }

  /// The parts of a tensor, and the bytes that one row takes in each.
  func parts(of tensor: Llama2CTensor) -> [(range: Range<Int>, stride: Int)] {
    let rows = tensor.shape.count >= 2 ? tensor.shape[0] : 1
    return [tensor.elements, tensor.scales].map { (range: $0, stride: $0.count / rows) }
  }

  /// Fills `target` with rows of a tensor; in groups, an element is its 8-bit number times the scale of its group.
  func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) {
    let tensor = tensors[index]
    let parts = parts(of: tensor).map { range, stride in
      bytes.slice(range.lowerBound + rows.lowerBound * stride..<range.lowerBound + rows.upperBound * stride)
    }
    guard tensor.isQuantized else { return Widening.widen(parts[0], .f32, into: &target) }
    Widening.widen(parts[0], .i8, into: &target)
    var scales = [Float](repeating: 0, count: target.count / parameters.groupSize)
    var span = scales.mutableSpan
    Widening.widen(parts[1], .f32, into: &span)
    for group in scales.indices {
      for at in group * parameters.groupSize..<(group + 1) * parameters.groupSize { target[at] *= scales[group] }
    }
  }
}
