package import DibitDataset
internal import DibitJSON
internal import DibitTokenizer

/// Messages as chat templates read them and as files keep them.
extension DialogueMessage {
  /// The message as an object, with the arguments of calls as objects too.
  var value: JSONValue {
    switch self {
    case .system(let text): ["role": "system", "content": .string(text)]
    case .user(let text): ["role": "user", "content": .string(text)]
    case .assistant(let text): ["role": "assistant", "content": .string(text)]
    case .calls(let calls, let text):
      [
        "role": "assistant", "content": .string(text),
        "tool_calls": .array(
          calls.map { call in
            let function: JSONValue = ["name": .string(call.name), "arguments": call.arguments]
            return ["id": .string(call.id), "type": "function", "function": function]
          }),
      ]
    case .result(let call, let text):
      ["role": "tool", "name": .string(call.name), "tool_call_id": .string(call.id), "content": .string(text)]
    }
  }

  /// Takes words.
  init(_ message: ChatMessage) {
    self =
      switch message.role {
      case .system: .system(message.content)
      case .user: .user(message.content)
      case .assistant: .assistant(message.content)
      }
  }

  /// The messages of a chat in JSON, as ``ChatTranscript`` reads it.
  package static func messages(parsing bytes: [UInt8]) throws(ChatTranscriptError) -> [DialogueMessage] {
    messages(try ChatTranscript.dialogue(parsing: bytes))
  }

  /// The messages of objects that are in turn. What a tool gave belongs to the call of its identifier, otherwise to the next in order.
  private static func messages(_ values: [JSONValue]) -> [DialogueMessage] {
    var awaited: [ToolCall] = []
    return values.enumerated().map { index, value in
      let text = value["content"]?.string ?? ""
      if let calls = value["tool_calls"]?.array {
        awaited = calls.enumerated().map { ToolCall($1, fallback: "call\(index)n\($0)") }
        return .calls(awaited, saying: text)
      }
      switch value["role"]?.string {
      case "system": return .system(text)
      case "assistant": return .assistant(text)
      case "tool":
        let named = awaited.firstIndex { $0.id == value["tool_call_id"]?.string }
        guard !awaited.isEmpty else { return .user(text) }
        return .result(awaited.remove(at: named ?? 0), text)
      default: return .user(text)
      }
    }
  }
}

extension ToolCall {
  /// Takes a call of a message, with an identifier in place of one that it lacks.
  fileprivate init(_ value: JSONValue, fallback: String) {
    let function = value["function"]
    self.init(
      id: value["id"]?.string ?? fallback, name: function?["name"]?.string ?? "", arguments: function?["arguments"] ?? .object(JSONObject())
    )
  }
}
