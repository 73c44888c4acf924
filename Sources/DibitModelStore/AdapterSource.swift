internal import BasicContainers
public import DibitCheckpoint
public import DibitModel
internal import DibitTensor

/// The matrices of an adapter of any origin, under PEFT's names: `base_model.model.<module>.lora_A.weight` and
/// `.lora_B.weight`.
public struct AdapterSource: Sendable {
  let path: String
  let configuration: AdapterConfiguration
  let checkpoint: Checkpoint

  init(_ checkpoint: Checkpoint, rank: Int, alpha: Float, path: String) {
    self.checkpoint = checkpoint
    self.path = path
    var configuration = AdapterConfiguration()
    configuration.rank = rank
    configuration.alpha = alpha
    self.configuration = configuration
  }

  /// The adapter among the tensors of a checkpoint whose names are `prefix`, a module and one of two endings; the rank is that of its
  /// matrices.
  public static func named(_ checkpoint: Checkpoint, prefix: String, a: String, b: String, alpha: Float, path: String)
    throws(ModelStoreError) -> AdapterSource
  {
    var views: [TensorView] = []
    var rank = 1
    for name in checkpoint.tensorNames where name.hasPrefix(prefix) {
      let isA = name.hasSuffix(a)
      guard isA || name.hasSuffix(b) else { continue }
      let module = name.dropFirst(prefix.count).dropLast(isA ? a.count : b.count)
      let names = Self.names(String(module))
      views.append(TensorView(isA ? names.a : names.b, from: name))
      if isA, let info = checkpoint.info(name) { rank = max(info.rows, 1) }
    }
    do throws(CheckpointError) {
      return AdapterSource(try checkpoint.viewed(views), rank: rank, alpha: alpha, path: path)
    } catch { throw .checkpoint(error) }
  }

  /// What PEFT puts in front of a module's path.
  static let prefix = "base_model.model."

  /// The names of a module's two matrices.
  static func names(_ module: String) -> (a: String, b: String) {
    (prefix + module + ".lora_A.weight", prefix + module + ".lora_B.weight")
  }

  /// The adapter, for a model that has all of its modules.
  public func adapter(for weights: DecoderWeights) throws(ModelStoreError) -> Adapter {
    var configuration = configuration
    configuration.targets = LinearKind.allCases.filter { kind in
      checkpoint.tensorNames.contains { name in kind.moduleNames.contains { name.hasSuffix(".\($0).lora_A.weight") } }
    }
    var adapter = Adapter(configuration, for: weights)
    var expected = Set<String>()
    do throws(CheckpointError) {
      for entry in 0..<adapter.count {
        let (a, b) = Self.names(adapter.modules[entry])
        try read(a, into: &adapter.a[entry])
        try read(b, into: &adapter.b[entry])
        expected.formUnion([a, b])
      }
    } catch { throw .checkpoint(error) }
    if let stray = checkpoint.tensorNames.first(where: { !expected.contains($0) }) {
      throw .model(.adapterTargetUnknown(stray), path: path)
    }
    return adapter
  }

  private func read(_ name: String, into matrix: inout Matrix) throws(CheckpointError) {
    _ = try checkpoint.tensor(name, shape: [matrix.rows, matrix.columns])
    try checkpoint.readRows(name, rows: 0..<matrix.rows, into: &matrix)
  }
}
