public import DibitTokenizer

/// How a labelled text becomes a prompt and an answer: the same for training, evaluation and prediction.
///
/// The answer is compact JSON with one key, `{"topics":["sport"]}`. Its parts are tokenised one by one, so that a label has the same
/// tokens wherever it stands.
public struct TaggingTask: Equatable, Sendable {
  /// What the model is told to do; where it says ``labelsPlaceholder``, see ``listing(_:)``.
  public var instruction = "Tag the text with its topic."
  /// The key of the answer.
  public var key = "topics"
  /// The most tokens of a prompt and its answer together; longer texts lose their end.
  public var maximumTokens = 512
  /// How the prompt is written; nil for the chat template of the tokenizer.
  public var template: PromptTemplate?
  /// How much a learnt token of the JSON around the labels counts, where a token of a label counts 1; from 0, where the labels alone are
  /// learnt.
  public var scaffoldingWeight: Float = 1

  /// The task that `dibit train` uses when nothing else is said.
  public init() {}

  /// Where an instruction names the labels.
  public static let labelsPlaceholder = "{labels}"

  /// The task with the labels named where its instruction says so, separated by commas.
  public func listing(_ labels: [String]) -> TaggingTask {
    var task = self
    task.instruction = instruction.replacing(Self.labelsPlaceholder, with: Self.list(labels))
    return task
  }

  /// The task before ``listing(_:)``; nil where its instruction does not name the labels in this order.
  public func unlisting(_ labels: [String]) -> TaggingTask? {
    let list = Self.list(labels)
    guard labels.count > 1, instruction.contains(list) else { return nil }
    var task = self
    task.instruction = instruction.replacing(list, with: Self.labelsPlaceholder)
    return task
  }

  private static func list(_ labels: [String]) -> String { labels.joined(separator: ", ") }
}

/// A tagging task in a tokenizer's ids.
public struct TokenizedTask: Sendable {
  /// The task in words.
  public let task: TaggingTask
  /// The tokenizer whose ids these are.
  public let tokenizer: Tokenizer
  private let template: ChatTemplate
  private let frame: PromptFrame?
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
    frame = task.template.map { PromptFrame($0, instruction: task.instruction, tokenizer) }
    opening = Self.encode("{\"\(task.key)\":[\"", tokenizer)
    separator = Self.encode("\",\"", tokenizer)
    closing = template.answer("\"]}", tokenizer: tokenizer)
  }

  /// The tokens of a label inside an answer.
  public func tokens(ofLabel label: String) -> [Int32] { Self.encode(label, tokenizer) }

  /// The prompt for `text`, ready for the answer; `reserve` tokens are kept free for it. Also tells how many tokens were cut off, by default
  /// at the text's end.
  public func prompt(_ text: String, reserving reserve: Int, cut: TextShortening = .tail) -> ChatPrompt {
    let text = String(text.drop { $0.isWhitespace })
    if let frame { return frame.prompt(text, maximumTokens: max(1, task.maximumTokens - reserve), cut, tokenizer) }
    return template.prompt(
      system: task.instruction, user: text, maximumTokens: max(1, task.maximumTokens - reserve), cut: cut, tokenizer: tokenizer)
  }

  /// The prompt and the answer with `example`'s labels, of which the labels are content and the JSON around them is scaffolding.
  ///
  /// `reserve` tokens are kept free for the answer and must be the same for all examples: were it the answer's own length, where a
  /// cut text ends would give the label away.
  public func encode(_ example: LabelledExample, reserving reserve: Int) -> TokenizedExample {
    var answer = TokenizedExample(tokens: [], roles: [])
    answer.append(opening, .scaffolding)
    for (index, label) in example.labels.enumerated() {
      if index > 0 { answer.append(separator, .scaffolding) }
      answer.append(tokens(ofLabel: label), .content)
    }
    answer.append(closing, .scaffolding)
    let prompt = prompt(example.text, reserving: max(reserve, answer.tokens.count))
    return TokenizedExample(
      tokens: prompt.tokens + answer.tokens, roles: Array(repeating: .given, count: prompt.tokens.count) + answer.roles,
      truncatedTokens: prompt.truncatedTokens)
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

/// A prompt template in a tokenizer's ids.
private struct PromptFrame: Sendable {
  private let head: String
  private let headTokens: [Int32]
  private let tailTokens: [Int32]

  init(_ template: PromptTemplate, instruction: String, _ tokenizer: Tokenizer) {
    let (head, tail) = template.parts(instruction: instruction)
    self.head = head
    // A chat of no messages is what the tokenizer begins every text with.
    let beginning = ChatTemplate(tokenizer).prompt([], tokenizer: tokenizer).tokens
    let tokens = tokenizer.encode(head, addingSpecialTokens: false)
    headTokens = tokens.starts(with: beginning) ? tokens : beginning + tokens
    tailTokens = tokenizer.continuation(of: "a", tail, parsingSpecialTokens: true)
  }

  /// The prompt, whose text is cut where it is too long.
  func prompt(_ text: String, maximumTokens: Int, _ cut: TextShortening, _ tokenizer: Tokenizer) -> ChatPrompt {
    let tokens = tokenizer.continuation(of: head, text, parsingSpecialTokens: false)
    let kept = cut.kept(maximumTokens - headTokens.count - tailTokens.count, of: tokens[...])
    return ChatPrompt(tokens: headTokens + kept + tailTokens, truncatedTokens: tokens.count - kept.count)
  }
}

extension Tokenizer {
  /// The tokens of `text` behind `start`, which a tokenizer may write otherwise than at the start of a text.
  func continuation(of start: String, _ text: String, parsingSpecialTokens parses: Bool) -> [Int32] {
    let before = encode(start, addingSpecialTokens: false, parsingSpecialTokens: parses)
    let whole = encode(start + text, addingSpecialTokens: false, parsingSpecialTokens: parses)
    if whole.starts(with: before) { return Array(whole.dropFirst(before.count)) }
    return encode(text, addingSpecialTokens: false, parsingSpecialTokens: parses)
  }
}
