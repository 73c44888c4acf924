package import DibitJSON
package import DibitJinja

/// A chat template as models publish it: Jinja in `tokenizer_config.json`, in `chat_template.jinja` or in a GGUF file.
package struct JinjaChatTemplate: Sendable {
  private let template: JinjaTemplate
  /// Names that every rendering can read, such as `bos_token`.
  private let specialTokens: [(String, JSONValue)]

  /// Parses a template.
  ///
  /// - Parameters:
  ///   - jinja: The template.
  ///   - specialTokens: The tokens that the template may name, such as `("bos_token", "<s>")`.
  package init(jinja: String, specialTokens: [(name: String, token: String)] = []) throws(JinjaError) {
    template = try JinjaTemplate(parsing: jinja)
    self.specialTokens = specialTokens.map { ($0.name, .string($0.token)) }
  }

  /// The template in a `chat_template` member: a text, or a list of `{name, template}`.
  ///
  /// Of a list the template called `name` is taken; without a name, `tool_use` is taken when tools are to be offered and the list
  /// has it, and `default` otherwise, as transformers chooses. Nil when the value holds no such template.
  package static func source(in chatTemplate: JSONValue, name: String? = nil, offersTools: Bool = false) -> String? {
    if let text = chatTemplate.string { return name == nil ? text : nil }
    guard let entries = chatTemplate.array else { return nil }
    func entry(_ wanted: String) -> String? { entries.first { $0["name"]?.string == wanted }?["template"]?.string }
    if let name { return entry(name) }
    return (offersTools ? entry("tool_use") : nil) ?? entry("default")
  }

  /// The chat as text.
  ///
  /// - Parameters:
  ///   - messages: The messages, each an object with `role`, `content` and whatever else the template reads. Reasoning is found
  ///     under `reasoning_content`, `thinking` or `reasoning`, whichever the template reads, as in transformers.
  ///   - addingGenerationPrompt: Asks for the answer at the end.
  ///   - tools: The tools that the model may call, or nil.
  ///   - variables: More names for the template, such as `enable_thinking`; they win over the special tokens.
  ///   - clock: The date that `strftime_now` tells.
  package func render(
    _ messages: [JSONValue], addingGenerationPrompt: Bool = true, tools: JSONValue? = nil, documents: JSONValue? = nil,
    variables: [(String, JSONValue)] = [], clock: JinjaClock? = nil, limits: JinjaLimits = JinjaLimits()
  ) throws(JinjaError) -> String {
    let context: [(String, JSONValue)] = [
      ("messages", .array(messages.map(Self.namingReasoning))), ("tools", tools ?? .null), ("documents", documents ?? .null),
      ("add_generation_prompt", .bool(addingGenerationPrompt)),
    ]
    return try template.render(specialTokens + variables + context, clock: clock, limits: limits)
  }

  /// The chat as text.
  package func render(_ messages: [ChatMessage], addingGenerationPrompt: Bool = true, clock: JinjaClock? = nil) throws(JinjaError) -> String
  {
    try render(
      messages.map { ["role": .string($0.role.rawValue), "content": .string($0.content)] }, addingGenerationPrompt: addingGenerationPrompt,
      clock: clock)
  }

  /// The chat as text that is the same on any day: a template that asks is told the date that Llama's own falls back on.
  package func renderUndated(_ messages: [ChatMessage], addingGenerationPrompt: Bool) throws(JinjaError) -> String {
    try render(messages, addingGenerationPrompt: addingGenerationPrompt, clock: JinjaClock(year: 2024, month: 7, day: 26))
  }

  /// The same of messages as templates read them, with the tools that are offered.
  package func renderUndated(_ messages: [JSONValue], tools: JSONValue?, addingGenerationPrompt: Bool) throws(JinjaError) -> String {
    try render(
      messages, addingGenerationPrompt: addingGenerationPrompt, tools: tools, clock: JinjaClock(year: 2024, month: 7, day: 26))
  }

  /// The message with its reasoning under the names that templates read.
  private static func namingReasoning(_ message: JSONValue) -> JSONValue {
    guard case .object(var object) = message else { return message }
    let names = ["reasoning_content", "thinking", "reasoning"]
    guard let reasoning = names.compactMap({ object[$0] }).first(where: { !$0.isNull }) else { return message }
    if object["thinking"] == nil { object = JSONObject([(key: "thinking", value: reasoning)] + object.members) }
    object["reasoning_content"] = reasoning
    return .object(object)
  }
}
