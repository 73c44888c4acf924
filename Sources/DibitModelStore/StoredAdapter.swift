internal import DibitFailure
internal import BasicContainers
package import DibitCheckpoint
package import DibitFiles
package import DibitJSON
package import DibitKernels
package import DibitModel
internal import DibitTensor

/// An adapter directory that PEFT loads as it is, plus a `manifest.json` that names the base model it belongs to.
package enum StoredAdapter {
  static let format = "dibit-adapter"
  /// The mark that an existing directory must bear for an adapter, in the form of PEFT or of mlx-lm, to replace it.
  package static let mark = DirectoryMark(
    format: format,
    files: [
      StoreFile.packageMetadata, StoreFile.adapterConfiguration, StoreFile.adapterWeights, MLXAdapter.weights, StoreFile.trainingTexts,
      StoreFile.words, StoreFile.manifest, StoreFile.card, StoreFile.eventLog, StoreFile.recipe, StoreFile.lossChart,
    ])
  /// The largest rank that is read.
  static let largestRank = 4096

  /// Reads an adapter for `model`; another base's is ``ModelStoreError/otherBase(adapter:expected:found:)``.
  package static func open(_ path: String, for model: StoredModel, on compute: Compute) throws(ModelStoreError) -> Adapter {
    let manifest = try readManifest(path)
    let manifestPath = path + "/" + StoreFile.manifest
    guard let base = manifest["base_digest"]?.string else {
      throw .malformed(path: manifestPath, key: "base_digest", expected: "a string", found: manifest["base_digest"]?.kind ?? "nothing")
    }
    guard base == model.digest else { throw .otherBase(adapter: path, expected: base, found: model.digest ?? "a checkpoint") }
    let adapter = try AdapterSource.open(path).adapter(for: model.weights, on: compute)
    // Small beside the model: checked at once, behind what says more of a fault than that there is one.
    if let digest = manifest["digest"]?.string { try checkDigest(of: (AdapterForm(path) ?? .peft).weights(of: path), digest) }
    return adapter
  }

  /// The manifest of an adapter directory.
  package static func readManifest(_ path: String) throws(ModelStoreError) -> JSONValue {
    try StoreKind.checkAdapter(path)
    return try readJSON(StoreFile.manifest, in: path)
  }

  /// Reads the PEFT files of a directory, whatever base they were trained on.
  package static func readPEFT(_ path: String, weights: DecoderWeights, on compute: Compute) throws(ModelStoreError) -> Adapter {
    try source(path).adapter(for: weights, on: compute)
  }

  /// The PEFT files of a directory.
  static func source(_ path: String) throws(ModelStoreError) -> AdapterSource {
    let configuration = try configuration(path)
    return AdapterSource(
      try rethrow(as: ModelStoreError.checkpoint, Checkpoint.open(AdapterForm.peft.weights(of: path))), configuration, path: path)
  }

  /// Writes PEFT's two files and the facts into `directory`; the manifest gets the format and the base's digest in front.
  package static func write(
    _ adapter: borrowing Adapter, base: StoredModel, facts: AdapterFacts, into directory: borrowing StagedDirectory
  ) throws(CheckpointError) {
    let digest = try writePEFT(adapter, base: base, named: facts.baseName ?? base.name, into: directory)
    try writeFacts(facts, digest: digest, base: base, into: directory)
  }

  /// The same with nothing beside the manifest.
  package static func write(
    _ adapter: borrowing Adapter, base: StoredModel, manifest: JSONObject, into directory: borrowing StagedDirectory
  ) throws(CheckpointError) {
    try write(adapter, base: base, facts: AdapterFacts(manifest: manifest), into: directory)
  }

  /// Writes the manifest of weights with this digest, and what goes with it.
  static func writeFacts(_ facts: AdapterFacts, digest: String, base: StoredModel, into directory: borrowing StagedDirectory)
    throws(CheckpointError)
  {
    var members: [(key: String, value: JSONValue)] = [
      (key: "format", value: .string(format)), (key: "version", value: 1), (key: "digest", value: .string(digest)),
      (key: "base_digest", value: .string(base.digest ?? "")),
    ]
    members += facts.manifest.members
    try rethrow(
      as: CheckpointError.file,
      directory.write(JSONValue.object(JSONObject(members)).serialized(pretty: true) + "\n", to: StoreFile.manifest))
    try rethrow(as: CheckpointError.file, facts.writeFiles(into: directory))
  }

  /// Writes PEFT's two files into `directory`; returns the digest of the weights.
  private static func writePEFT(
    _ adapter: borrowing Adapter, base: StoredModel, named baseName: String, into directory: borrowing StagedDirectory
  ) throws(CheckpointError) -> String {
    var tensors: [(name: String, dtype: DType, shape: [Int])] = []
    for entry in 0..<adapter.count {
      let (a, b) = AdapterSource.names(adapter.modules[entry])
      tensors.append((name: a, dtype: .f32, shape: [adapter.a[entry].rows, adapter.a[entry].columns]))
      tensors.append((name: b, dtype: .f32, shape: [adapter.b[entry].rows, adapter.b[entry].columns]))
      guard adapter.configuration.decomposesWeights else { continue }
      tensors.append(
        (name: AdapterSource.magnitudes(adapter.modules[entry]), dtype: .f32, shape: [adapter.magnitudes[entry].columns]))
    }
    var writer = try SafetensorsWriter(
      path: directory.path(of: StoreFile.adapterWeights), tensors: tensors, metadata: [(key: "format", value: "pt")])
    for entry in 0..<adapter.count {
      try writer.append(floats: adapter.a[entry].span, as: .f32)
      try writer.append(floats: adapter.checkpointB(entry).span, as: .f32)
      if adapter.configuration.decomposesWeights { try writer.append(floats: adapter.checkpointMagnitudes(entry).span, as: .f32) }
    }
    let digest = try writer.finalize()
    let configuration = peftConfiguration(adapter, base: base, named: baseName)
    try rethrow(
      as: CheckpointError.file, directory.write(configuration.serialized(pretty: true) + "\n", to: StoreFile.adapterConfiguration))
    return digest
  }
}

extension StoredAdapter {
  /// Rank and scale; which layers are adapted, the tensors say, because PEFT writes names, paths or patterns.
  private static func configuration(_ path: String) throws(ModelStoreError) -> AdapterConfiguration {
    let json = try readJSON(StoreFile.adapterConfiguration, in: path)
    func fault(_ key: String, _ expected: String) -> ModelStoreError {
      .malformed(
        path: path + "/" + StoreFile.adapterConfiguration, key: key, expected: expected, found: json[key]?.serialized() ?? "nothing")
    }
    // fan_in_fan_out only says how the base layer lies, which matters for merging; PEFT sets it for GPT-2.
    if json["lora_bias"]?.bool == true { throw .unsupportedAdapter(path: path, key: "lora_bias", value: "true") }
    for key in ["rank_pattern", "alpha_pattern"] {
      if let pattern = json[key]?.object, pattern.count > 0 { throw .unsupportedAdapter(path: path, key: key, value: "not empty") }
    }
    guard json["peft_type"]?.string == "LORA" else { throw fault("peft_type", "'LORA'") }
    guard let rank = json["r"]?.int, (1...largestRank).contains(rank) else { throw fault("r", "a rank from 1 to \(largestRank)") }
    guard let alpha = json["lora_alpha"]?.double, alpha > 0, Float(alpha).isFinite else { throw fault("lora_alpha", "a positive number") }
    var configuration = AdapterConfiguration()
    configuration.rank = rank
    configuration.alpha = Float(alpha)
    configuration.stabilizesRank = json["use_rslora"]?.bool == true
    configuration.decomposesWeights = json["use_dora"]?.bool == true
    return configuration
  }

  private static func peftConfiguration(_ adapter: borrowing Adapter, base: StoredModel, named baseName: String) -> JSONValue {
    let c = adapter.configuration
    let isTransposed = base.weights.linear(.output, 0)?.name.layout == .transposed
    return [
      "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": .string(baseName), "r": .integer(c.rank),
      "lora_alpha": .number(Double(c.alpha)),
      "lora_dropout": .number(Double("\(c.dropout)") ?? 0), "target_modules": .array(targets(adapter, base.weights).map { .string($0) }),
      "bias": "none",
      "fan_in_fan_out": .bool(isTransposed), "inference_mode": true,
      "init_lora_weights": true, "modules_to_save": .null, "use_rslora": .bool(c.stabilizesRank),
      "use_dora": .bool(c.decomposesWeights), "rank_pattern": [:], "alpha_pattern": [:],
    ]
  }

  /// Returns the targets with which PEFT adapts exactly these modules: the end of each path, as short as no other linear layer shares it.
  ///
  /// PEFT adapts every module whose path ends in a target. In afm7 the parts of a fused projection have names of their own.
  private static func targets(_ adapter: borrowing Adapter, _ weights: DecoderWeights) -> [String] {
    let adapted = Set(adapter.modules)
    var others: [String] = []
    for layer in 0..<weights.layers {
      others += LinearKind.allCases.compactMap { weights.linear($0, layer)?.name.module }.filter { !adapted.contains($0) }
    }
    var (targets, seen): ([String], Set<String>) = ([], [])
    for module in adapter.modules {
      let parts = module.split(separator: ".")
      var target = module
      for length in 1...parts.count {
        let end = parts.suffix(length).joined(separator: ".")
        guard others.contains(where: { $0 == end || $0.hasSuffix("." + end) }) else {
          target = end
          break
        }
      }
      if seen.insert(target).inserted { targets.append(target) }
    }
    return targets
  }
}
