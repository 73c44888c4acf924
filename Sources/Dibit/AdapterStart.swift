package import DibitDataset
package import DibitJSON
package import DibitKernels
package import DibitModel
package import DibitModelStore

/// An adapter that training goes on from.
package struct AdapterStart: Sendable {
  /// Its directory.
  package let path: String
  /// SHA-256 of its weights.
  package let digest: String
  /// Sketches of the texts that it learnt from; nil where it does not say.
  package let sketches: TextSketches?
  /// True where it has learnt answers without a label.
  package let allowsNone: Bool
  /// Its shape.
  package let configuration: AdapterConfiguration
  private let model: StoredModel
  private let compute: Compute

  /// Looks at an adapter of `model`.
  package init(_ path: String, for model: StoredModel, on compute: Compute) throws {
    (self.path, self.model, self.compute) = (path, model, compute)
    configuration = try StoredAdapter.open(path, for: model, on: compute).configuration
    let manifest = try StoredAdapter.readManifest(path)
    guard let digest = manifest["digest"]?.string else {
      throw ModelStoreError.malformed(
        path: path + "/" + StoreFile.manifest, key: "digest", expected: "a string", found: manifest["digest"]?.kind ?? "nothing")
    }
    self.digest = digest
    allowsNone = manifest["task"]?["none"]?.bool == true
    sketches = try TextSketches.ofAdapter(path, manifest)
  }

  /// The value under `from` in a manifest.
  package var json: JSONValue { ["adapter": .string(path), "digest": .string(digest)] }

  /// Its weights, for a run that asks for `wanted`; refuses another shape than its own, and says what differs.
  package func adapter(as wanted: AdapterConfiguration) throws -> DibitModel.Adapter {
    func fault(_ key: String, _ asked: some CustomStringConvertible, _ own: some CustomStringConvertible) -> DibitError {
      DibitError(
        .invalidData,
        "'\(path)': training goes on with the adapter's own '\(key)': \(own) expected, \(asked) found in options or recipe",
        .ownShape)
    }
    let own = configuration
    if wanted.rank != own.rank { throw fault("rank", wanted.rank, own.rank) }
    if wanted.alpha != own.alpha { throw fault("alpha", wanted.alpha, own.alpha) }
    if wanted.stabilizesRank != own.stabilizesRank { throw fault("use_rslora", wanted.stabilizesRank, own.stabilizesRank) }
    if wanted.decomposesWeights != own.decomposesWeights { throw fault("use_dora", wanted.decomposesWeights, own.decomposesWeights) }
    let adapter = try StoredAdapter.open(path, for: model, on: compute)
    // What counts is the modules: a recipe may name kinds of layers that the model lacks.
    guard DibitModel.Adapter(wanted, for: model.weights).modules == adapter.modules else {
      throw fault("keys", Self.names(wanted), Self.names(own))
    }
    return adapter
  }

  private static func names(_ configuration: AdapterConfiguration) -> String {
    configuration.targets.map(\.targetName).joined(separator: ", ")
  }
}
