internal import DibitFailure
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

  /// Checks that the parameter is there with a float dtype and the right shape, without reading it.
  func check(_ parameter: ParameterDeclaration) throws(ModelStoreError) {
    let (name, info) = (parameter.name, try info(parameter.name.tensor))
    guard info.dtype.isFloat else { throw .tensor(name.tensor, path: path, expected: "a float dtype", found: info.dtype.rawValue) }
    try checkShape(name, parameter.isMatrix ? [parameter.rows, parameter.columns] : [parameter.columns], info)
  }

  /// The parameter's numbers, in the file where they are stored as the decoder reads them, otherwise as F32 in memory.
  func weight(_ parameter: ParameterDeclaration) throws(ModelStoreError) -> Weight {
    let (name, rows, columns) = (parameter.name, parameter.rows, parameter.columns)
    let info = try info(name.tensor)
    if !parameter.isMatrix { return try vector(name.tensor, info, columns) }
    if info.dtype == .u8, let grid = scheme?.format(of: parameter.name, parameter.role).grid { return try packed(parameter, grid, info) }
    guard info.dtype.isFloat else { throw .tensor(name.tensor, path: path, expected: "a float dtype", found: info.dtype.rawValue) }
    try checkShape(name, [rows, columns], info)
    guard let format = WeightFormat(info.dtype),
      let bytes = try bytes(name, rows, of: name.tensor, rowBytes: columns * info.dtype.byteCount)
    else {
      return try materialized(name, rows, columns)
    }
    return Weight(rows: rows, columns: columns, format: format, elements: bytes.aligned(to: info.dtype.byteCount))
  }

  /// The rows of a tensor as F32.
  private func materialized(_ name: ParameterName, _ rows: Int, _ columns: Int) throws(ModelStoreError) -> Weight {
    var weight = Weight(zerosWithRows: rows, columns: columns)
    do throws(CheckpointError) {
      try weight.withMutableValues { values throws(CheckpointError) in
        try checkpoint.readRows(name.tensor, rows: name.rows ?? 0..<rows, into: &values)
      }
    } catch { throw .checkpoint(error) }
    return weight
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
  private func vector(_ tensor: String, _ info: TensorInfo, _ columns: Int) throws(ModelStoreError) -> Weight {
    guard info.shape == [columns] else {
      throw .model(.shapeMismatch(tensor: tensor, expected: [columns], found: info.shape), path: path)
    }
    let values = try values(of: tensor)
    if let bad = firstNonFinite(values.span) { throw .notFinite(tensor: tensor, path: path, index: bad) }
    return Weight(rows: 1, columns: columns, values: values)
  }

  private func packed(_ parameter: ParameterDeclaration, _ grid: Grid, _ info: TensorInfo) throws(ModelStoreError) -> Weight {
    let (name, rows, columns) = (parameter.name, parameter.rows, parameter.columns)
    // A fused tensor may have more rows than the parameter takes from it.
    let range = name.rows ?? 0..<rows
    let panels = max(info.shape.first ?? 0, Grid.panels(rows: range.upperBound))
    let stored = name.rows == nil ? rows : panels * Grid.panelRows
    let shape = grid.codeShape(rows: stored, columns: columns)
    guard info.shape == shape else { throw .model(.shapeMismatch(tensor: name.tensor, expected: shape, found: info.shape), path: path) }
    let scalesName = ModelFiles.scalesName(name.tensor)
    let scales = try self.info(scalesName)
    let scaleShape = grid.scaleShape(rows: stored, columns: columns)
    guard scales.dtype == .f16, scales.shape == scaleShape else {
      throw .tensor(scalesName, path: path, expected: "F16 \(scaleShape)", found: "\(scales.dtype.rawValue) \(scales.shape)")
    }
    let scaleBytes = grid.scaleByteCount(rows: stored, columns: columns)
    let whole: (codes: Bytes, scales: Bytes)?
    do throws(CheckpointError) {
      if let codes = try checkpoint.bytes(name.tensor), let scales = try checkpoint.bytes(scalesName) {
        whole = (codes.aligned(to: Grid.blockBytes), scales.slice(0..<scaleBytes).aligned(to: 2))
      } else {
        whole = nil
      }
    } catch { throw .checkpoint(error) }
    guard let whole else { throw .tensor(name.tensor, path: path, expected: "packed codes", found: info.storage) }
    return Weight(rows: stored, columns: columns, format: .grid(grid), elements: whole.codes, scales: whole.scales).packedRows(range)
  }

  /// A fused tensor may have more rows than the parameter takes from it.
  private func checkShape(_ name: ParameterName, _ expected: [Int], _ info: TensorInfo) throws(ModelStoreError) {
    guard let rows = name.rows, expected.count == 2 else {
      guard info.shape == expected else {
        throw .model(.shapeMismatch(tensor: name.tensor, expected: expected, found: info.shape), path: path)
      }
      return
    }
    guard info.shape.count == 2, info.shape[1] == expected[1], info.shape[0] >= rows.upperBound else {
      let all = max(rows.upperBound, info.shape.first ?? 0)
      throw .model(.shapeMismatch(tensor: name.tensor, expected: [all, expected[1]], found: info.shape), path: path)
    }
  }

  /// The stored bytes of a parameter's rows; nil where the elements do not lie in the file as they are.
  private func bytes(_ name: ParameterName, _ rows: Int, of tensor: String, rowBytes: Int) throws(ModelStoreError) -> Bytes? {
    let range = name.rows ?? 0..<rows
    do throws(CheckpointError) {
      return try checkpoint.bytes(tensor)?.slice(range.lowerBound * rowBytes..<range.upperBound * rowBytes)
    } catch { throw .checkpoint(error) }
  }

  private func info(_ name: String) throws(ModelStoreError) -> TensorInfo {
    try rethrow(as: ModelStoreError.checkpoint, checkpoint.tensor(name))
  }

  private func values(of name: String) throws(ModelStoreError) -> [Float] {
    try rethrow(as: ModelStoreError.checkpoint, checkpoint.readVector(name))
  }
}
