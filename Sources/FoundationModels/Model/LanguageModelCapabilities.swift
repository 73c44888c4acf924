/// The things that a model can do beyond text.
public struct LanguageModelCapabilities: Sendable {
  /// One of these things.
  public struct Capability: Sendable, Hashable {
    let name: String

    /// Reading images.
    public static var vision: Capability { Capability(name: "vision") }
    /// Answers that keep to a schema.
    public static var guidedGeneration: Capability { Capability(name: "guidedGeneration") }
    /// Thoughts before the answer.
    public static var reasoning: Capability { Capability(name: "reasoning") }
    /// Calls of tools.
    public static var toolCalling: Capability { Capability(name: "toolCalling") }
  }

  private let capabilities: Set<Capability>

  /// These capabilities and no others.
  ///
  /// - Parameter capabilities: The capabilities.
  public init(_ capabilities: [Capability]) { self.capabilities = Set(capabilities) }

  /// Checks whether the model can do something.
  ///
  /// - Parameter capability: The thing.
  /// - Returns: True if it can.
  public func contains(_ capability: Capability) -> Bool { capabilities.contains(capability) }
}

extension SystemLanguageModel {
  /// The things that models can do here: keep to schemas and call tools, whatever they were trained for.
  public final var capabilities: LanguageModelCapabilities { LanguageModelCapabilities([.guidedGeneration, .toolCalling]) }
}
