internal import DibitTensor
package import DibitTokenizer

/// A tagging task in a tokenizer's ids.
package struct TokenizedTask: Sendable {
  /// The task in words.
  package let task: TaggingTask
  /// The tokenizer whose ids these are.
  package let tokenizer: Tokenizer
  private let chat: ChatFrame?
  private let template: ChatTemplate
  private let frame: PromptFrame?
  /// The tokens with which prompts begin, however many of them follow each other.
  package let beginning: [Int32]
  /// The tokens between an answer and the prompt behind it, which has lost its ``beginning``.
  package let following: [Int32]
  /// `{"topics":["`, which every answer begins with.
  package let opening: [Int32]
  /// `","`, between two labels.
  package let separator: [Int32]
  /// `"]}` and the end of the answer.
  package let closing: [Int32]
  /// `{"topics":[]}` and the end of the answer: the answer without a label.
  package let none: [Int32]
  /// The tokens with which both ``opening`` and ``none`` begin; what follows tells whether there is a label.
  package let undecidedCount: Int

  /// Tokenizes the parts of every answer once.
  ///
  /// - Parameter chat: what the model's chat template writes: for tasks of the form ``PromptForm/chat``, which cannot do without.
  package init(_ task: TaggingTask, tokenizer: Tokenizer, chat: ChatFrame? = nil) {
    require(chat != nil || task.form != .chat || task.template != nil, "TokenizedTask: a chat without a template")
    (self.task, self.tokenizer, self.chat) = (task, tokenizer, chat)
    template = ChatTemplate(tokenizer, style: task.form == .plain ? .plain : nil)
    if let parts = task.template?.parts(instruction: task.instruction) {
      frame = PromptFrame(head: parts.head, tail: parts.tail, tokenizer: tokenizer)
    } else {
      frame = task.form == .chat ? chat?.prompt(instruction: task.instruction, tokenizer: tokenizer) : nil
    }
    // A chat of no messages is what the tokenizer begins every text with.
    beginning = frame?.beginning ?? template.prompt([], tokenizer: tokenizer).tokens
    following = frame?.following ?? []
    opening = Self.encode("{\"\(task.key)\":[\"", tokenizer)
    separator = Self.encode("\",\"", tokenizer)
    closing =
      frame?.answerEnd.map { Self.encode("\"]}", tokenizer) + $0 } ?? template.answer("\"]}", tokenizer: tokenizer)
    none = Self.encode("{\"\(task.key)\":[]}", tokenizer) + (frame?.answerEnd ?? template.answer("", tokenizer: tokenizer))
    // A vocabulary that cannot spell the two would find no difference.
    undecidedCount = max(0, min(zip(opening, none).prefix { $0 == $1 }.count, opening.count - 1, none.count - 1))
  }

  /// Another task that is asked of the same model.
  package func replacing(_ task: TaggingTask) -> TokenizedTask { TokenizedTask(task, tokenizer: tokenizer, chat: chat) }

  /// The tokens at which an answer ends.
  package var stopTokens: [Int32] {
    let ends = template.stopTokens(tokenizer)
    return (frame?.answerEnd?.last.map { [$0] } ?? []).filter { !ends.contains($0) } + ends
  }

  /// The tokens of a label inside an answer.
  package func tokens(ofLabel label: String) -> [Int32] { Self.encode(label, tokenizer) }

  /// The prompt for `text`, ready for the answer; `reserve` tokens are kept free for it. Also tells how many tokens were cut off, by default
  /// at the text's end.
  ///
  /// White space before a text and line ends behind it are no part of it: editors and shells add them, and readers of lines take them off.
  package func prompt(_ text: String, reserving reserve: Int, cut: TextShortening = .tail) -> ChatPrompt {
    let text = String(text.withoutLineEnds.drop { $0.isWhitespace })
    let available = max(1, task.maximumTokens - reserve)
    if let frame { return frame.prompt(text, maximumTokens: available, cut: cut, tokenizer: tokenizer) }
    return template.prompt(system: task.instruction, user: text, maximumTokens: available, cut: cut, tokenizer: tokenizer)
  }

  /// The prompt and the answer with `example`'s labels, of which the labels are content and the JSON around them is scaffolding. Where an
  /// answer may have no label, the token that tells whether it has one is content.
  ///
  /// `reserve` tokens are kept free for the answer and must be the same for all examples: were it the answer's own length, where a
  /// cut text ends would give the label away.
  package func encode(_ example: LabelledExample, reserving reserve: Int) -> TokenizedExample {
    var answer = TokenizedExample(tokens: [], roles: [])
    if example.labels.isEmpty {
      answer.append(none, .scaffolding)
    } else {
      answer.append(opening, .scaffolding)
      for (index, label) in example.labels.enumerated() {
        if index > 0 { answer.append(separator, .scaffolding) }
        answer.append(tokens(ofLabel: label), .content)
      }
      answer.append(closing, .scaffolding)
    }
    // Whether there is a label is an answer too, where there may be none.
    if task.allowsNone || example.labels.isEmpty { answer.roles[undecidedCount] = .content }
    let prompt = prompt(example.text, reserving: max(reserve, answer.tokens.count))
    return TokenizedExample(
      tokens: prompt.tokens + answer.tokens, roles: Array(repeating: .given, count: prompt.tokens.count) + answer.roles,
      truncatedTokens: prompt.truncatedTokens)
  }

  /// The tokens of an answer with these labels.
  package func answerCount(_ labels: [String]) -> Int {
    labels.isEmpty
      ? none.count
      : opening.count + closing.count + labels.reduce(0) { $0 + tokens(ofLabel: $1).count } + max(0, labels.count - 1) * separator.count
  }

  /// The most tokens that an answer with one of `labels` takes.
  package func reserve(for labels: [String]) -> Int { labels.map { answerCount([$0]) }.max() ?? 0 }

  private static func encode(_ text: String, _ tokenizer: Tokenizer) -> [Int32] {
    tokenizer.encode(text, addingSpecialTokens: false, parsingSpecialTokens: false)
  }
}

extension String {
  /// The text without the line ends behind it.
  package var withoutLineEnds: Substring {
    var text = self[...]
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }
}
