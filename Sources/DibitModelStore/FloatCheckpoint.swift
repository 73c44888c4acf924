public import DibitCheckpoint
public import DibitJSON
public import DibitModel
internal import DibitTensor
public import DibitTokenizer

/// Writes a trained float model as a checkpoint directory that `dibit convert` and other tools read.
public enum FloatCheckpoint {
  private static let format = "dibit-checkpoint"

  /// Writes config.json, BF16 weights, tokenizer.json and a manifest with `training` into `directory`.
  ///
  /// Norms and scales stay F32. Parameters that the family stores fused are written as one tensor.
  public static func write(
    _ configuration: ModelConfiguration, weights: DecoderWeights, tokenizer: Tokenizer, training: JSONValue,
    into directory: borrowing StagedDirectory
  ) throws(CheckpointError) {
    let tensors = grouped(weights.parameters)
    let scales = namedScales(configuration, weights)
    var declarations = scales.map { (name: $0.name, dtype: DType.f32, shape: [Int]()) }
    declarations += tensors.map { parts in
      let (rows, columns) = (parts.reduce(0) { $0 + $1.weight.rows }, parts[0].weight.columns)
      return (
        name: parts[0].name.tensor, dtype: parts[0].decays ? .bf16 : .f32, shape: parts[0].name.layout.shape(rows: rows, columns: columns)
      )
    }
    var writer = try SafetensorsWriter(
      path: directory.path(of: StoreFile.weights), tensors: declarations, metadata: [(key: "format", value: "pt")])
    for scale in scales {
      let value = [scale.value]
      try writer.append(floats: value.span, as: .f32)
    }
    for part in tensors.joined() {
      let values = part.name.layout.toCheckpoint(
        Array(copying: part.weight.values), rows: part.weight.rows, columns: part.weight.columns)
      try writer.append(floats: values.span, as: part.decays ? .bf16 : .f32)
    }
    let digest = try writer.finish()
    let manifest: JSONValue = ["format": .string(format), "version": 1, "weights_sha256": .string(digest), "training": training]
    try directory.write(configuration.json.serialized(pretty: true) + "\n", to: StoreFile.configuration)
    try directory.write(tokenizer.serialized() + "\n", to: StoreFile.tokenizer)
    try directory.write(manifest.serialized(pretty: true) + "\n", to: StoreFile.manifest)
  }

  /// Parameters of the same tensor together, norms first so that F32 stays aligned.
  private static func grouped(_ parameters: [Parameter]) -> [[Parameter]] {
    var groups: [[Parameter]] = []
    for parameter in parameters {
      if groups.last?.first?.name.tensor == parameter.name.tensor {
        groups[groups.count - 1].append(parameter)
      } else {
        groups.append([parameter])
      }
    }
    return groups.filter { !$0[0].decays } + groups.filter { $0[0].decays }
  }

  private static func namedScales(_ configuration: ModelConfiguration, _ weights: DecoderWeights) -> [(name: String, value: Float)] {
    let names = ParameterNames(configuration)
    return weights.blocks.enumerated().flatMap { layer, block in
      [(names.keyScale(layer), block.keyScale), (names.valueScale(layer), block.valueScale)].compactMap { name, value in
        value.map { (name: name, value: $0) }
      }
    }
  }
}
