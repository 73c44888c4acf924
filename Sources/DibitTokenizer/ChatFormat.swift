package import DibitJSON
package import DibitJinja

/// The way in which a model is spoken to: the messages of a chat as the prompt that its answer follows, and the tokens that end the answer.
///
/// With turn tokens in the vocabulary the chat is written in turns (``ChatTemplate``); otherwise the model's own template is rendered, if
/// it has one. A rendered chat can spell control tokens wherever a message does; turns cannot.
package struct ChatFormat: Sendable {
  /// The tokenizer whose ids these are.
  package let tokenizer: Tokenizer
  /// The tokens that end an answer.
  package let endTokens: Set<Int32>
  private let turns: ChatTemplate
  private let jinja: JinjaChatTemplate?
  private let clock: JinjaClock?

  /// A format for a model.
  ///
  /// - Parameters:
  ///   - jinja: the template that lies beside the model, if there is one.
  ///   - endTokens: the spellings of further tokens that end an answer.
  ///   - clock: the date that the template tells, the same for all prompts: a chat that goes on past midnight keeps its beginning.
  package init(tokenizer: Tokenizer, jinja: JinjaChatTemplate?, endTokens: [String] = [], clock: JinjaClock? = nil) {
    self.tokenizer = tokenizer
    self.clock = clock
    turns = ChatTemplate(tokenizer)
    self.jinja = turns.style == .turns ? nil : jinja
    self.endTokens = Set(turns.stopTokens(tokenizer) + endTokens.compactMap { tokenizer.id(of: $0) })
  }

  /// Finds the text around calls of tools in the model's own template, by rendering it; nil where it writes none.
  package func callForm() -> ToolCallForm? { jinja.flatMap { ToolCallForm($0) } }

  /// Checks, by rendering the template, whether the model can be told something as its system.
  package func hasSystem() -> Bool {
    guard let jinja else { return turns.style == .turns }
    let mark = "dibitMarkInstruction"
    let messages = [ChatMessage(role: .system, content: mark), ChatMessage(role: .user, content: "dibitMarkText")]
    return (try? jinja.renderUndated(messages, addingGenerationPrompt: true))?.contains(mark) == true
  }

  /// True where the model can tell who speaks: without turns and template, messages are only lines of text.
  package var tellsRoles: Bool { turns.style == .turns || jinja != nil }

  /// The messages in order, ready for the answer.
  package func prompt(_ messages: [ChatMessage]) throws(JinjaError) -> [Int32] {
    guard let jinja else { return turns.prompt(messages, tokenizer: tokenizer).tokens }
    // A template writes the start of the text itself.
    return tokenizer.encode(try jinja.render(messages, clock: clock), addingSpecialTokens: false)
  }

  /// The messages as the model's own template writes them, with the tools that are offered; nil for a model without one.
  ///
  /// - Parameter messages: The messages, each an object as templates read them.
  package func text(_ messages: [JSONValue], tools: JSONValue? = nil) throws(JinjaError) -> String? {
    try jinja?.render(messages, tools: tools, clock: clock)
  }

  /// The tokens of a text that the model's own template wrote, or that goes on behind one.
  package func tokens(ofRendered text: String) -> [Int32] { tokenizer.encode(text, addingSpecialTokens: false) }
}
