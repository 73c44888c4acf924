public import Foundation

extension Transcript {
  /// The rules of a conversation, with the tools that the model may call.
  public struct Instructions: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The parts, in order.
    public var segments: [Segment]
    /// The tools that the model is told of.
    public var toolDefinitions: [ToolDefinition]

    /// Rules of a conversation.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - segments: The parts, in order.
    ///   - toolDefinitions: The tools that the model is told of.
    public init(id: String = UUID().uuidString, segments: [Segment], toolDefinitions: [ToolDefinition]) {
      self.id = id
      self.segments = segments
      self.toolDefinitions = toolDefinitions
    }
  }

  /// A tool as the model sees it.
  public struct ToolDefinition: Sendable, Equatable {
    /// The name by which the model calls the tool.
    public var name: String
    /// The sentence that says what the tool does.
    public var description: String
    /// The schema of the arguments.
    public var parameters: GenerationSchema

    /// A tool as the model sees it.
    ///
    /// - Parameters:
    ///   - name: The name by which the model calls the tool.
    ///   - description: The sentence that says what the tool does.
    ///   - parameters: The schema of the arguments.
    public init(name: String, description: String, parameters: GenerationSchema) {
      self.name = name
      self.description = description
      self.parameters = parameters
    }

    /// A known tool as the model sees it.
    ///
    /// - Parameters:
    ///   - tool: The tool.
    public init(tool: some Tool) {
      self.init(name: tool.name, description: tool.description, parameters: tool.parameters)
    }

    /// Compares names, descriptions and the JSON of the schemas.
    ///
    /// - Parameters:
    ///   - left: A definition.
    ///   - right: Another one.
    /// - Returns: True if the model would see no difference.
    public static func == (left: ToolDefinition, right: ToolDefinition) -> Bool {
      left.name == right.name && left.description == right.description && left.parameters.isSame(as: right.parameters)
    }
  }
}
