internal import Dibit
internal import DibitJSON

extension StepRequest {
  /// The request as the runtime takes it, without its options.
  func dialogueRequest() throws -> DialogueRequest {
    var request = DialogueRequest(try DialogueMessage.messages(of: entries))
    var names: Set<String> = []
    for (tool, schema) in zip(tools.tools, tools.schemas) where names.insert(tool.name).inserted {
      let shown = tool.includesSchemaInInstructions ? try schema.shown() : nil
      request.tools.append(
        OfferedTool(name: tool.name, description: tool.description, shownSchema: shown, schema: try schema.enforced()))
    }
    request.made = made
    request.toolUse =
      switch options.toolCallingMode?.kind {
      case .disallowed?: .disallowed
      case .required?: .required
      case .allowed?, nil: .allowed
      }
    return request
  }
}

extension DialogueMessage {
  /// The entries as a model is told them.
  static func messages(of entries: some Collection<Transcript.Entry>) throws -> [DialogueMessage] {
    var calls: [String: ToolCall] = [:]
    var messages: [DialogueMessage] = []
    for entry in entries {
      switch entry {
      case .instructions(let instructions): if !instructions.text.isEmpty { messages.append(.system(instructions.text)) }
      case .prompt(let prompt): messages.append(.user(try prompt.shownText()))
      case .response(let response): messages.append(.assistant(response.text))
      case .toolCalls(let list):
        let made = try list.map { try $0.dialogueCall }
        for call in made { calls[call.id] = call }
        if case .assistant(let words)? = messages.last {
          messages[messages.count - 1] = .calls(made, saying: words)
        } else {
          messages.append(.calls(made))
        }
      case .toolOutput(let output):
        let call = calls[output.id] ?? ToolCall(id: output.id, name: output.toolName, arguments: .object(JSONObject()))
        messages.append(.result(call, output.text))
      #if FoundationModels27
        case .reasoning: break  // Models that run here have none, and those of others are not theirs.
      #endif
      }
    }
    return messages
  }
}

extension Transcript.ToolCall {
  /// The call as the runtime has it.
  var dialogueCall: ToolCall {
    get throws { ToolCall(id: id, name: toolName, arguments: try JSONValue(parsing: Array(arguments.jsonString.utf8))) }
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
