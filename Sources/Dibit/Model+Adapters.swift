internal import DibitConversion
internal import DibitModelStore

extension Model {
  /// Opens an adapter of this model: the output of a training or of ``importAdapter(_:to:task:overwrites:)``, or what PEFT, mlx-lm or llama.cpp
  /// have written for its architecture.
  ///
  /// Files of other tools seldom name the weights that an adapter was trained on: that its shapes fit is all that can be checked.
  ///
  /// ```swift
  /// let adapter = try await model.adapter(at: "notes-adapter")
  /// print(adapter.labels)
  /// ```
  ///
  /// - Parameters:
  ///   - path: The adapter's directory; of llama.cpp the file.
  /// - Returns: The adapter, which shares the model's weights.
  /// - Throws: ``DibitError`` where there is no adapter, or it belongs to another model.
  public func adapter(at path: String) async throws(DibitError) -> Adapter {
    try await worker.run { [stored, runtime] _ in
      let compute = runtime.compute(for: .writing)
      do { return Adapter(model: self, opened: try OpenedAdapter(path, of: stored, on: compute)) } catch ModelStoreError.isForeignAdapter {
        return Adapter(model: self, opened: try OpenedAdapter(foreign: path, of: stored, on: compute))
      }
    }
  }

  /// Adds adapters of this model up, each times its weight, without a loss: the ranks of all stand beside each other.
  ///
  /// ```swift
  /// let both = try await model.adapter(summing: [(topics, 0.7), (style, 0.3)])
  /// ```
  ///
  /// - Parameters:
  ///   - parts: The adapters with their weights. The sum has the labels and the prompt of the first, and no classifier of words beside it.
  /// - Returns: The sum, in memory.
  /// - Throws: ``DibitError`` for adapters of other models, for ranks that together are more than 4096, and for adapters with magnitudes
  ///   (DoRA), which have no sum.
  public func adapter(summing parts: [(adapter: Adapter, weight: Double)]) async throws(DibitError) -> Adapter {
    for part in parts { try check(part.adapter) }
    return try await worker.run { [stored] _ in
      Adapter(model: self, opened: try OpenedAdapter(summing: parts.map { ($0.adapter.opened, $0.weight) }, of: stored))
    }
  }

  /// Makes an adapter directory of an adapter that PEFT, mlx-lm or llama.cpp wrote for this architecture: it names this model as its base.
  ///
  /// ```swift
  /// let adapter = try await model.importAdapter("their-adapter", to: "adapter", task: AdapterTask(labels: ["good", "bad"]))
  /// ```
  ///
  /// - Parameters:
  ///   - path: The adapter's directory; of llama.cpp the file.
  ///   - output: The directory, which appears when it is whole.
  ///   - task: The labels that it learnt and how they are asked for; nil where its files say so, or it does not tag.
  ///   - overwrites: Whether an adapter that lies there is replaced.
  /// - Returns: The adapter.
  /// - Throws: ``DibitError`` where its shapes are not those of the model, for a model that was not converted, and for an output that is in
  ///   the way.
  public func importAdapter(
    _ path: String, to output: String, task: AdapterTask? = nil, overwrites: Bool = false
  ) async throws(DibitError) -> Adapter {
    try await worker.run { [stored, runtime] _ in
      try task?.check()
      guard stored.digest != nil else { throw ModelStoreError.notConverted(path: stored.path) }
      let compute = runtime.compute(for: .writing)
      _ = try AdapterExchange.importAdapter(
        path, base: stored, task: task, output: output, overwrites: overwrites, on: compute, note: { _ in })
      return Adapter(model: self, opened: try OpenedAdapter(output, of: stored, on: compute))
    }
  }

  /// Writes the model as floats for transformers, mlx-lm and others, or as a GGUF file for llama.cpp. The job tells the share that is done.
  ///
  /// ```swift
  /// _ = try await model.export(to: "model-float", options: .init(format: .safetensors)).value
  /// ```
  ///
  /// - Parameters:
  ///   - output: The directory, or of GGUF the file, which appears when it is whole.
  ///   - options: The form, and what is merged into the weights.
  /// - Returns: The job. It fails with ``DibitError`` for an output that is in the way, and for a model that the form cannot hold.
  public func export(to output: String, options: Export.Options = Export.Options()) -> Job<Double, Void> {
    Job(on: Worker("export"), buffered: 64) { [stored, runtime] report in
      try check(options.adapter)
      let parts = options.adapter?.opened.sum ?? []
      guard parts.isEmpty || options.format == .safetensors else {
        throw DibitError(.invalidArgument, option: "adapter", "is merged into floats alone; expected the format 'safetensors'")
      }
      let exporter = Exporter(model: stored.path, output: output, overwrite: options.overwrites, on: runtime.compute(for: .writing))
      func tell(_ progress: ExportProgress) -> Bool { report(Double(progress.bytes) / Double(max(1, progress.totalBytes))) }
      switch options.format {
      case .gguf: try exporter.writeGGUF(progress: tell)
      case .safetensors:
        try exporter.writeSafetensors(
          options.floats.type, merging: parts, note: AdapterExchange.mergedNote(parts, base: { stored }, note: { _ in }), progress: tell)
      }
    }
  }
}

extension Adapter {
  /// Writes the adapter for another tool, with its labels, its prompt and what is known of its training.
  ///
  /// ```swift
  /// try await adapter.export(to: "adapter-mlx", as: .mlx)
  /// ```
  ///
  /// - Parameters:
  ///   - output: The directory, or of GGUF the file, which appears when it is whole.
  ///   - format: The form.
  ///   - baseName: What it names as its base, such as the name on a hub; nil for the name of the model's directory.
  ///   - overwrites: Whether an adapter that lies there is replaced.
  /// - Throws: ``DibitError`` for an output that is in the way, and for magnitudes (DoRA) in a form other than PEFT's.
  public func export(
    to output: String, as format: Export.AdapterFormat, baseName: String? = nil, overwrites: Bool = false
  ) async throws(DibitError) {
    try await model.worker.run { [model, opened] _ in
      _ = try AdapterExchange.export(
        opened.sum, base: model.stored, format: format.engineFormat, baseName: baseName, output: output, overwrites: overwrites,
        on: model.runtime.compute(for: .writing), note: { _ in })
    }
  }
}
