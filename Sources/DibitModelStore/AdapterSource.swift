internal import DibitFailure
internal import BasicContainers
package import DibitCheckpoint
internal import DibitFiles
package import DibitKernels
package import DibitModel
internal import DibitTensor

/// The matrices of an adapter of any origin, under PEFT's names: `base_model.model.<module>.lora_A.weight` and
/// `.lora_B.weight`.
package struct AdapterSource: Sendable {
  let path: String
  let configuration: AdapterConfiguration
  let checkpoint: Checkpoint

  init(_ checkpoint: Checkpoint, _ configuration: AdapterConfiguration, path: String) {
    self.checkpoint = checkpoint
    self.configuration = configuration
    self.path = path
  }

  /// The adapter among the tensors of a checkpoint whose names are `prefix`, a module and one of two endings; the rank is that of its
  /// matrices.
  package static func named(_ checkpoint: Checkpoint, prefix: String, a: String, b: String, alpha: Float, path: String)
    throws(ModelStoreError) -> AdapterSource
  {
    var views: [TensorView] = []
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.alpha) = (1, alpha)
    for name in checkpoint.tensorNames where name.hasPrefix(prefix) {
      let isA = name.hasSuffix(a)
      guard isA || name.hasSuffix(b) else { continue }
      let module = name.dropFirst(prefix.count).dropLast(isA ? a.count : b.count)
      let names = Self.names(String(module))
      views.append(TensorView(isA ? names.a : names.b, from: name))
      if isA, let info = checkpoint.info(name) { configuration.rank = max(info.rows, 1) }
    }
    return AdapterSource(try rethrow(as: ModelStoreError.checkpoint, checkpoint.viewed(views)), configuration, path: path)
  }

  /// The prefix that PEFT puts in front of a module's path.
  static let prefix = "base_model.model."

  /// The name of a module's magnitudes.
  static func magnitudes(_ module: String) -> String { prefix + module + ".lora_magnitude_vector" }

  /// The names of a module's two matrices.
  static func names(_ module: String) -> (a: String, b: String) {
    (prefix + module + ".lora_A.weight", prefix + module + ".lora_B.weight")
  }

  /// The adapter, for a model that has all of its modules; gains of magnitudes are computed on `compute`.
  package func adapter(for weights: DecoderWeights, on compute: Compute) throws(ModelStoreError) -> Adapter {
    var configuration = configuration
    adaptOnlyWhatIsStored(of: weights, &configuration)
    var adapter = Adapter(configuration, for: weights)
    var expected = Set<String>()
    do throws(CheckpointError) {
      for entry in 0..<adapter.count {
        let (a, b) = Self.names(adapter.modules[entry])
        try read(a, .rows, into: &adapter.a[entry])
        try read(b, adapter.layouts[entry], into: &adapter.b[entry])
        expected.formUnion([a, b])
        guard configuration.decomposesWeights else { continue }
        let magnitudes = Self.magnitudes(adapter.modules[entry])
        try readMagnitudes(magnitudes, adapter.layouts[entry], into: &adapter.magnitudes[entry])
        expected.insert(magnitudes)
      }
    } catch { throw .checkpoint(error) }
    if let stray = checkpoint.tensorNames.first(where: { !expected.contains($0) }) {
      throw .model(.adapterTargetUnknown(stray), path: path)
    }
    adapter.updateGains(of: weights, on: compute)
    return adapter
  }

  /// Sets the targets to the kinds of layers that have tensors, and the modules where some layers of a kind have none.
  private func adaptOnlyWhatIsStored(of weights: DecoderWeights, _ configuration: inout AdapterConfiguration) {
    let stored = Set(checkpoint.tensorNames)
    var (targets, modules): (Set<LinearKind>, Set<String>) = ([], [])
    var isPartial = false
    for kind in LinearKind.allCases {
      let all = (0..<weights.layers).compactMap { weights.linear(kind, $0)?.name.module }
      let present = all.filter { stored.contains(Self.names($0).a) || stored.contains(Self.names($0).b) }
      guard !present.isEmpty else { continue }
      targets.insert(kind)
      modules.formUnion(present)
      if present.count < all.count { isPartial = true }
    }
    configuration.targets = LinearKind.allCases.filter { targets.contains($0) }
    configuration.modules = isPartial ? modules : nil
  }

  private func readMagnitudes(_ name: String, _ layout: ParameterLayout, into matrix: inout Matrix) throws(CheckpointError) {
    _ = try checkpoint.tensor(name, shape: [matrix.columns])
    let values = try checkpoint.readVector(name)
    matrix = Matrix(rows: 1, columns: matrix.columns, values: layout.fromCheckpoint(values, rows: matrix.columns, columns: 1))
  }

  private func read(_ name: String, _ layout: ParameterLayout, into matrix: inout Matrix) throws(CheckpointError) {
    _ = try checkpoint.tensor(name, shape: [matrix.rows, matrix.columns])
    try checkpoint.readRows(name, rows: 0..<matrix.rows, into: &matrix)
    guard layout != .rows else { return }
    matrix = Matrix(
      rows: matrix.rows, columns: matrix.columns, values: layout.fromCheckpoint(matrix.values, rows: matrix.rows, columns: matrix.columns))
  }
}

extension AdapterSource {
  /// Opens an adapter of `model` that another tool made: a directory of PEFT's or mlx-lm's, or a GGUF file.
  package static func open(_ path: String, for model: StoredModel) throws(ModelStoreError) -> AdapterSource {
    if GGUFAdapter.recognises(path) { return try GGUFAdapter.open(path, for: model) }
    try StoreKind.checkImport(path)
    return try open(path)
  }

  /// Opens a directory of PEFT's or mlx-lm's.
  package static func open(_ path: String) throws(ModelStoreError) -> AdapterSource {
    if isRegularFile(path + "/" + MLXAdapter.weights) { return try MLXAdapter.open(path) }
    return try StoredAdapter.source(path)
  }
}
