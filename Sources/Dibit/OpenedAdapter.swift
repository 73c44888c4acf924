package import DibitDataset
package import DibitKernels
package import DibitModel
package import DibitModelStore

/// An adapter of a model, read: its matrices, and where it tags texts the task that they are put into.
package struct OpenedAdapter: Sendable {
  /// Its directory.
  package let path: String
  /// The matrices.
  package let loaded: LoadedAdapter
  /// The labels and the task of one that tags texts; nil for any other.
  package let tagger: (description: AdapterDescription, task: TokenizedTask)?

  /// Opens an adapter of `model`.
  package init(_ path: String, of model: StoredModel, on compute: Compute) throws {
    self.path = path
    tagger = try AdapterDescription.ofTagger(path).map { ($0, try ModelPrompts(model).tokenized($0, of: path)) }
    loaded = LoadedAdapter(try StoredAdapter.open(path, for: model, on: compute))
  }
}
