internal import DibitJSON
internal import DibitJinja
internal import DibitTokenizer

/// The tokens of a conversation with tools, which only a model's own chat template can write.
///
/// What is learnt of an answer or a call is what the template writes of it behind the prompt for it: the rendering up to the message begins
/// with the rendering that asks for it. What ends it is found by letting the template write another answer in its place.
struct ToolFormat {
  private let use: ToolUse
  private let answers: [Int]
  private let location: String
  private let tokenizer: Tokenizer
  private let jinja: JinjaChatTemplate
  private let limit: Int

  /// Stands where an answer does, to find what a template writes around it.
  private static let probe = "\u{1}answer\u{1}"

  /// - Throws: ``ConversationError/toolsNotWritten(location:what:)`` where the model has no template.
  init(
    _ use: ToolUse, _ conversation: Conversation, _ tokenizer: Tokenizer, _ jinja: JinjaChatTemplate?, _ limit: Int
  ) throws(ConversationError) {
    location = DatasetExample.conversation(conversation).location
    guard let jinja else { throw .toolsNotWritten(location: location, what: nil) }
    (self.use, answers, self.tokenizer, self.jinja, self.limit) = (use, conversation.answers, tokenizer, jinja, limit)
  }

  /// The answers and calls that are learnt as content, and what ends them as scaffolding. Turns that do not fit are left out.
  func encode() throws(ConversationError) -> TokenizedExample {
    try checkThatAllIsWritten()
    var example = TokenizedExample(tokens: [], roles: [])
    for index in answers {
      let before = try render(Array(use.messages[..<index]), asks: true)
      let answer = try answer(index, behind: before)
      let prompt = tokenizer.encode(before, addingSpecialTokens: false)
      guard prompt.count + answer.tokens.count <= limit else {
        guard !example.tokens.isEmpty else { throw .tooLong(location: location, limit: limit) }
        let whole = tokenizer.encode(try render(use.messages, asks: false), addingSpecialTokens: false).count
        example.truncatedTokens = max(1, whole - example.tokens.count)
        return example
      }
      example.append(prompt: prompt, answer: answer)
    }
    return example
  }

  private func answer(_ index: Int, behind before: String) throws(ConversationError) -> TokenizedExample {
    let whole = try render(Array(use.messages[...index]), asks: false)
    let probed = try render(Array(use.messages[..<index]) + [["role": "assistant", "content": .string(Self.probe)]], asks: false)
    guard whole.utf8.starts(with: before.utf8), probed.utf8.starts(with: before.utf8) else { throw unfit }
    func rest(_ text: String) -> String { String(decoding: Array(text.utf8.dropFirst(before.utf8.count)), as: UTF8.self) }
    let (said, around) = (rest(whole), rest(probed))
    guard let mark = around.firstRange(of: Self.probe), !said.isEmpty else { throw unfit }
    // What comes before an answer, such as empty thoughts, and what ends it. A call may end otherwise: then all of it is content.
    let head = said.utf8.starts(with: around[..<mark.lowerBound].utf8) ? around[..<mark.lowerBound].utf8.count : 0
    let tail = String(around[mark.upperBound...])
    let isEnded = !tail.isEmpty && said.utf8.reversed().starts(with: tail.utf8.reversed())
    let tokens = tokenizer.encode(said, addingSpecialTokens: false)
    let end = isEnded ? tokenizer.encode(tail, addingSpecialTokens: false) : []
    let closing = tokens.reversed().starts(with: end.reversed()) ? end.count : 0
    let words = Array(said.utf8.dropLast(closing > 0 ? tail.utf8.count : 0))
    let text = String(decoding: words, as: UTF8.self)
    let mask =
      Array(repeating: false, count: min(head, words.count)) + AnswerContent.mask(String(decoding: words.dropFirst(head), as: UTF8.self))
    var example = TokenizedExample(tokens: [], roles: [])
    example.tokens = Array(tokens.dropLast(closing))
    example.roles = AnswerContent.roles(of: example.tokens, spelling: text, mask, tokenizer)
    example.append(tokens.suffix(closing), .scaffolding)
    return example
  }

  private var unfit: ConversationError {
    .toolsNotWritten(location: location, what: "an answer or a call behind the prompt for it")
  }

  // MARK: What a template writes

  /// Refuses a template that leaves tools, a call or what a tool gave out: what would be learnt is not what the row says.
  ///
  /// Something is written if the text is another one where it is another thing.
  private func checkThatAllIsWritten() throws(ConversationError) {
    let whole = try render(use.messages, asks: false)
    if let tools = use.tools, try render(use.messages, asks: false, tools: Self.otherTools(tools)) == whole {
      throw .toolsNotWritten(location: location, what: "tools")
    }
    for (index, message) in use.messages.enumerated() {
      var changed = use.messages
      if ToolUse.calls(message) {
        for other in Self.otherCalls(message) {
          changed[index] = other
          if try render(changed, asks: false) == whole { throw .toolsNotWritten(location: location, what: "calls of tools") }
        }
      } else if message["role"] == "tool", var object = message.object {
        object["content"] = .string((message["content"]?.string ?? "") + "1")
        changed[index] = .object(object)
        if try render(changed, asks: false) == whole { throw .toolsNotWritten(location: location, what: "what tools gave") }
      }
    }
  }

  /// The tools under other names.
  private static func otherTools(_ tools: JSONValue) -> JSONValue {
    func renamed(_ function: JSONObject) -> JSONObject {
      var function = function
      if let name = function["name"]?.string { function["name"] = .string(name + "1") }
      return function
    }
    return .array(
      (tools.array ?? []).map { tool in
        guard var object = tool.object else { return tool }
        guard let function = object["function"]?.object else { return .object(renamed(object)) }
        object["function"] = .object(renamed(function))
        return .object(object)
      })
  }

  /// The message with other functions called, and with other arguments.
  private static func otherCalls(_ message: JSONValue) -> [JSONValue] {
    guard let object = message.object, let calls = message["tool_calls"]?.array else { return [] }
    func changing(_ key: String, _ change: (JSONValue?) -> JSONValue) -> JSONValue {
      var object = object
      object["tool_calls"] = .array(
        calls.map { call in
          guard var call = call.object, var function = call["function"]?.object else { return call }
          function[key] = change(function[key])
          call["function"] = .object(function)
          return .object(call)
        })
      return .object(object)
    }
    return [
      changing("name") { .string(($0?.string ?? "") + "1") },
      changing("arguments") { arguments in
        var arguments = arguments?.object ?? JSONObject()
        arguments["another"] = "1"
        return .object(arguments)
      },
    ]
  }

  private func render(_ messages: [JSONValue], asks: Bool) throws(ConversationError) -> String {
    try render(messages, asks: asks, tools: use.tools)
  }

  private func render(_ messages: [JSONValue], asks: Bool, tools: JSONValue?) throws(ConversationError) -> String {
    do throws(JinjaError) { return try jinja.renderUndated(messages, tools: tools, addingGenerationPrompt: asks) } catch {
      throw .toolTemplate(error, location: location)
    }
  }
}
