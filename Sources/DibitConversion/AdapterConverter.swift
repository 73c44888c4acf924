internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization

/// What an adapter is exported as.
public enum AdapterFormat: String, CaseIterable, Sendable {
  /// PEFT's two files.
  case peft
  /// mlx-lm's two files.
  case mlx
  /// One file for llama.cpp.
  case gguf
}

/// Adapters between Dibit and other tools; the matrices pass unchanged, scales in each tool's convention.
public enum AdapterConverter {
  /// Makes an adapter of the converted model at `base` from one that another tool made for the same architecture.
  ///
  /// - Returns: the number of adapted layers.
  public static func importAdapter(_ path: String, base: String, output: String, overwrite: Bool) throws(ConversionError) -> Int {
    let model = try liftStore { () throws(ModelStoreError) in try StoredModel.openConverted(base) }
    let adapter: Adapter
    do throws(ModelStoreError) { adapter = try AdapterSource.open(path, for: model).adapter(for: model.weights) } catch {
      throw .source(error)
    }
    let manifest = JSONObject([(key: "source", value: ["path": .string(path)])])
    do throws(CheckpointError) {
      let directory = try StagedDirectory(destination: output, overwrite: overwrite, inputs: JobInputs([base, path]))
      try StoredAdapter.write(adapter, base: model, manifest: manifest, into: directory)
      try directory.commit()
    } catch { throw .checkpoint(error) }
    return adapter.count
  }

  /// Writes the adapter at `path`, which belongs to the model at `base`, for another tool.
  ///
  /// - Returns: the number of adapted layers.
  public static func exportAdapter(_ path: String, base: String, format: AdapterFormat, output: String, overwrite: Bool)
    throws(ConversionError) -> Int
  {
    let model = try liftStore { () throws(ModelStoreError) in try StoredModel.openConverted(base) }
    let adapter: Adapter
    do throws(ModelStoreError) { adapter = try StoredAdapter.open(path, for: model) } catch { throw .source(error) }
    if adapter.configuration.decomposesWeights, format != .peft {
      throw .notExportable("'\(path)' has magnitudes (use_dora), which only PEFT's files can hold: export it with --format peft")
    }
    if format == .gguf {
      let file: StagedFile
      do throws(CheckpointError) {
        file = try StagedFile(destination: output, replacing: overwrite ? GGUFModel.mark : nil, inputs: JobInputs([base, path]))
      } catch { throw .checkpoint(error) }
      do throws(ModelStoreError) { try GGUFAdapter.write(adapter, for: model, to: file.path) } catch { throw .source(error) }
      do throws(CheckpointError) { try file.commit() } catch { throw .checkpoint(error) }
      return adapter.count
    }
    // mlx-lm has names of its own for these modules.
    if format == .mlx, adapter.modules.contains(where: { !$0.hasPrefix("model.layers.") && !$0.hasPrefix("model.kv_reuse_layers.") }) {
      throw .notExportable("mlx-lm does not know the modules of \(model.configuration.family.rawValue) under their Hugging Face names")
    }
    do throws(CheckpointError) {
      let directory = try StagedDirectory(destination: output, overwrite: overwrite, inputs: JobInputs([base, path]))
      if format == .mlx {
        try MLXAdapter.write(adapter, for: model.weights, into: directory)
      } else {
        try StoredAdapter.writePEFT(adapter, base: model, into: directory)
      }
      try directory.commit()
    } catch { throw .checkpoint(error) }
    return adapter.count
  }
}
