/// The part of a request that says what a model is shown, and how long it thinks before it answers.
public struct ContextOptions: Sendable, Equatable {
  /// The time that a model takes for thoughts.
  public enum ReasoningLevel: Sendable, Equatable {
    /// Little.
    case light
    /// Some.
    case moderate
    /// Much.
    case deep
    /// As a model names it.
    case custom(String)
  }

  /// True where the model is shown the schema of its answer; nil is the same.
  public var includeSchemaInPrompt: Bool?
  /// The time for thoughts; nil for none. No model that runs here has any: a request that asks for them fails with
  /// ``LanguageModelError/unsupportedCapability(_:)``.
  public var reasoningLevel: ReasoningLevel?

  /// Options for what a model is shown.
  ///
  /// - Parameters:
  ///   - includeSchemaInPrompt: Whether the model is shown the schema of its answer; nil for yes.
  ///   - reasoningLevel: The time for thoughts; nil for none.
  public init(includeSchemaInPrompt: Bool? = nil, reasoningLevel: ReasoningLevel? = nil) {
    self.includeSchemaInPrompt = includeSchemaInPrompt
    self.reasoningLevel = reasoningLevel
  }
}
