public import DibitCheckpoint
public import DibitJSON

/// A checkpoint that keeps its own names and metadata, put into Hugging Face terms.
public struct ModelTranslation: Equatable, Sendable {
  /// What a config.json would say.
  public let configuration: JSONValue
  /// Every parameter under its Hugging Face name and in its Hugging Face layout.
  public let views: [TensorView]

  /// A translation.
  public init(configuration: JSONValue, views: [TensorView]) {
    self.configuration = configuration
    self.views = views
  }
}
