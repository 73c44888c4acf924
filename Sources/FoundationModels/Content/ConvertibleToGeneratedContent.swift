/// A type whose values can be written as generated content, and so stand in prompts and instructions.
public protocol ConvertibleToGeneratedContent: InstructionsRepresentable, PromptRepresentable {
  /// The content that stands for this value.
  var generatedContent: GeneratedContent { get }
}

extension ConvertibleToGeneratedContent {
  /// The value as a structured part of instructions.
  public var instructionsRepresentation: Instructions { Instructions(segments: [structuredSegment]) }

  /// The value as a structured part of a prompt.
  public var promptRepresentation: Prompt { Prompt(segments: [structuredSegment]) }

  private var structuredSegment: Transcript.Segment {
    .structure(Transcript.StructuredSegment(source: String(describing: Self.self), content: generatedContent))
  }
}
