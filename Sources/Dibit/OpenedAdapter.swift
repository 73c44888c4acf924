package import DibitDataset
package import DibitEvaluation
package import DibitJSON
package import DibitKernels
package import DibitModel
package import DibitModelStore

/// An adapter of a model, read: its matrices, and where it tags texts the task that they are put into.
package struct OpenedAdapter: Sendable {
  /// The labels and the task of an adapter that tags texts.
  package typealias Tagger = (description: AdapterDescription, task: TokenizedTask)

  /// Its directory, or its file; of a sum those of all parts.
  package let path: String
  /// The matrices.
  package let loaded: LoadedAdapter
  /// The members of its manifest; of an adapter of another tool what its files say beside the matrices.
  package let manifest: JSONValue
  /// The digest of the model that it belongs to.
  package let baseDigest: String?
  /// The labels and the task of one that tags texts; nil for any other.
  package let tagger: Tagger?
  /// The classifier of words that has a share in its answers; nil for none, and of a sum.
  package let words: WordHead?
  /// The directories whose sum it is, with their manifests.
  private let parts: [(part: AdapterPart, manifest: JSONValue)]

  private init(
    _ path: String, _ manifest: JSONValue, _ parts: [(part: AdapterPart, manifest: JSONValue)], of model: StoredModel,
    _ loaded: LoadedAdapter
  ) throws {
    (self.path, self.manifest, self.loaded, baseDigest) = (path, manifest, loaded, model.digest)
    self.parts = parts.isEmpty ? [(AdapterPart(path: path), manifest)] : parts
    let tagger = try AdapterDescription.ofTagger(manifest, of: path).map { ($0, try ModelPrompts(model).tokenized($0, of: path)) }
    words = try tagger.flatMap { try WordHead.ofAdapter(path, manifest, labels: $0.0.labels.count) }
    self.tagger = tagger
  }

  /// Opens an adapter of `model`.
  package init(_ path: String, of model: StoredModel, on compute: Compute) throws {
    let loaded = LoadedAdapter(try StoredAdapter.open(path, for: model, on: compute))
    try self.init(path, StoredAdapter.readManifest(path), [], of: model, loaded)
  }

  /// Opens an adapter in the form of PEFT, mlx-lm or llama.cpp. One that does not name its base fits any model of its shapes.
  package init(foreign path: String, of model: StoredModel, on compute: Compute) throws {
    var facts = try AdapterFacts.read(path)
    if let base = facts.baseDigest, base != model.digest {
      throw ModelStoreError.otherBase(adapter: path, expected: base, found: model.digest ?? "a checkpoint")
    }
    facts.manifest["source"] = ["path": .string(path)]
    let loaded = LoadedAdapter(try AdapterSource.open(path, for: model).adapter(for: model.weights, on: compute))
    try self.init(path, .object(facts.manifest), [], of: model, loaded)
  }

  /// Adds adapters of `model` up, each times its weight; labels and prompt are those of the first.
  package init(summing parts: [(adapter: OpenedAdapter, weight: Double)], of model: StoredModel) throws {
    guard let first = parts.first else { throw DibitError(.invalidArgument, "expected adapters to add up, found none") }
    if let fault = parts.first(where: { !AdapterPart.weights.contains($0.weight) }) {
      throw DibitError(
        .invalidArgument,
        "'\(fault.adapter.path)': expected a weight from \(AdapterPart.weights.lowerBound) to \(AdapterPart.weights.upperBound), found \(fault.weight)"
      )
    }
    guard parts.count > 1 || first.weight != 1 else {
      self = first.adapter
      return
    }
    let named = parts.map { (part: AdapterPart(path: $0.adapter.path, weight: $0.weight), loaded: $0.adapter.loaded) }
    try self.init(
      named.map { $0.part.weight == 1 ? $0.part.path : "\($0.part.path)=\($0.part.weight)" }.joined(separator: " + "),
      .object(AdapterFacts.sharedByParts(first.adapter.manifest)),
      parts.flatMap { (adapter, weight) in
        adapter.parts.map { (AdapterPart(path: $0.part.path, weight: $0.part.weight * weight), $0.manifest) }
      }, of: model,
      LoadedAdapter(try StoredAdapter.sum(named, for: model)))
  }

  /// The SHA-256 of its matrices; nil where no manifest has it.
  package var digest: String? { manifest["digest"]?.string }

  /// The digest of the matrices, and the words beside them where there are any: what answers depend on beside the model.
  package var identity: JSONObject {
    var members = JSONObject([(key: "sha256", value: digest.map { .string($0) } ?? .null)])
    members["words"] = words == nil ? nil : manifest[AdapterFacts.wordsMember]
    return members
  }

  /// Returns the labels and the task; refuses an adapter that has none, and says why.
  package func tagging() throws -> Tagger {
    if let tagger { return tagger }
    _ = try AdapterDescription(manifest: manifest, of: path)
    throw DibitError(.invalidArgument, "the adapter '\(path)' knows no labels", .generateInstead)
  }

  /// Reads the sketches of all texts that it learnt from; nil where a part does not say.
  package func sketches() throws -> TextSketches? { try TextSketches.ofAdapters(parts.map { ($0.part.path, $0.manifest) }) }

  /// The directories whose sum it is: itself, unless it was made in memory.
  package var sum: [AdapterPart] { parts.map(\.part) }
}
