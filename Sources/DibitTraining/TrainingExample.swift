public import DibitDataset
internal import DibitTokenizer

/// Tokens with, for each, whether it is learnt.
public struct TrainingExample: Equatable, Sendable {
  /// The prompt and the answer.
  public var tokens: [Int32]
  /// Whether the token is part of the answer.
  public var isAnswer: [Bool]
  /// Whether the token is part of a label: what a task is judged by, without the JSON around it.
  public var isContent: [Bool]
  /// Tokens of the text that were cut off.
  public var truncatedTokens: Int

  /// Plain text, of which every token is learnt.
  public init(text tokens: [Int32]) {
    self.tokens = tokens
    isAnswer = tokens.map { _ in true }
    isContent = isAnswer
    truncatedTokens = 0
  }

  /// A prompt and the answer with `example`'s labels.
  ///
  /// `reserve` tokens are kept free for the answer and must be the same for all examples: were it the answer's own length, where a
  /// cut text ends would give the label away.
  public init(_ example: LabelledExample, task: TokenizedTask, reserving reserve: Int) {
    var answer: [(token: Int32, isContent: Bool)] = task.opening.map { ($0, false) }
    for (index, label) in example.labels.enumerated() {
      if index > 0 { answer += task.separator.map { ($0, false) } }
      answer += task.tokens(ofLabel: label).map { ($0, true) }
    }
    answer += task.closing.map { ($0, false) }
    let prompt = task.prompt(example.text, reserving: max(reserve, answer.count))
    tokens = prompt.tokens + answer.map(\.token)
    isAnswer = prompt.tokens.map { _ in false } + answer.map { _ in true }
    isContent = prompt.tokens.map { _ in false } + answer.map(\.isContent)
    truncatedTokens = prompt.truncatedTokens
  }
}

/// Sequences for one step, one after the other, with what each row should predict.
struct Batch {
  private(set) var tokens: [Int32] = []
  /// The next token, or -1 where there is nothing to learn.
  private(set) var targets: [Int32] = []
  private(set) var isContent: [Bool] = []
  /// How much the loss of each row counts; 0 where there is nothing to learn.
  private(set) var weights: [Float] = []
  private(set) var lengths: [Int] = []

  init(_ examples: some Sequence<TrainingExample>) {
    for example in examples {
      tokens += example.tokens
      lengths.append(example.tokens.count)
      for i in example.tokens.indices {
        let next = i + 1
        let learns = next < example.tokens.count && example.isAnswer[next]
        targets.append(learns ? example.tokens[next] : -1)
        isContent.append(learns && example.isContent[next])
        weights.append(learns ? 1 : 0)
      }
    }
  }

  /// Sequences of plain text, in which every token is learnt but the first.
  init(text sequences: [ArraySlice<Int32>]) {
    for sequence in sequences {
      tokens += sequence
      lengths.append(sequence.count)
      targets += sequence.dropFirst() + [-1]
    }
    isContent = tokens.map { _ in true }
    weights = targets.map { $0 >= 0 ? 1 : 0 }
  }

  /// What the losses of a step are divided by: the sum of all weights.
  var totalWeight: Float { weights.reduce(0, +) }

  /// The number of rows that have a target.
  var labelled: Int { targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) } }
}
