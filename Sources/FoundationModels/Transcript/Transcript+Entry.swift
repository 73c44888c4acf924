extension Transcript {
  /// One step of a conversation.
  public enum Entry: Sendable, Identifiable, Equatable {
    /// The rules of the conversation.
    case instructions(Instructions)
    /// Something that was asked.
    case prompt(Prompt)
    /// Calls of tools that the model makes, one or more at once.
    case toolCalls(ToolCalls)
    /// The result of one call.
    case toolOutput(ToolOutput)
    /// Something that the model said.
    case response(Response)
    #if FoundationModels27
      /// Thoughts of the model before it went on.
      case reasoning(Reasoning)
    #endif

    /// The identifier of what the entry holds.
    public var id: String {
      switch self {
      case .instructions(let instructions): instructions.id
      case .prompt(let prompt): prompt.id
      case .toolCalls(let calls): calls.id
      case .toolOutput(let output): output.id
      case .response(let response): response.id
      #if FoundationModels27
        case .reasoning(let reasoning): reasoning.id
      #endif
      }
    }

    /// The parts, in order; none of calls.
    var segments: [Segment] {
      switch self {
      case .instructions(let instructions): instructions.segments
      case .prompt(let prompt): prompt.segments
      case .toolCalls: []
      case .toolOutput(let output): output.segments
      case .response(let response): response.segments
      #if FoundationModels27
        case .reasoning(let reasoning): reasoning.segments
      #endif
      }
    }
  }
}
