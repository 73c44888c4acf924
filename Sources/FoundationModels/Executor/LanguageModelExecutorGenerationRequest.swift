public import Foundation

/// A request for the next step of a conversation: an answer, or calls of tools.
public struct LanguageModelExecutorGenerationRequest: Sendable {
  /// An identifier that tells requests apart.
  public var id: UUID
  /// All that was said: instructions, if there are any, and the prompt or what tools gave at the end.
  public var transcript: Transcript
  /// The tools that may be called in this step.
  public var enabledToolDefinitions: [Transcript.ToolDefinition]
  /// The schema that the answer has to satisfy, as JSON; nil for text.
  public var schema: GenerationSchema?
  /// Options for making the answer.
  public var generationOptions: GenerationOptions
  /// Options for what the model is shown.
  public var contextOptions: ContextOptions
  /// Values of whoever asked.
  public var metadata: [String: GeneratedContent]

  /// A request.
  ///
  /// - Parameters:
  ///   - id: An identifier that tells requests apart.
  ///   - transcript: All that was said.
  ///   - enabledTools: The tools that may be called in this step.
  ///   - schema: The schema that the answer has to satisfy; nil for text.
  ///   - generationOptions: Options for making the answer.
  ///   - contextOptions: Options for what the model is shown.
  ///   - metadata: Values of whoever asked.
  public init(
    id: UUID, transcript: Transcript, enabledTools: [Transcript.ToolDefinition], schema: GenerationSchema? = nil,
    generationOptions: GenerationOptions, contextOptions: ContextOptions, metadata: [String: any ConvertibleToGeneratedContent]
  ) {
    (self.id, self.transcript, enabledToolDefinitions, self.schema) = (id, transcript, enabledTools, schema)
    (self.generationOptions, self.contextOptions, self.metadata) = (generationOptions, contextOptions, metadata.contents)
  }
}
