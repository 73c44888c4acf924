internal import DibitCheckpoint
internal import DibitModel
internal import DibitQuantization
internal import DibitTensor

/// Finds the parameters of a decoder in the tensors of a model directory and checks their dtypes and shapes.
struct WeightReader {
  private let path: String
  private let checkpoint: Checkpoint
  private let scheme: QuantizationScheme?

  init(_ checkpoint: Checkpoint, path: String, scheme: QuantizationScheme?) {
    self.checkpoint = checkpoint
    self.path = path
    self.scheme = scheme
  }

  func weight(_ name: ParameterName, _ rows: Int, _ columns: Int) throws(ModelStoreError) -> Weight {
    let info = try tensor(name.tensor)
    if rows == 1 { return try norm(name, columns) }
    if let scheme, scheme.isQuantized || scheme.embeddingBits <= 4, info.dtype == .u8 {
      return try packed(name, rows, columns, scheme, info)
    }
    let format: WeightFormat
    switch info.dtype {
    case .f32: format = .f32
    case .f16: format = .f16
    case .bf16: format = .bf16
    default: throw .tensor(name.tensor, path: path, expected: "dtype F32, F16 or BF16", found: info.dtype.rawValue)
    }
    try checkShape(name, [rows, columns], info)
    let bytes = try self.bytes(name, rows, of: name.tensor, rowBytes: columns * info.dtype.byteCount)
    return Weight(rows: rows, columns: columns, format: format, elements: bytes.aligned(to: info.dtype.byteCount))
  }

  /// The value of a scale tensor, or nil where the checkpoint has none.
  func scale(_ tensor: String) throws(ModelStoreError) -> Float? {
    guard checkpoint.info(tensor) != nil else { return nil }
    let values = try vector(tensor)
    guard values.count == 1, values[0].isFinite, values[0] > 0 else {
      throw .tensor(
        tensor, path: path, expected: "one positive number", found: values.count == 1 ? "\(values[0])" : "\(values.count) numbers")
    }
    return values[0]
  }

  private func norm(_ name: ParameterName, _ columns: Int) throws(ModelStoreError) -> Weight {
    let info = try tensor(name.tensor)
    guard info.shape == [columns] else {
      throw .model(.shapeMismatch(tensor: name.tensor, expected: [columns], found: info.shape), path: path)
    }
    let values = try vector(name.tensor)
    if let bad = firstNonFinite(values.span) { throw .notFinite(tensor: name.tensor, path: path, index: bad) }
    return Weight(rows: 1, columns: columns, values: values)
  }

  private func packed(_ name: ParameterName, _ rows: Int, _ columns: Int, _ scheme: QuantizationScheme, _ info: TensorInfo)
    throws(ModelStoreError) -> Weight
  {
    let bits = ParameterName.isEmbedding(name) ? scheme.embeddingBits : scheme.bits
    let rowBytes = Weight.codeBytesPerRow(columns: columns, bits: bits)
    let format = WeightFormat.grid(bits: bits, group: scheme.group ?? columns)
    try checkShape(name, [rows, rowBytes], info)
    let scalesName = ModelFiles.scalesName(name.tensor)
    let scales = try tensor(scalesName)
    let groups = Weight.groups(columns: columns, group: scheme.group ?? columns)
    guard scales.dtype == .f16, scales.shape == [info.shape[0], groups] else {
      throw .tensor(
        scalesName, path: path, expected: "F16 [\(info.shape[0]), \(groups)]", found: "\(scales.dtype.rawValue) \(scales.shape)")
    }
    return Weight(
      rows: rows, columns: columns, format: format, elements: try bytes(name, rows, of: name.tensor, rowBytes: rowBytes),
      scales: try bytes(name, rows, of: scalesName, rowBytes: groups * 2).aligned(to: 2))
  }

  /// A fused tensor may have more rows than the parameter takes from it.
  private func checkShape(_ name: ParameterName, _ expected: [Int], _ info: TensorInfo) throws(ModelStoreError) {
    let fits =
      name.rows.map { info.shape.count == 2 && info.shape[1] == expected[1] && info.shape[0] >= $0.upperBound } ?? (info.shape == expected)
    guard fits else {
      let rows = name.rows.map { max($0.upperBound, info.shape.first ?? 0) } ?? expected[0]
      throw .model(.shapeMismatch(tensor: name.tensor, expected: [rows, expected[1]], found: info.shape), path: path)
    }
  }

  private func bytes(_ name: ParameterName, _ rows: Int, of tensor: String, rowBytes: Int) throws(ModelStoreError) -> Bytes {
    let range = name.rows ?? 0..<rows
    let bytes: Bytes?
    do throws(CheckpointError) { bytes = try checkpoint.bytes(tensor) } catch { throw .checkpoint(error) }
    guard let bytes else { throw .tensor(tensor, path: path, expected: "elements as they are", found: "another order of them") }
    return bytes.slice(range.lowerBound * rowBytes..<range.upperBound * rowBytes)
  }

  private func tensor(_ name: String) throws(ModelStoreError) -> TensorInfo {
    do throws(CheckpointError) { return try checkpoint.tensor(name) } catch { throw .checkpoint(error) }
  }

  private func vector(_ name: String) throws(ModelStoreError) -> [Float] {
    do throws(CheckpointError) { return try checkpoint.readVector(name) } catch { throw .checkpoint(error) }
  }
}
