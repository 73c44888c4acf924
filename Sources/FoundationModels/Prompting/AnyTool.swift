/// A tool of any type, which takes what the model wrote and gives a prompt.
public struct AnyTool: Tool {
  /// The name by which the model calls the tool.
  public let name: String
  /// A sentence for the model that says what the tool does and when to call it.
  public let description: String
  /// The schema of the arguments.
  public let parameters: GenerationSchema
  /// True if the instructions of a session tell the model of this tool.
  public let includesSchemaInInstructions: Bool
  private let body: @Sendable (GeneratedContent) async throws -> Prompt

  /// Hides the type of a tool.
  ///
  /// - Parameter tool: The tool.
  public init(_ tool: some Tool) {
    (name, description, parameters) = (tool.name, tool.description, tool.parameters)
    includesSchemaInInstructions = tool.includesSchemaInInstructions
    body = { try await Self.call(tool, $0) }
  }

  private static func call<Hidden: Tool>(_ tool: Hidden, _ arguments: GeneratedContent) async throws -> Prompt {
    Prompt(try await tool.call(arguments: Hidden.Arguments(arguments)))
  }

  /// Does what the tool is for.
  ///
  /// - Parameters:
  ///   - arguments: What the model wrote.
  /// - Returns: The result, for the model to read.
  /// - Throws: What the tool throws, and what its arguments throw where they cannot be made of what the model wrote.
  @concurrent public func call(arguments: GeneratedContent) async throws -> Prompt { try await body(arguments) }
}
