internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitQuantization
package import DibitTensor

/// The formats that an export writes.
package enum ExportFormat: String, CaseIterable, Sendable {
  /// A checkpoint directory with float weights that other tools load.
  case safetensors
  /// One file for llama.cpp, in which the grids keep every value.
  case gguf
}

/// Progress of an export, in bytes of its output.
package struct ExportProgress: Equatable, Sendable {
  /// Bytes written so far.
  package let bytes: Int
  /// Bytes in all.
  package let totalBytes: Int
}

/// Writes a model, converted or not, in a form that other tools read.
package struct Exporter: Sendable {
  private let model: String
  private let output: String
  private let overwrite: Bool
  private let compute: Compute

  /// An export of the model at `model` to `output`.
  package init(model: String, output: String, overwrite: Bool, on compute: Compute) {
    self.model = model
    self.output = output
    self.overwrite = overwrite
    self.compute = compute
  }

  /// Writes a directory that transformers loads: config.json, model.safetensors, tokenizer.json and what it wants beside them; matrices are
  /// expanded to `dtype`.
  ///
  /// F32 holds every weight of a grid exactly; F16 and BF16 round levels that take more bits than the scale leaves. With `parts`, the
  /// weights of adapted layers are those that the sum of these adapters makes of them.
  ///
  /// - Parameter note: What the README.md says behind its own words.
  package func writeSafetensors(
    _ dtype: DType, merging parts: [AdapterPart] = [], note: String? = nil, progress: (ExportProgress) -> Bool = { _ in true }
  ) throws(ConversionError) {
    let source = try rethrow(as: ConversionError.source, StoredModel.open(model))
    let adapter = try sum(parts, for: source)
    let beside = TransformersFiles(source, chat: try rethrow(as: ConversionError.source, ChatSource.settings(of: model)))
    var json = source.json.object ?? JSONObject()
    for (key, value) in beside.tokenIDs where json[key] == nil { json[key] = value }
    json[QuantizationScheme.key] = nil
    // Both spellings of the key that loaders take the dtype from.
    for key in ["dtype", "torch_dtype"] where json[key] != nil || key == "dtype" { json[key] = .string(Self.name(of: dtype)) }
    let checkpoint = FloatCheckpoint(
      json: .object(json), configuration: source.configuration, weights: source.weights, dtype: dtype, keepsNormsWide: false,
      tokenizer: source.tokenizer)
    var origin = JSONObject([(key: "path", value: .string(model)), (key: "digest", value: source.digest.map { .string($0) } ?? .null)])
    if !parts.isEmpty { origin["adapters"] = .array(parts.map { ["path": .string($0.path), "weight": .number($0.weight)] }) }
    let directory = try staged(parts)
    let facts = JSONObject([(key: "source", value: .object(origin))])
    let isWhole: Bool
    do throws(CheckpointError) {
      isWhole = try checkpoint.write(facts, merging: adapter, into: directory, on: compute) {
        progress(ExportProgress(bytes: $0, totalBytes: $1))
      }
    } catch { throw .checkpoint(error) }
    guard isWhole else { throw .interrupted }
    try rethrow(as: ConversionError.source, source.check?.wait())
    do throws(FileError) {
      try directory.write(beside.tokenizer.serialized(pretty: true) + "\n", to: StoreFile.tokenizerConfiguration)
      try directory.write(beside.generation.serialized(pretty: true) + "\n", to: StoreFile.generationConfiguration)
      try directory.write(ModelCard.floats(source, dtype: dtype, adapters: parts) + (note ?? ""), to: StoreFile.card)
      try directory.commit()
    } catch { throw .file(error) }
  }

  /// Writes one GGUF file with the tokenizer inside: weights on a grid as Q2_K, Q4_K, Q4_0, Q5_0 or Q8_0, or as F32 where none of these can
  /// hold them, and all values exactly as they are.
  package func writeGGUF(progress: (ExportProgress) -> Bool = { _ in true }) throws(ConversionError) {
    let source = try rethrow(as: ConversionError.source, StoredModel.open(model))
    let file = try rethrow(
      as: ConversionError.file,
      StagedFile(destination: output, replacing: overwrite ? GGUFModel.mark : nil, inputs: JobInputs([model])))
    let exporter = GGUFExporter(source, on: compute)
    guard try exporter.write(to: file.path, progress: progress) else { throw .interrupted }
    try exporter.check(file.path)
    try rethrow(as: ConversionError.source, source.check?.wait())
    do throws(FileError) { try file.commit() } catch { throw .file(error) }
  }

  /// Returns the adapter that is merged into the weights; one that changes nothing where there is none.
  private func sum(_ parts: [AdapterPart], for source: StoredModel) throws(ConversionError) -> Adapter {
    if parts.isEmpty { return Adapter.none(for: source.weights) }
    return try rethrow(as: ConversionError.source, StoredAdapter.sum(parts, for: source, on: compute))
  }

  private func staged(_ parts: [AdapterPart]) throws(ConversionError) -> StagedDirectory {
    try rethrow(
      as: ConversionError.file,
      StagedDirectory(
        destination: output, replacing: overwrite ? FloatCheckpoint.mark : nil, inputs: JobInputs([model] + parts.map(\.path))))
  }

  private static func name(of dtype: DType) -> String {
    switch dtype {
    case .f16: "float16"
    case .bf16: "bfloat16"
    default: "float32"
    }
  }
}
