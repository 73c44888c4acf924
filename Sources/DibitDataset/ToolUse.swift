package import DibitJSON
internal import DibitTokenizer

/// The part of a conversation that is more than words: the tools that are offered, calls of them and what they gave.
///
/// ``messages`` are what a chat template reads, one for each message of the conversation: `role` (which may be `tool`), `content`, and of
/// calls `tool_calls` with their arguments as objects, as transformers hands them to templates.
package struct ToolUse: Equatable, Sendable {
  /// The list under `tools`; nil where none are offered.
  package let tools: JSONValue?
  /// The messages as templates read them.
  package let messages: [JSONValue]

  /// Reads the messages of a row that has tools, calls or results in it; nil for one that has none of them.
  ///
  /// - Parameter isAnswered: whether the assistant must have the last word; calls never have it.
  /// - Throws: ``RowFault`` for what is no tool, no call or no result, and for messages out of turn.
  static func read(
    _ list: [JSONValue], tools: JSONValue?, isAnswered: Bool = true
  ) throws(RowFault) -> (use: ToolUse, words: [ChatMessage])? {
    let offered = tools.flatMap { $0.isNull || $0.array?.isEmpty == true ? nil : $0 }
    let isUsed = offered != nil || list.contains { $0["role"]?.string == tool || hasCalls($0) }
    guard isUsed else { return nil }
    if let offered { try check(tools: offered) }
    var (messages, words): ([JSONValue], [ChatMessage]) = ([], [])
    for (index, value) in list.enumerated() {
      guard let object = value.object else { throw .wrongType(key: "messages", expected: "objects", found: value.kind) }
      let (message, word) = try read(object, index: index)
      messages.append(message)
      words.append(word)
    }
    try checkTurns(messages, isAnswered: isAnswered)
    return (ToolUse(tools: offered, messages: messages), words)
  }

  private static let tool = "tool"

  private static func hasCalls(_ message: JSONValue) -> Bool {
    message["tool_calls"].map { !$0.isNull && $0.array?.isEmpty != true } ?? false
  }

  /// True for a message of the assistant that calls tools.
  static func calls(_ message: JSONValue) -> Bool { message["role"]?.string == Role.assistant.rawValue && hasCalls(message) }

  // MARK: Parts

  private static func check(tools: JSONValue) throws(RowFault) {
    guard let list = tools.array else { throw .wrongType(key: "tools", expected: "a list of tools", found: tools.kind) }
    for tool in list {
      guard let name = (tool["function"] ?? tool)["name"]?.string, !name.isEmpty else {
        throw .wrongType(key: "tools", expected: "functions with a name", found: tool.kind)
      }
    }
  }

  /// A message for templates, and the same in words: calls as JSON, and what a tool gave as if a user said it.
  private static func read(_ object: JSONObject, index: Int) throws(RowFault) -> (JSONValue, ChatMessage) {
    let value = JSONValue.object(object)
    var plain = object
    plain["tool_calls"] = nil
    guard object["role"]?.string != tool else {
      plain["role"] = .string(Role.user.rawValue)
      let word = try ChatMessage(plain, index: index)
      var message = JSONObject([(key: "role", value: .string(tool)), (key: "content", value: .string(word.content))])
      for key in ["tool_call_id", "name"] { if let text = object[key], text.string != nil { message[key] = text } }
      return (.object(message), word)
    }
    guard hasCalls(value) else {
      let word = try ChatMessage(plain, index: index)
      return (["role": .string(word.role.rawValue), "content": .string(word.content)], word)
    }
    guard object["role"]?.string == Role.assistant.rawValue else {
      throw .wrongType(key: "tool_calls", expected: "calls in a message of the assistant only", found: "some in another")
    }
    // What calls need not say anything.
    if plain["content"]?.isNull ?? true { plain["content"] = "" }
    let word = try ChatMessage(plain, index: index)
    let calls = try self.calls(in: object["tool_calls"])
    let message: JSONValue = ["role": .string(word.role.rawValue), "content": .string(word.content), "tool_calls": calls]
    let said = word.content + (word.content.isEmpty ? "" : "\n") + calls.serialized()
    return (message, ChatMessage(role: .assistant, content: said))
  }

  /// The calls with their arguments as objects.
  private static func calls(in value: JSONValue?) throws(RowFault) -> JSONValue {
    guard let list = value?.array else { throw .wrongType(key: "tool_calls", expected: "a list of calls", found: value?.kind ?? "nothing") }
    var calls: [JSONValue] = []
    for call in list {
      guard var object = call.object, var function = call["function"]?.object, let name = function["name"]?.string, !name.isEmpty else {
        throw .wrongType(key: "tool_calls", expected: "calls of a function with a name", found: call.kind)
      }
      let given = function["arguments"] ?? .object(JSONObject())
      let parsed = given.string.map { try? JSONValue(parsing: Array($0.utf8), depthLimit: 16) } ?? given
      guard let arguments = parsed, arguments.object != nil else {
        throw .wrongType(
          key: "arguments", expected: "a JSON object, or one as text", found: given.string == nil ? given.kind : "another text")
      }
      function["arguments"] = arguments
      object["function"] = .object(function)
      calls.append(.object(object))
    }
    return .array(calls)
  }

  // MARK: Turns

  /// A system message may come first; a user's is answered or leads to calls, calls to what their tools gave, and that to an answer or other
  /// calls.
  private static func checkTurns(_ messages: [JSONValue], isAnswered: Bool) throws(RowFault) {
    var (previous, awaited): (String?, Set<String>) = (nil, [])
    for (index, message) in messages.enumerated() {
      let role = message["role"]?.string ?? ""
      let expected =
        switch previous {
        case nil: ["system", "user"]
        case "system": ["user"]
        case "user": ["assistant"]
        case "calls": ["tool"]
        case "tool": ["tool", "assistant"]
        default: ["user"]
        }
      guard expected.contains(role) else {
        throw .messageOrder(index: index, expected: expected.joined(separator: " or "), found: role)
      }
      if role == tool, let id = message["tool_call_id"]?.string, !awaited.isEmpty, !awaited.contains(id) {
        throw .wrongType(key: "tool_call_id", expected: "the id of a call before it", found: "another")
      }
      let isCalling = calls(message)
      if isCalling { awaited = Set((message["tool_calls"]?.array ?? []).compactMap { $0["id"]?.string }) }
      previous = isCalling ? "calls" : role
    }
    guard !isAnswered || messages.last?["role"]?.string == Role.assistant.rawValue else { throw .noAnswer }
    guard isAnswered || previous != "calls" else {
      throw .wrongType(key: "tool_calls", expected: "what the tools gave behind them", found: "the end")
    }
  }
}
