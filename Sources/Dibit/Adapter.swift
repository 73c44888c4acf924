internal import DibitDataset
internal import DibitJSON
internal import DibitModel

/// A low-rank adapter of a model, opened: the model with it answers as the adapter's training taught it.
///
/// ```swift
/// let adapter = try await model.adapter(at: "notes-adapter")
/// let tagged = try await adapter.tag(["Buy milk and two lemons."]).value
/// print(tagged[0].label)
/// ```
public struct Adapter: Sendable {
  /// The model that it belongs to.
  public let model: Model
  let opened: OpenedAdapter

  /// The adapter's directory; of a sum those of its parts, with their weights.
  public var path: String { opened.path }

  /// The labels that it chooses among; none for an adapter that was trained on conversations, or does not say.
  public var labels: [String] { opened.tagger?.description.labels ?? [] }

  /// The instruction that the adapter is given for a text; nil where it has no ``labels``.
  public var instruction: String? { opened.tagger?.description.task.instruction }

  /// The most tokens of a text with its prompt and answer that the adapter learnt to read; nil where it has no ``labels``.
  public var maximumTokens: Int? { opened.tagger?.description.task.maximumTokens }

  /// The members of its manifest, as JSON: labels, data, options and results of the training as far as they are known.
  public var manifest: String { opened.manifest.serialized(pretty: true) }

  /// The rank of its matrices.
  public var rank: Int { opened.loaded.rank }
}
