internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitQuantization

/// The formats in which an adapter is exported.
package enum AdapterFormat: String, CaseIterable, Sendable {
  /// PEFT's two files, with a manifest: an adapter as ``StoredAdapter`` reads it too.
  case peft
  /// The same as a package for apps: `metadata.json` beside it names the base as Apple's adapters name theirs.
  case fmadapter
  /// mlx-lm's two files.
  case mlx
  /// One file for llama.cpp.
  case gguf
}

/// Adapters between Dibit and other tools; the matrices pass unchanged, scales in each tool's convention.
package enum AdapterConverter {
  /// Makes an adapter of `model` from one that another tool made for the same architecture.
  ///
  /// - Parameter facts: What its manifest is to say; the source is added.
  /// - Returns: the number of adapted layers.
  @discardableResult
  package static func importAdapter(
    _ path: String, base model: StoredModel, facts: AdapterFacts = AdapterFacts(), output: String, overwrite: Bool,
    on compute: Compute
  ) throws(ConversionError) -> Int {
    let source = try rethrow(as: ConversionError.source, AdapterSource.open(path, for: model))
    let adapter = try rethrow(as: ConversionError.source, source.adapter(for: model.weights, on: compute))
    var facts = facts
    facts.manifest["source"] = ["path": .string(path), "base_digest": facts.baseDigest.map { .string($0) } ?? .null]
    try rethrow(as: ConversionError.source, model.check?.wait())
    let inputs = JobInputs([model.path, path])
    let directory = try rethrow(
      as: ConversionError.file,
      StagedDirectory(destination: output, replacing: overwrite ? StoredAdapter.mark : nil, inputs: inputs))
    do throws(CheckpointError) { try StoredAdapter.write(adapter, base: model, facts: facts, into: directory) } catch {
      throw .checkpoint(error)
    }
    do throws(FileError) { try directory.commit() } catch { throw .file(error) }
    return adapter.count
  }

  /// Writes the sum of adapters of `model`, or a single one as it is, for another tool, with what is known of it.
  ///
  /// - Returns: the number of adapted layers.
  @discardableResult
  package static func exportAdapter(
    _ parts: [AdapterPart], base model: StoredModel, format: AdapterFormat, facts: AdapterFacts = AdapterFacts(), output: String,
    overwrite: Bool, on compute: Compute
  ) throws(ConversionError) -> Int {
    let adapter = try rethrow(as: ConversionError.source, StoredAdapter.sum(parts, for: model, on: compute))
    if adapter.configuration.decomposesWeights, format != .peft, format != .fmadapter {
      throw .notExportable(
        "'\(parts[0].path)' has magnitudes (use_dora), which only PEFT's files can hold: export it with \(optionName("format")) peft")
    }
    let inputs = JobInputs([model.path] + parts.map(\.path))
    if format == .gguf {
      try rethrow(as: ConversionError.source, model.check?.wait())
      let file = try rethrow(
        as: ConversionError.file, StagedFile(destination: output, replacing: overwrite ? GGUFModel.mark : nil, inputs: inputs))
      do throws(ModelStoreError) { try GGUFAdapter.write(adapter, facts: facts, for: model, to: file.path) } catch { throw .source(error) }
      do throws(FileError) { try file.commit() } catch { throw .file(error) }
      return adapter.count
    }
    // mlx-lm has names of its own for these modules.
    if format == .mlx, adapter.modules.contains(where: { !$0.hasPrefix("model.layers.") && !$0.hasPrefix("model.kv_reuse_layers.") }) {
      throw .notExportable("mlx-lm does not know the modules of \(model.configuration.family.rawValue) under their Hugging Face names")
    }
    try rethrow(as: ConversionError.source, model.check?.wait())
    let directory = try rethrow(
      as: ConversionError.file,
      StagedDirectory(destination: output, replacing: overwrite ? StoredAdapter.mark : nil, inputs: inputs))
    do throws(CheckpointError) {
      if format == .mlx {
        try MLXAdapter.write(adapter, facts: facts, for: model, into: directory)
      } else {
        try StoredAdapter.write(adapter, base: model, facts: facts, into: directory)
      }
      if format == .fmadapter {
        let package = AdapterPackage(output: output, base: model, rank: adapter.configuration.rank, facts: facts)
        try rethrow(as: CheckpointError.file, package.write(into: directory))
      }
    } catch { throw .checkpoint(error) }
    do throws(FileError) { try directory.commit() } catch { throw .file(error) }
    return adapter.count
  }
}
