public import DibitTokenizer

/// How a labelled text becomes a prompt and an answer: the same for training, evaluation and prediction.
///
/// The answer is compact JSON with one key, `{"topics":["sport"]}`. Its parts are tokenised one by one, so that a label has the same
/// tokens wherever it stands.
public struct TaggingTask: Equatable, Sendable {
  /// What the model is told to do.
  public var instruction = "Tag the text with its topic."
  /// The key of the answer.
  public var key = "topics"
  /// The most tokens of a prompt and its answer together; longer texts lose their end.
  public var maximumTokens = 512

  /// The task that `dibit train` uses when nothing else is said.
  public init() {}
}

/// A tagging task in a tokenizer's ids.
public struct TokenizedTask: Sendable {
  /// The task in words.
  public let task: TaggingTask
  /// The tokenizer whose ids these are.
  public let tokenizer: Tokenizer
  private let template: ChatTemplate
  /// `{"topics":["`, which every answer begins with.
  public let opening: [Int32]
  /// `","`, between two labels.
  public let separator: [Int32]
  /// `"]}` and the end of the answer.
  public let closing: [Int32]

  /// Tokenizes the parts of every answer once.
  public init(_ task: TaggingTask, tokenizer: Tokenizer) {
    self.task = task
    self.tokenizer = tokenizer
    template = ChatTemplate(tokenizer)
    opening = Self.encode("{\"\(task.key)\":[\"", tokenizer)
    separator = Self.encode("\",\"", tokenizer)
    closing = template.answer("\"]}", tokenizer: tokenizer)
  }

  /// The tokens of a label inside an answer.
  public func tokens(ofLabel label: String) -> [Int32] { Self.encode(label, tokenizer) }

  /// The prompt for `text`, ready for the answer; `reserve` tokens are kept free for it. Also tells how many tokens were cut off.
  public func prompt(_ text: String, reserving reserve: Int) -> ChatPrompt {
    let text = String(text.drop { $0.isWhitespace })
    return template.prompt(
      system: task.instruction, user: text, maximumTokens: max(1, task.maximumTokens - reserve), tokenizer: tokenizer)
  }

  /// The tokens of an answer with these labels.
  public func answerCount(_ labels: [String]) -> Int {
    opening.count + closing.count + labels.reduce(0) { $0 + tokens(ofLabel: $1).count } + max(0, labels.count - 1) * separator.count
  }

  /// The most tokens that an answer with one of `labels` takes.
  public func reserve(for labels: [String]) -> Int { labels.map { answerCount([$0]) }.max() ?? 0 }

  private static func encode(_ text: String, _ tokenizer: Tokenizer) -> [Int32] {
    tokenizer.encode(text, addingSpecialTokens: false, parsingSpecialTokens: false)
  }
}
