public import DibitCheckpoint
public import DibitModel
internal import DibitQuantization
internal import DibitTensor

/// Finds the parameters of a decoder in the tensors of a model directory and checks their dtypes and shapes.
struct WeightReader {
  private let path: String
  private let checkpoint: Checkpoint
  private let scheme: QuantizationScheme?

  init(path: String, scheme: QuantizationScheme?) throws(ModelStoreError) {
    self.path = path
    self.scheme = scheme
    do throws(CheckpointError) { checkpoint = try Checkpoint.open(path) } catch { throw .checkpoint(error) }
  }

  /// The parameter's numbers, in the file where they are stored as the decoder reads them, otherwise as F32 in memory.
  func weight(_ name: ParameterName, _ rows: Int, _ columns: Int) throws(ModelStoreError) -> Weight {
    let tensor = checkpoint.tensorName(of: name)
    let info = try info(tensor)
    // Dibit's own models hold rows, whatever the family's checkpoints do.
    let layout = scheme == nil ? name.layout : .rows
    if rows == 1 { return try vector(tensor, info, columns, layout) }
    if let scheme, scheme.isQuantized || scheme.embeddingBits <= 4, info.dtype == .u8 {
      return try packed(name, tensor, rows, columns, scheme, info)
    }
    guard info.dtype.isFloat else {
      throw .tensor(tensor, path: path, expected: "a float dtype", found: info.dtype.rawValue)
    }
    let shape = layout.shape(rows: rows, columns: columns)
    try checkShape(name, tensor, shape, info)
    let format: WeightFormat? =
      switch info.dtype {
      case .f32: .f32
      case .f16: .f16
      case .bf16: .bf16
      default: nil
      }
    guard let format, layout == .rows, let bytes = try self.bytes(name, rows, of: tensor, rowBytes: columns * info.dtype.byteCount) else {
      return try materialized(name, tensor, rows, columns, layout, shape)
    }
    return Weight(rows: rows, columns: columns, format: format, elements: bytes.aligned(to: info.dtype.byteCount))
  }

  /// The rows of a tensor as F32, in the decoder's order.
  private func materialized(
    _ name: ParameterName, _ tensor: String, _ rows: Int, _ columns: Int, _ layout: ParameterLayout, _ shape: [Int]
  ) throws(ModelStoreError) -> Weight {
    let range = name.rows ?? 0..<shape[0]
    var matrix = Matrix(rows: range.count, columns: shape[1])
    do throws(CheckpointError) { try checkpoint.readRows(tensor, rows: range, into: &matrix) } catch { throw .checkpoint(error) }
    return Weight(rows: rows, columns: columns, values: layout.fromCheckpoint(matrix.values, rows: rows, columns: columns))
  }

  /// The value of a scale tensor, or nil where the checkpoint has none.
  func scale(_ tensor: String) throws(ModelStoreError) -> Float? {
    guard checkpoint.info(tensor) != nil else { return nil }
    let values = try values(of: tensor)
    guard values.count == 1, values[0].isFinite, values[0] > 0 else {
      throw .tensor(
        tensor, path: path, expected: "one positive number", found: values.count == 1 ? "\(values[0])" : "\(values.count) numbers")
    }
    return values[0]
  }

  /// A norm or a bias.
  private func vector(_ tensor: String, _ info: TensorInfo, _ columns: Int, _ layout: ParameterLayout) throws(ModelStoreError) -> Weight {
    guard info.shape == [columns] else {
      throw .model(.shapeMismatch(tensor: tensor, expected: [columns], found: info.shape), path: path)
    }
    let values = try values(of: tensor)
    if let bad = firstNonFinite(values.span) { throw .notFinite(tensor: tensor, path: path, index: bad) }
    return Weight(rows: 1, columns: columns, values: layout.fromCheckpoint(values, rows: 1, columns: columns))
  }

  private func packed(
    _ name: ParameterName, _ tensor: String, _ rows: Int, _ columns: Int, _ scheme: QuantizationScheme, _ info: TensorInfo
  ) throws(ModelStoreError) -> Weight {
    let bits = ParameterName.isEmbedding(name) ? scheme.embeddingBits : scheme.bits
    let rowBytes = Weight.codeBytesPerRow(columns: columns, bits: bits)
    let format = WeightFormat.grid(bits: bits, group: scheme.group ?? columns)
    try checkShape(name, tensor, [rows, rowBytes], info)
    let scalesName = ModelFiles.scalesName(tensor)
    let scales = try self.info(scalesName)
    let groups = Weight.groups(columns: columns, group: scheme.group ?? columns)
    guard scales.dtype == .f16, scales.shape == [info.shape[0], groups] else {
      throw .tensor(
        scalesName, path: path, expected: "F16 [\(info.shape[0]), \(groups)]", found: "\(scales.dtype.rawValue) \(scales.shape)")
    }
    guard let codes = try bytes(name, rows, of: tensor, rowBytes: rowBytes),
      let factors = try bytes(name, rows, of: scalesName, rowBytes: groups * 2)
    else { throw .tensor(tensor, path: path, expected: "codes and scales as they are", found: "another order of them") }
    return Weight(rows: rows, columns: columns, format: format, elements: codes, scales: factors.aligned(to: 2))
  }

  /// A fused tensor may have more rows than the parameter takes from it.
  private func checkShape(_ name: ParameterName, _ tensor: String, _ expected: [Int], _ info: TensorInfo) throws(ModelStoreError) {
    let fits =
      name.rows.map { info.shape.count == 2 && info.shape[1] == expected[1] && info.shape[0] >= $0.upperBound } ?? (info.shape == expected)
    guard fits else {
      let rows = name.rows.map { max($0.upperBound, info.shape.first ?? 0) } ?? expected[0]
      throw .model(.shapeMismatch(tensor: tensor, expected: [rows, expected[1]], found: info.shape), path: path)
    }
  }

  /// The stored bytes of a parameter's rows, or nil where a tensor is stored in blocks or in another order.
  private func bytes(_ name: ParameterName, _ rows: Int, of tensor: String, rowBytes: Int) throws(ModelStoreError) -> Bytes? {
    let range = name.rows ?? 0..<rows
    do throws(CheckpointError) {
      return try checkpoint.bytes(tensor)?.slice(range.lowerBound * rowBytes..<range.upperBound * rowBytes)
    } catch { throw .checkpoint(error) }
  }

  private func info(_ name: String) throws(ModelStoreError) -> TensorInfo {
    do throws(CheckpointError) { return try checkpoint.tensor(name) } catch { throw .checkpoint(error) }
  }

  private func values(of name: String) throws(ModelStoreError) -> [Float] {
    do throws(CheckpointError) { return try checkpoint.readVector(name) } catch { throw .checkpoint(error) }
  }
}

extension Checkpoint {
  /// The name under which a checkpoint has a parameter: its own, or another that checkpoints of the family use.
  public func tensorName(of name: ParameterName) -> String {
    if info(name.tensor) != nil { return name.tensor }
    return name.alternatives.first { info($0) != nil } ?? name.tensor
  }
}
