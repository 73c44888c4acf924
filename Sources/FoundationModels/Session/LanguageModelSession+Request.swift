internal import Dibit
internal import DibitJSON

extension LanguageModelSession {
  /// The request for what comes behind these entries.
  func request(behind entries: [Transcript.Entry]) throws -> DialogueRequest {
    var request = DialogueRequest(try Self.messages(entries))
    var names: Set<String> = []
    for (tool, schema) in zip(tools, toolSchemas) where names.insert(tool.name).inserted {
      let shown = tool.includesSchemaInInstructions ? try schema.shown() : nil
      request.tools.append(
        OfferedTool(name: tool.name, description: tool.description, shownSchema: shown, schema: try schema.enforced()))
    }
    return request
  }

  /// The entries as the model is told them.
  static func messages(_ entries: [Transcript.Entry]) throws -> [DialogueMessage] {
    var calls: [String: ToolCall] = [:]
    return try entries.compactMap { entry in
      switch entry {
      case .instructions(let instructions): return instructions.text.isEmpty ? nil : .system(instructions.text)
      case .prompt(let prompt): return .user(try prompt.shownText())
      case .response(let response): return .assistant(response.text)
      case .toolCalls(let list):
        let made = try list.map { call in
          ToolCall(id: call.id, name: call.toolName, arguments: try JSONValue(parsing: Array(call.arguments.jsonString.utf8)))
        }
        for call in made { calls[call.id] = call }
        return .calls(made)
      case .toolOutput(let output):
        let call = calls[output.id] ?? ToolCall(id: output.id, name: output.toolName, arguments: .object(JSONObject()))
        return .result(call, output.text)
      }
    }
  }
}

extension Transcript.Prompt {
  /// The text with the schema of the answer, as the model reads it.
  func shownText() throws -> String {
    guard let responseFormat else { return text }
    return "\(text)\n\nAnswer with JSON of this schema: \(try responseFormat.schema.shownText())"
  }
}

extension GenerationSchema {
  /// The schema as a model is shown it among its tools.
  func shown() throws -> JSONValue { try JSONValue(parsing: Array(shownText().utf8)) }
}
