internal import DibitJSON
internal import DibitJinja
internal import DibitModelStore
internal import DibitTokenizer

/// A prompt of a dialogue: as tokens, and where calls may come behind it, as the text of these.
struct DialoguePrompt: Sendable {
  let tokens: [Int32]
  let text: String?
  /// The tokens that end the answer.
  let endTokens: Set<Int32>
  /// The form of the answer where none is asked for: that which an adapter has learnt.
  var answer: JSONValue?
}

/// The way in which a dialogue with tools is written for a model.
///
/// Where the model's chat template writes calls, they are written as it does; otherwise the model is first asked which tool it uses, and then,
/// if none, for the answer without a word of tools (``GuidedCalls``).
struct DialogueFormat: Sendable {
  let chat: ChatFormat
  let callForm: ToolCallForm?
  private let hasSystem: Bool
  /// The words of an adapter that tags, and the model that it belongs to.
  private let tagging: (tagger: OpenedAdapter.Tagger, model: StoredModel)?

  /// The format of a model, in the words of an adapter that tags where there is one.
  ///
  /// - Throws: ``DibitError`` for a model that cannot tell who speaks.
  init(_ model: StoredModel, adapter: OpenedAdapter?) throws {
    let chat = try model.chatFormat()
    guard chat.tellsRoles || adapter?.tagger != nil else { throw StoredModel.noChat(model.path) }
    self.init(chat, tagging: adapter?.tagger.map { ($0, model) })
  }

  init(_ chat: ChatFormat, tagging: (tagger: OpenedAdapter.Tagger, model: StoredModel)? = nil) {
    (self.chat, callForm, hasSystem, self.tagging) = (chat, chat.callForm(), chat.hasSystem(), tagging)
  }

  /// The prompt of a request: what is said last as an adapter that tags has learnt it, or all of it as the model reads it.
  func prompt(_ request: DialogueRequest) throws -> DialoguePrompt {
    guard let tagging else { return try prompt(request.messages, tools: request.callable) }
    let text = request.messages.reversed().lazy.compactMap { if case .user(let text) = $0 { text } else { nil } }.first ?? ""
    let asked = try ModelPrompt(.user(text), adapter: tagging.tagger, model: tagging.model)
    return DialoguePrompt(tokens: asked.tokens, text: nil, endTokens: asked.endTokens, answer: asked.answer)
  }

  /// The number of tokens of a request's prompt: of the longest, where there are several.
  func promptTokens(_ request: DialogueRequest) throws -> Int {
    let tokens = try prompt(request).tokens.count
    guard !request.callable.isEmpty, callForm == nil else { return tokens }
    return max(tokens, try choicePrompt(request.messages, request.tools).count)
  }

  /// The prompt behind which the next step comes; a model is not told of tools that it may not call, which it would call in words.
  func prompt(_ messages: [DialogueMessage], tools: [OfferedTool]) throws(JinjaError) -> DialoguePrompt {
    let usesCalls = !tools.isEmpty || messages.contains { if case .calls = $0 { true } else { false } }
    guard callForm != nil, usesCalls, let text = try chat.text(folding(messages).map(\.value), tools: Self.list(tools)) else {
      return DialoguePrompt(tokens: try chat.prompt(words(of: messages)), text: nil, endTokens: chat.endTokens)
    }
    return DialoguePrompt(tokens: chat.tokens(ofRendered: text), text: text, endTokens: chat.endTokens)
  }

  // MARK: In the model's own template

  private static func list(_ tools: [OfferedTool]) -> JSONValue? {
    let shown = tools.compactMap { tool -> JSONValue? in
      guard let schema = tool.shownSchema else { return nil }
      let function: JSONValue = ["name": .string(tool.name), "description": .string(tool.description), "parameters": schema]
      return ["type": "function", "function": function]
    }
    return shown.isEmpty ? nil : .array(shown)
  }

  /// The messages with what the system says in the first of the user's, for templates that know no system.
  private func folding(_ messages: [DialogueMessage]) -> [DialogueMessage] {
    guard !hasSystem, case .system(let system)? = messages.first else { return messages }
    var rest = Array(messages.dropFirst())
    if let first = rest.firstIndex(where: { if case .user = $0 { true } else { false } }), case .user(let text) = rest[first] {
      rest[first] = .user(system + "\n\n" + text)
    } else {
      rest.insert(.user(system), at: 0)
    }
    return rest
  }

  // MARK: In words

  /// The prompt that asks which tool is used for the last message, or for `message` in its stead.
  func choicePrompt(_ messages: [DialogueMessage], _ tools: [OfferedTool], message: String? = nil) throws(JinjaError) -> [Int32] {
    var words = words(of: messages)
    let last = words.last?.role == .user ? words.removeLast().content : ""
    words.append(ChatMessage(role: .user, content: GuidedCalls.guidance(tools) + (message ?? last)))
    return try chat.prompt(words)
  }

  /// The messages in words of a system, a user and an assistant.
  private func words(of messages: [DialogueMessage]) -> [ChatMessage] {
    var words: [ChatMessage] = []
    for message in folding(messages) {
      let word: ChatMessage
      switch message {
      case .system(let text): word = ChatMessage(role: .system, content: text)
      case .user(let text): word = ChatMessage(role: .user, content: text)
      case .assistant(let text): word = ChatMessage(role: .assistant, content: text)
      // A small model that has once written a call writes it again: what tools gave stands behind the question as if the user knew it.
      case .calls: continue
      case .result(let call, let text): word = ChatMessage(role: .user, content: GuidedCalls.result(of: call, text))
      }
      // Templates want speakers in turn.
      if word.role != .system, let last = words.last, last.role == word.role {
        words[words.count - 1].content += "\n" + word.content
      } else {
        words.append(word)
      }
    }
    return words
  }
}

/// Calls of tools for models whose template knows none: before each answer the model is asked which tool it uses, and says so as JSON.
enum GuidedCalls {
  /// The words before the message that a tool is chosen for.
  static func guidance(_ tools: [OfferedTool]) -> String {
    let lines = tools.compactMap { tool in
      tool.shownSchema.map { "- \(tool.name): \(tool.description) Arguments: \($0.serialized())\n" }
    }
    return """
      You can use these tools:
      \(lines.joined())\
      Answer {"tool":"none"} where you need none of them. To use one, say its name and arguments as {"tool":"NAME","arguments":{...}}.

      Message:\u{20}
      """
  }

  static func result(of call: ToolCall, _ text: String) -> String { "Result of \(call.name) \(call.arguments.serialized()): \(text)" }

  /// The beginning of a call, behind which its arguments come.
  static func opening(_ tool: OfferedTool) -> String { #"{"tool":\#(JSONValue.string(tool.name).serialized()),"arguments":"# }

  /// The beginnings among which a tool is chosen; the last is that of none.
  static func choices(_ tools: [OfferedTool]) -> [String] {
    tools.map { #"{"tool":"# + JSONValue.string($0.name).serialized() } + [#"{"tool":"none""#]
  }

  /// A message that asks for nothing, beside which is seen how likely a tool is by itself.
  static let neutralMessage = "..."
}
