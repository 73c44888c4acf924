// For people and logs, one line each: line ends of a text become spaces. No program should read them.

extension Transcript.Entry: CustomStringConvertible {
  /// The kind of entry, with its text on one line.
  public var description: String {
    switch self {
    case .instructions(let instructions): instructions.description
    case .prompt(let prompt): prompt.description
    case .toolCalls(let calls): calls.description
    case .toolOutput(let output): output.description
    case .response(let response): response.description
    #if FoundationModels27
      case .reasoning(let reasoning): reasoning.description
    #endif
    }
  }
}

extension Transcript.Segment: CustomStringConvertible {
  /// The text, or the JSON of the value, on one line.
  public var description: String {
    switch self {
    case .text(let segment): segment.description
    case .structure(let segment): segment.description
    #if FoundationModels27
      case .attachment(let segment): segment.description
    #endif
    }
  }
}

extension Transcript.TextSegment: CustomStringConvertible {
  /// The text on one line.
  public var description: String { content.onOneLine }
}

extension Transcript.StructuredSegment: CustomStringConvertible {
  /// The source and the JSON of the value, on one line.
  public var description: String { "\(source) \(content.jsonString)".onOneLine }
}

extension Transcript.Instructions: CustomStringConvertible {
  /// The text and the names of the tools, on one line.
  public var description: String {
    let tools = toolDefinitions.isEmpty ? "" : " [tools: \(toolDefinitions.map(\.name).joined(separator: ", "))]"
    return "Instructions: \(segments.text)\(tools)".onOneLine
  }
}

extension Transcript.Prompt: CustomStringConvertible {
  /// The text and the form of the answer, on one line.
  public var description: String {
    "Prompt: \(segments.text)\(responseFormat.map { " [\($0.description)]" } ?? "")".onOneLine
  }
}

extension Transcript.ResponseFormat: CustomStringConvertible {
  /// The name of the schema, on one line.
  public var description: String { "response format: \(name)".onOneLine }
}

extension Transcript.ToolCalls: CustomStringConvertible {
  /// The calls on one line.
  public var description: String { "Tool calls: \(calls.map(\.description).joined(separator: ", "))" }
}

extension Transcript.ToolCall: CustomStringConvertible {
  /// The name of the tool and the JSON of the arguments, on one line.
  public var description: String { "\(toolName)(\(arguments.jsonString))".onOneLine }
}

extension Transcript.ToolOutput: CustomStringConvertible {
  /// The name of the tool and its text, on one line.
  public var description: String { "Output of \(toolName): \(segments.text)".onOneLine }
}

extension Transcript.Response: CustomStringConvertible {
  /// The text on one line.
  public var description: String { "Response: \(segments.text)".onOneLine }
}

extension String {
  /// The text with a space for each end of a line.
  var onOneLine: String { String(map { $0.isNewline ? " " : $0 }) }
}
