internal import DibitFailure
internal import DibitCheckpoint
package import DibitFiles
package import DibitJSON
internal import DibitModel
internal import DibitModelStore
package import DibitQuantization
internal import DibitTensor

/// A model directory of any shape with random weights, written without ever holding them: codes are random bits, and scales are such
/// that activations stay of the order of one.
package struct SyntheticModel: Sendable {
  /// The content of config.json, apart from how the tensors are stored.
  package let configuration: JSONObject
  /// The scheme in which the tensors are stored.
  package let scheme: QuantizationScheme
  /// The same seed gives the same files.
  package let seed: UInt64

  /// A model of this shape; the vocabulary must have 256 entries at least, one for each byte.
  package init(_ configuration: JSONObject, scheme: QuantizationScheme, seed: UInt64 = 0) {
    (self.configuration, self.scheme, self.seed) = (configuration, scheme, seed)
  }

  /// Writes the directory; `progress` is told how many of all bytes are written, and stops it by returning false.
  package func write(
    into directory: borrowing StagedDirectory, progress: (_ bytes: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(BenchmarkError) {
    let shape = try rethrow(
      as: BenchmarkError.store,
      rethrow(as: ModelStoreError.model, at: directory.partialPath, ModelConfiguration(json: .object(configuration))))
    guard let digest = try rethrow(as: BenchmarkError.checkpoint, writeWeights(shape, directory, progress)) else {
      throw .interrupted
    }
    let tokenizer = SyntheticTokenizer.json(tokens: shape.vocabularySize).serialized()
    let files = ModelFiles(
      configuration: .object(configuration), scheme: scheme, tokenizer: Array(tokenizer.utf8), weightsDigest: digest,
      source: ["synthetic": true, "seed": .integer(Int(truncatingIfNeeded: seed))])
    _ = try rethrow(as: BenchmarkError.store, files.write(into: directory))
  }

  /// Writes model.safetensors and returns its digest; nil when `progress` stopped it.
  private func writeWeights(
    _ shape: ModelConfiguration, _ directory: borrowing StagedDirectory, _ progress: (_ bytes: Int, _ total: Int) -> Bool
  ) throws(CheckpointError) -> String? {
    let tensors = tensors(shape)
    var writer = try SafetensorsWriter(path: directory.path(of: "model.safetensors"), tensors: tensors.flatMap(\.stored.declarations))
    var generator = SplitMix64(seed: seed, purpose: "synthetic weights")
    var done = 0
    for tensor in tensors {
      try tensor.write(to: &writer, using: &generator)
      done += tensor.stored.byteCount
      guard progress(done, writer.byteCount) else { return nil }
    }
    return try writer.finalize()
  }

  /// Lists the tensors to write, in the order of a converted model.
  private func tensors(_ shape: ModelConfiguration) -> [SyntheticTensor] {
    let (parameters, scales) = DecoderWeights.declarations(of: shape)
    var order: [String] = []
    var found: [String: SyntheticTensor] = [:]
    for parameter in parameters {
      // Some rows of a fused tensor: it ends where the last of them does.
      let (name, columns) = (parameter.name.tensor, parameter.columns)
      let rows = max(parameter.name.rows?.upperBound ?? parameter.rows, found[name]?.stored.rows ?? 0)
      if found[name] == nil { order.append(name) }
      let value: Float? =
        switch parameter.role {
        case .norm: 1
        case .normBias, .linearBias: 0
        case .embedding, .positions, .head, .linear, .recovery: nil
        }
      found[name] = SyntheticTensor(
        ModelTensor(
          name: name, shape: value == nil ? [rows, columns] : [columns], rows: rows, columns: columns,
          format: scheme.format(of: parameter.name, parameter.role, source: .bf16)),
        value: value)
    }
    return ModelTensor.inFileOrder(order.compactMap { found[$0] } + scales.map { SyntheticTensor(staticScale: $0) }, \.stored)
  }
}
