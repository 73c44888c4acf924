internal import DibitDataset
internal import DibitModel
internal import DibitModelStore

/// A low-rank adapter of a model, opened: the model with it answers as the adapter's training taught it.
///
/// ```swift
/// let adapter = try await model.adapter(at: "notes-adapter")
/// let tagged = try await adapter.tag(["Buy milk and two lemons."]).value
/// print(tagged[0].label)
/// ```
public struct Adapter: Sendable {
  /// The adapter's directory.
  public let path: String
  /// The model that it belongs to.
  public let model: Model
  let loaded: LoadedAdapter
  let description: AdapterDescription?
  let task: TokenizedTask?

  /// Opens an adapter of `model`.
  init(_ path: String, of model: Model, _ stored: StoredModel) throws {
    (self.path, self.model) = (path, model)
    loaded = LoadedAdapter(try StoredAdapter.open(path, for: stored, on: model.runtime.compute(for: .writing)))
    description = try AdapterDescription.ofTagger(path)
    task = try description.map { try ModelPrompts(stored).tokenized($0, of: path) }
  }

  /// The labels that it chooses among; none for an adapter that was trained on conversations, or does not say.
  public var labels: [String] { description?.labels ?? [] }

  /// The instruction that the adapter is given for a text; nil where it has no ``labels``.
  public var instruction: String? { description?.task.instruction }

  /// The most tokens of a text with its prompt and answer that the adapter learnt to read; nil where it has no ``labels``.
  public var maximumTokens: Int? { description?.task.maximumTokens }

  /// The rank of its matrices.
  public var rank: Int { loaded.rank }
}
