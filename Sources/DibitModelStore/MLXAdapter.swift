internal import DibitFailure
internal import BasicContainers
package import DibitCheckpoint
package import DibitFiles
internal import DibitJSON
package import DibitModel
internal import DibitTensor

/// Adapters as mlx-lm keeps them: `adapters.safetensors` with `<module>.lora_a [in, R]` and `<module>.lora_b [R, out]`, and an
/// `adapter_config.json` whose `scale` multiplies `B A` as it is (PEFT's alpha is `scale · rank`).
///
/// afm7 computes q, k and v in one module, `qkv_proj`, whose matrices mlx-lm numbers: `qkv_proj.lora_a.0` is q's.
package enum MLXAdapter {
  static let weights = "adapters.safetensors"
  private static let fused = ".qkv_proj"
  private static let parts = [".q_proj", ".k_proj", ".v_proj"]

  /// Reads a directory.
  static func open(_ path: String) throws(ModelStoreError) -> AdapterSource {
    let json = try readJSON(StoreFile.adapterConfiguration, in: path)
    func fault(_ key: String, _ expected: String, _ found: JSONValue?) -> ModelStoreError {
      .malformed(path: path + "/" + StoreFile.adapterConfiguration, key: key, expected: expected, found: found?.serialized() ?? "nothing")
    }
    guard (json["fine_tune_type"]?.string ?? "lora") == "lora" else { throw fault("fine_tune_type", "'lora'", json["fine_tune_type"]) }
    let parameters = json["lora_parameters"]
    guard let rank = parameters?["rank"]?.int, (1...4096).contains(rank) else {
      throw fault("lora_parameters.rank", "a rank from 1 to 4096", parameters?["rank"])
    }
    guard let scale = parameters?["scale"]?.double, scale > 0, scale < 1e6 else {
      throw fault("lora_parameters.scale", "a positive number", parameters?["scale"])
    }
    do throws(CheckpointError) {
      let stored = try Checkpoint.open(path + "/" + weights)
      var views: [TensorView] = []
      for name in stored.tensorNames {
        guard let (module, isA) = module(name), let shape = stored.info(name)?.shape, shape.count == 2 else {
          throw CheckpointError.unknownTensor(name, path: path)
        }
        let names = AdapterSource.names(module)
        views.append(TensorView(isA ? names.a : names.b, from: name, split: shape, order: [1, 0], shape: shape.reversed()))
      }
      var configuration = AdapterConfiguration()
      (configuration.rank, configuration.alpha) = (rank, Float(scale * Double(rank)))
      return AdapterSource(try stored.viewed(views), configuration, path: path)
    } catch { throw .checkpoint(error) }
  }

  /// The module that a tensor of mlx-lm belongs to; nil for a name that is no adapter's.
  private static func module(_ name: String) -> (module: String, isA: Bool)? {
    for (ending, isA) in [(".lora_a", true), (".lora_b", false)] {
      if name.hasSuffix(ending) { return (String(name.dropLast(ending.count)), isA) }
      for (index, part) in parts.enumerated() where name.hasSuffix(fused + ending + ".\(index)") {
        return (name.dropLast((fused + ending).count + 2) + part, isA)
      }
    }
    return nil
  }

  /// Writes an adapter of `model` with its facts into `directory`.
  ///
  /// Layers that keep q, k and v of one matrix apart only in the adapter (afm7) are written as mlx-lm's fused module.
  package static func write(
    _ adapter: borrowing Adapter, facts: AdapterFacts, for model: StoredModel, into directory: borrowing StagedDirectory
  ) throws(CheckpointError) {
    let weights = model.weights
    let fusedModules = Set(
      (0..<weights.layers).flatMap { layer in
        [LinearKind.query, .key, .value].compactMap { weights.linear($0, layer)?.name }.filter { $0.rows != nil }.map(\.module)
      })
    let names = (0..<adapter.count).map { Self.names(adapter.modules[$0], isFused: fusedModules.contains(adapter.modules[$0])) }
    var declarations: [(name: String, dtype: DType, shape: [Int])] = []
    for entry in 0..<adapter.count {
      declarations.append((name: names[entry].a, dtype: .f32, shape: [adapter.a[entry].columns, adapter.a[entry].rows]))
      declarations.append((name: names[entry].b, dtype: .f32, shape: [adapter.b[entry].columns, adapter.b[entry].rows]))
    }
    var writer = try SafetensorsWriter(path: directory.path(of: Self.weights), tensors: declarations, metadata: [])
    for entry in 0..<adapter.count {
      try writer.append(floats: transposed(adapter.a[entry]).span, as: .f32)
      try writer.append(floats: transposed(adapter.b[entry]).span, as: .f32)
    }
    let digest = try writer.finalize()
    let keys = Set(names.compactMap { key($0.a) }).sorted()
    let c = adapter.configuration
    let configuration: JSONValue = [
      "fine_tune_type": "lora", "num_layers": .integer(weights.layers),
      "lora_parameters": [
        "rank": .integer(c.rank), "scale": .number(Double(c.alpha) / (c.stabilizesRank ? Double(c.rank).squareRoot() : Double(c.rank))),
        "dropout": 0.0,
        "keys": .array(keys.map { .string($0) }),
      ],
    ]
    try rethrow(
      as: CheckpointError.file, directory.write(configuration.serialized(pretty: true) + "\n", to: StoreFile.adapterConfiguration))
    try StoredAdapter.writeFacts(facts, digest: digest, base: model, into: directory)
  }

  private static func names(_ module: String, isFused: Bool) -> (a: String, b: String) {
    guard isFused, let index = parts.firstIndex(where: { module.hasSuffix($0) }) else { return (module + ".lora_a", module + ".lora_b") }
    let base = module.dropLast(parts[index].count) + fused
    return (base + ".lora_a.\(index)", base + ".lora_b.\(index)")
  }

  /// The module within its layer, `self_attn.q_proj`, of a tensor `model.layers.3.self_attn.q_proj.lora_a`.
  private static func key(_ name: String) -> String? {
    let parts = name.split(separator: ".")
    guard let number = parts.firstIndex(where: { Int($0) != nil }), let end = parts.firstIndex(of: "lora_a"), number < end else {
      return nil
    }
    return parts[(number + 1)..<end].joined(separator: ".")
  }

  private static func transposed(_ matrix: borrowing Matrix) -> Matrix {
    var result = Matrix(rows: matrix.columns, columns: matrix.rows)
    for row in 0..<matrix.rows { for column in 0..<matrix.columns { result[column, row] = matrix[row, column] } }
    return result
  }
}
