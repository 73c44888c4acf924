package import DibitCheckpoint
internal import DibitFailure
package import DibitFiles
package import DibitJSON
package import DibitKernels
package import DibitModel
package import DibitTensor
package import DibitTokenizer

/// Writes a model with float weights as a checkpoint directory that `dibit convert` and other tools read.
package struct FloatCheckpoint: Sendable {
  static let format = "dibit-checkpoint"
  /// The mark that an existing directory must bear for a float checkpoint to replace it.
  package static let mark = DirectoryMark(
    format: format,
    files: [
      StoreFile.configuration, StoreFile.weights, StoreFile.tokenizer, StoreFile.tokenizerConfiguration, StoreFile.generationConfiguration,
      StoreFile.manifest, StoreFile.card, StoreFile.eventLog, StoreFile.lossChart,
    ])
  /// Floats that are expanded and written in one piece.
  private static let pieceElements = 4 << 20

  /// The config.json.
  package let json: JSONValue
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// Its parameters, in any format.
  package let weights: DecoderWeights
  /// The type in which matrices are written: F32, F16 or BF16. Norms and scales are written as F32 unless ``keepsNormsWide`` is false.
  package let dtype: DType
  /// True where norms and scales stay F32 beside 16-bit matrices.
  package let keepsNormsWide: Bool
  /// The tokenizer.
  package let tokenizer: Tokenizer?

  /// A checkpoint to be written.
  package init(
    json: JSONValue, configuration: ModelConfiguration, weights: DecoderWeights, dtype: DType, keepsNormsWide: Bool = true,
    tokenizer: Tokenizer?
  ) {
    self.json = json
    self.configuration = configuration
    self.weights = weights
    self.dtype = dtype
    self.keepsNormsWide = keepsNormsWide
    self.tokenizer = tokenizer
  }

  /// Writes config.json, weights, tokenizer.json and a manifest with `facts` into `directory`.
  ///
  /// Parameters that the family stores fused are written as one tensor. Layers that `adapter` adapts are written as it makes them, and a recovery is added to those that have one. `progress` is told the bytes written and in all after every piece,
  /// and stops the work by returning false: the result is then false too, and the directory is not to be used.
  package func write(
    _ facts: JSONObject, merging adapter: borrowing Adapter, into directory: borrowing StagedDirectory, on compute: Compute,
    progress: (_ bytes: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(CheckpointError) -> Bool {
    var entries: [String: Int] = [:]
    for entry in 0..<adapter.count { entries[adapter.modules[entry]] = entry }
    let tensors = grouped(weights.published)
    let scales = namedScales()
    let narrow = keepsNormsWide ? DType.f32 : dtype
    var declarations = scales.map { (name: $0.name, dtype: narrow, shape: [Int]()) }
    declarations += tensors.map { parts in
      let (rows, columns) = (parts.reduce(0) { $0 + $1.weight.rows }, parts[0].weight.columns)
      return (
        name: parts[0].name.tensor, dtype: parts[0].isMatrix ? dtype : narrow,
        shape: parts[0].name.layout.shape(rows: rows, columns: columns)
      )
    }
    var writer = try SafetensorsWriter(
      path: directory.path(of: StoreFile.weights), tensors: declarations, metadata: [(key: "format", value: "pt")])
    for scale in scales {
      let value = [scale.value]
      try writer.append(floats: value.span, as: narrow)
    }
    var written = 0
    for part in tensors.joined() {
      let type = part.isMatrix ? dtype : narrow
      // Another order needs the whole parameter.
      let pieceRows = part.name.layout == .rows ? max(1, Self.pieceElements / max(part.weight.columns, 1)) : part.weight.rows
      let step = min(part.weight.rows, pieceRows)
      for first in stride(from: 0, to: part.weight.rows, by: step) {
        let rows = (first..<min(first + step, part.weight.rows)).map { Int32($0) }
        var piece = Matrix(rows: rows.count, columns: part.weight.columns)
        Embedding.forward(rows.span, weight: part.weight, into: &piece, on: compute)
        if part.isMatrix { weights.addRecovery(of: part.index, rows: rows, to: &piece, on: compute) }
        if part.isMatrix, let entry = entries[part.name.module] {
          adapter.merge(entry, first..<first + rows.count, into: &piece, on: compute)
        }
        if part.name.layout == .rows {
          try writer.append(floats: piece.span, as: type)
        } else {
          let values = part.name.layout.toCheckpoint(piece.values, rows: piece.rows, columns: piece.columns)
          try writer.append(floats: values.span, as: type)
        }
        written += piece.count * type.byteCount
        guard progress(written, writer.byteCount) else { return false }
      }
    }
    // The header was written too.
    guard progress(writer.byteCount, writer.byteCount) else { return false }
    let digest = try writer.finalize()
    var manifest = JSONObject([
      (key: "format", value: .string(Self.format)), (key: "version", value: 1), (key: "weights_sha256", value: .string(digest)),
    ])
    for (key, value) in facts.members { manifest[key] = value }
    try rethrow(as: CheckpointError.file, directory.write(json.serialized(pretty: true) + "\n", to: StoreFile.configuration))
    if let tokenizer { try rethrow(as: CheckpointError.file, directory.write(tokenizer.serialized() + "\n", to: StoreFile.tokenizer)) }
    try rethrow(
      as: CheckpointError.file, directory.write(JSONValue.object(manifest).serialized(pretty: true) + "\n", to: StoreFile.manifest))
    return true
  }

  /// The same with the weights as they are.
  package func write(
    _ facts: JSONObject, into directory: borrowing StagedDirectory, on compute: Compute,
    progress: (_ bytes: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(CheckpointError) -> Bool {
    try write(facts, merging: Adapter.none(for: weights), into: directory, on: compute, progress: progress)
  }

  /// Parameters of the same tensor together, norms first so that F32 stays aligned.
  private func grouped(_ parameters: ArraySlice<Parameter>) -> [[Parameter]] {
    var groups: [[Parameter]] = []
    for parameter in parameters {
      if groups.last?.first?.name.tensor == parameter.name.tensor {
        groups[groups.count - 1].append(parameter)
      } else {
        groups.append([parameter])
      }
    }
    return groups.filter { !$0[0].isMatrix } + groups.filter { $0[0].isMatrix }
  }

  private func namedScales() -> [(name: String, value: Float)] {
    let names = ParameterNames(configuration)
    return weights.keyValueScales.enumerated().flatMap { layer, scales in
      [(names.keyScale(layer), scales.key), (names.valueScale(layer), scales.value)].compactMap { name, value in
        value.map { (name: name, value: $0) }
      }
    }
  }
}
