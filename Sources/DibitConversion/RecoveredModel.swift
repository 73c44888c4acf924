internal import DibitCheckpoint
internal import DibitFailure
package import DibitFiles
package import DibitJSON
package import DibitKernels
package import DibitModel
package import DibitModelStore
package import DibitQuantization
internal import DibitTensor

/// Writes a converted model again with an adapter inside: its recovery, which belongs to its weights from then on.
package struct RecoveredModel: Sendable {
  private let model: StoredModel
  private let scheme: QuantizationScheme
  private let recovery: QuantizationScheme.Recovery
  private let compute: Compute

  /// The model with room for a recovery.
  ///
  /// - Precondition: The model is converted, and has no recovery.
  package init(_ model: StoredModel, _ recovery: QuantizationScheme.Recovery, on compute: Compute) {
    var scheme = model.scheme ?? QuantizationScheme()
    scheme.recovery = recovery
    (self.model, self.scheme, self.recovery, self.compute) = (model, scheme, recovery, compute)
  }

  /// Writes the model into a directory, which appears when it is whole.
  ///
  /// The adapter's scale becomes a part of `B`, and both factors are rounded to the recovery's grid. Tensors of the model stay byte for byte.
  ///
  /// - Parameters:
  ///   - adapter: adapts every linear layer, with the rank of the recovery.
  ///   - facts: How it came about, for the manifest.
  package func write(_ adapter: borrowing Adapter, facts: JSONObject, into directory: consuming StagedDirectory) throws(ConversionError) {
    let source = try rethrow(as: ConversionError.source, ModelSource.open(model.path))
    let checkpoint = source.checkpoint
    let factors = try packed(adapter)
    let kept = try checkpoint.tensorNames.map { name throws(ConversionError) in
      (name: name, info: try rethrow(as: ConversionError.checkpoint, checkpoint.tensor(name)))
    }
    var writer = try PieceWriter(
      path: directory.path(of: StoreFile.weights),
      tensors: factors.flatMap(\.stored.declarations) + kept.map { (name: $0.name, dtype: $0.info.dtype, shape: $0.info.shape) },
      metadata: Converter.metadata)
    for factor in factors {
      var piece = PackedRows(capacity: factor.weight.rows, columns: factor.weight.columns, grid: factor.grid)
      piece.copy(factor.weight)
      try writer.append(piece, endsTensor: true)
    }
    for tensor in kept {
      guard let bytes = try rethrow(as: ConversionError.checkpoint, checkpoint.bytes(tensor.name)) else {
        throw .source(.tensor(tensor.name, path: model.path, expected: "stored bytes", found: tensor.info.storage))
      }
      try writer.append(bytes: bytes.bytes)
    }
    let origin = JSONObject(
      [(key: "path", value: .string(model.path)), (key: "digest", value: model.digest.map { .string($0) } ?? .null)] + facts.members)
    var files = ModelFiles(
      configuration: source.json, scheme: scheme,
      tokenizer: try rethrow(as: ConversionError.source, readBytes(StoreFile.tokenizer, in: model.path)),
      chat: try rethrow(as: ConversionError.source, ChatSource.settings(of: model.path)), weightsDigest: try writer.finalize(),
      source: .object(origin))
    files.languages = ModelLanguages.read(model.path)
    _ = try rethrow(as: ConversionError.source, files.write(into: directory))
    do throws(FileError) {
      try directory.write(ModelCard.recovered(model, recovery), to: StoreFile.card)
      try directory.commit()
    } catch { throw .file(error) }
  }

  /// A factor, rounded to its grid.
  private struct Factor {
    let stored: ModelTensor
    let grid: Grid
    let weight: Weight
  }

  /// The factors of all layers, in the order of the parameters.
  private func packed(_ adapter: borrowing Adapter) throws(ConversionError) -> [Factor] {
    var entries: [String: Int] = [:]
    for entry in 0..<adapter.count { entries[adapter.modules[entry]] = entry }
    var configuration = model.configuration
    configuration.recoveryRank = recovery.rank
    var factors: [Factor] = []
    for parameter in DecoderWeights.declarations(of: configuration).parameters {
      guard case .recovery(let kind, let factor) = parameter.role, let layer = parameter.layer,
        let linear = model.weights.linear(kind, layer), let grid = scheme.format(of: parameter.name, parameter.role).grid
      else { continue }
      guard linear.weight.isPacked, let entry = entries[linear.name.module] else {
        throw .source(
          .tensor(
            linear.name.tensor, path: model.path, expected: "packed codes, which are to get a recovery",
            found: linear.weight.isPacked ? "no layer of the adapter" : "floats"))
      }
      let (a, b) = adapter.factors(entry)
      let (name, rows, columns, format) = (parameter.name.tensor, parameter.rows, parameter.columns, WeightFormat.grid(grid))
      var packed = Weight(zerosWithRows: rows, columns: columns, format: format)
      GridQuantization.round(Weight(rows: rows, columns: columns, values: factor == .a ? a : b), into: &packed, on: compute)
      factors.append(
        Factor(
          stored: ModelTensor(name: name, shape: [rows, columns], rows: rows, columns: columns, format: format), grid: grid,
          weight: packed))
    }
    return factors
  }
}
