package import DibitFailure
package import DibitJinja
package import DibitTokenizer

/// The way in which a conversation becomes tokens: as `dibit generate` writes the prompt that the answer will follow.
///
/// With turn tokens in the vocabulary the chat is written in turns; otherwise the model's own template is used, if it has one, and
/// else the contents follow each other line by line.
package struct ConversationFormat: Sendable {
  /// The most tokens of a conversation; of longer ones the last turns are left out, or the question loses its end.
  package let maximumTokens: Int
  /// The tokenizer whose ids these are.
  package let tokenizer: Tokenizer
  private let chat: ChatTemplate
  private let jinja: JinjaChatTemplate?

  /// A format for a model.
  ///
  /// - Parameter jinja: the template that lies beside the model, if there is one.
  package init(tokenizer: Tokenizer, jinja: JinjaChatTemplate?, maximumTokens: Int) {
    self.tokenizer = tokenizer
    self.maximumTokens = maximumTokens
    chat = ChatTemplate(tokenizer)
    self.jinja = chat.style == .turns ? nil : jinja
  }

  /// The conversation with its learnt answers as content; the tokens that end them, and of answers in JSON all but the values, are
  /// scaffolding.
  ///
  /// Turns that do not fit are left out from the first such turn on; when not even the first learnt answer fits, the message before it
  /// loses its end, and then the answer does.
  ///
  /// Calls of tools are learnt as the model's own template writes them.
  ///
  /// - Throws: ``ConversationError`` when nothing can be learnt within the limit or the template fails.
  package func encode(_ conversation: Conversation) throws(ConversationError) -> TokenizedExample {
    if let use = conversation.toolUse { return try ToolFormat(use, conversation, tokenizer, jinja, maximumTokens).encode() }
    var example = TokenizedExample(tokens: [], roles: [])
    for (turn, index) in conversation.answers.enumerated() {
      let prompt = try self.prompt(Array(conversation.messages[..<index]))
      let answer = try self.answer(conversation.messages, index)
      guard prompt.count + answer.tokens.count <= maximumTokens else {
        if turn == 0 { example = try shortened(conversation, index, prompt, answer) }
        let rest = try self.prompt(conversation.messages).count - example.tokens.count
        if turn > 0 { example.truncatedTokens = max(1, rest) }
        return example
      }
      example.append(prompt: prompt, answer: answer)
    }
    return example
  }

  /// The first answer with as much of the question before it as fits.
  private func shortened(
    _ conversation: Conversation, _ index: Int, _ prompt: [Int32], _ answer: TokenizedExample
  ) throws(ConversationError) -> TokenizedExample {
    var messages = Array(conversation.messages[..<index])
    guard let last = messages.last?.content else {
      throw .tooLong(location: DatasetExample.conversation(conversation).location, limit: maximumTokens)
    }
    let question = tokenizer.encode(last, addingSpecialTokens: false, parsingSpecialTokens: false)
    var (kept, length) = (question.count, prompt.count)
    var shorter = prompt
    // Tokens of a text that was cut are counted anew, which may take more than one round.
    while length + answer.tokens.count > maximumTokens, kept > 0 {
      kept = max(0, kept - (length + answer.tokens.count - maximumTokens))
      messages[messages.count - 1].content = Self.text(question.prefix(kept), tokenizer)
      shorter = try self.prompt(messages)
      length = shorter.count
    }
    let space = min(answer.tokens.count, maximumTokens - length)
    guard space > 0 else { throw .tooLong(location: DatasetExample.conversation(conversation).location, limit: maximumTokens) }
    var example = TokenizedExample(tokens: [], roles: [], truncatedTokens: question.count - kept + answer.tokens.count - space)
    example.append(shorter, .given)
    example.tokens += answer.tokens.prefix(space)
    example.roles += answer.roles.prefix(space)
    return example
  }

  /// The text of tokens, without the part of a character at its end.
  private static func text(_ tokens: ArraySlice<Int32>, _ tokenizer: Tokenizer) -> String {
    var text = Substring(tokenizer.decode(tokens, skippingSpecialTokens: false))
    while text.last == "\u{FFFD}" { text = text.dropLast() }
    return String(text)
  }

  /// The messages, ready for an answer.
  private func prompt(_ messages: [ChatMessage]) throws(ConversationError) -> [Int32] {
    guard let jinja else { return chat.prompt(messages, tokenizer: tokenizer).tokens }
    return tokenizer.encode(try render(jinja, messages, asks: true), addingSpecialTokens: false)
  }

  /// The answer at `index` and what ends it.
  private func answer(_ messages: [ChatMessage], _ index: Int) throws(ConversationError) -> TokenizedExample {
    let content = messages[index].content
    var example = TokenizedExample(tokens: [], roles: [])
    guard let jinja else {
      let whole = chat.answer(content, tokenizer: tokenizer)
      let end = chat.answer("", tokenizer: tokenizer).count
      example.tokens = Array(whole.dropLast(end))
      example.roles = AnswerContent.roles(of: example.tokens, spelling: content, AnswerContent.mask(content), tokenizer)
      example.append(whole.suffix(end), .scaffolding)
      return example
    }
    let before = try render(jinja, Array(messages[..<index]), asks: true)
    let whole = try render(jinja, Array(messages[...index]), asks: false)
    guard whole.utf8.starts(with: before.utf8) else { throw .unfitTemplate }
    let said = String(decoding: Array(whole.utf8.dropFirst(before.utf8.count)), as: UTF8.self)
    // Behind the answer a template writes the end of the turn. Some write something before it too, such as empty thoughts.
    guard let range = said.firstRange(of: content) ?? said.firstRange(of: content.trimmed) else { throw .unfitTemplate }
    let end = tokenizer.encode(String(said[range.upperBound...]), addingSpecialTokens: false)
    let words = tokenizer.encode(String(said), addingSpecialTokens: false)
    let closing = words.reversed().starts(with: end.reversed()) ? end.count : 0
    let start = said[..<range.lowerBound].utf8.count
    let text = String(said[..<range.upperBound])
    example.tokens = Array(words.dropLast(closing))
    example.roles = AnswerContent.roles(
      of: example.tokens, spelling: text, Array(repeating: false, count: start) + AnswerContent.mask(String(said[range])), tokenizer)
    example.append(words.suffix(closing), .scaffolding)
    return example
  }

  private func render(_ jinja: JinjaChatTemplate, _ messages: [ChatMessage], asks: Bool) throws(ConversationError) -> String {
    // The same data must give the same tokens on any day.
    do throws(JinjaError) { return try jinja.renderUndated(messages, addingGenerationPrompt: asks) } catch { throw .template(error) }
  }
}

/// The reasons for which a conversation cannot be learnt.
package enum ConversationError: EngineError, Equatable {
  case template(JinjaError)
  case unfitTemplate
  case tooLong(location: String, limit: Int)
  /// Tools, calls or results that the model's template does not write, in words; nil where the model has no template.
  case toolsNotWritten(location: String, what: String?)
  case toolTemplate(JinjaError, location: String)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what is wrong, and what to do.
  package var description: String {
    switch self {
    case .template(let error): "the model's chat template: \(error)"
    case .unfitTemplate: "the model's chat template does not write an answer behind the prompt for it, so that none can be learnt"
    case .toolsNotWritten(let location, nil):
      "'\(location)': the model has no chat template by which tools and their calls are written; take them out, or train a model that has one"
    case .toolsNotWritten(let location, let what?):
      "'\(location)': the model's chat template does not write \(what), so that it cannot be learnt; take the row out, or train a model "
        + "whose template knows tools"
    case .toolTemplate(let error, let location): "'\(location)': the model's chat template refuses these tools or calls: \(error)"
    case .tooLong(let location, let limit):
      "'\(location)': the messages need \(limit) tokens or more even without the answer, which is the limit: raise \(optionName("maxTokens"))"
    }
  }
}

extension String {
  /// Without white space at its ends, as templates trim contents.
  var trimmed: String {
    guard let start = firstIndex(where: { !$0.isWhitespace }), let end = lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(self[start...end])
  }
}
