package import DibitCheckpoint
package import DibitJSON

/// A checkpoint that keeps its own names and metadata, put into Hugging Face terms.
package struct ModelTranslation: Equatable, Sendable {
  /// The content that a config.json would have.
  package let configuration: JSONValue
  /// Every parameter under its Hugging Face name and in its Hugging Face layout.
  package let views: [TensorView]

  /// A translation.
  package init(configuration: JSONValue, views: [TensorView]) {
    self.configuration = configuration
    self.views = views
  }
}
