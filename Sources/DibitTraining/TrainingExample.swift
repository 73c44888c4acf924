package import DibitDataset

/// Tokens with, for each, whether and how much it is learnt.
package struct TrainingExample: Equatable, Sendable {
  /// The prompt and the answer.
  package var tokens: [Int32]
  /// What each token is there for.
  package var roles: [TokenRole]
  /// Tokens of the text that were cut off.
  package var truncatedTokens: Int
  /// How much a token of the scaffolding counts, where one of the content counts 1.
  package var scaffoldingWeight: Float
  /// How much the example counts beside others: see ``ClassWeights``.
  package var importance: Float = 1

  /// Tokens with their roles.
  package init(_ example: TokenizedExample, scaffoldingWeight: Float = 1) {
    tokens = example.tokens
    roles = example.roles
    truncatedTokens = example.truncatedTokens
    self.scaffoldingWeight = scaffoldingWeight
  }

  /// Plain text, of which every token is learnt.
  package init(text tokens: [Int32]) {
    self.init(TokenizedExample(tokens: tokens, roles: tokens.map { _ in .content }))
  }

  /// A prompt and the answer with `example`'s labels.
  ///
  /// `reserve` tokens are kept free for the answer and must be the same for all examples: were it the answer's own length, where a
  /// cut text ends would give the label away.
  package init(_ example: LabelledExample, task: TokenizedTask, reserving reserve: Int) {
    self.init(task.encode(example, reserving: reserve), scaffoldingWeight: task.task.scaffoldingWeight)
  }

  /// Whether each token is part of an answer.
  package var isAnswer: [Bool] { roles.map { $0 != .given } }

  /// Whether each token is what a task is judged by, such as a label without the JSON around it.
  package var isContent: [Bool] { roles.map { $0 == .content } }

  /// How much each token counts in the loss; 0 where nothing is learnt.
  package var weights: [Float] { roles.map { weight(of: $0) } }

  /// How much a token of a role counts.
  func weight(of role: TokenRole) -> Float {
    switch role {
    case .given: 0
    case .scaffolding: scaffoldingWeight
    case .content: 1
    }
  }
}

/// Sequences for one step, one after the other, with what each row should predict.
struct Batch {
  private(set) var tokens: [Int32] = []
  /// The next token, or -1 where there is nothing to learn.
  private(set) var targets: [Int32] = []
  /// How much the row's loss counts; 0 where there is nothing to learn.
  private(set) var weights: [Float] = []
  private(set) var isContent: [Bool] = []
  private(set) var lengths: [Int] = []
  /// By which a mean loss divides: the sum of the weights that rows would have if all examples counted the same, so that a step of rare
  /// labels weighs more than one of common labels.
  private(set) var totalWeight: Float = 0

  init(_ examples: some Sequence<TrainingExample>) {
    for example in examples {
      tokens += example.tokens
      lengths.append(example.tokens.count)
      for next in example.tokens.indices.map({ $0 + 1 }) {
        let role = next < example.tokens.count ? example.roles[next] : .given
        let weight = example.weight(of: role)
        targets.append(weight > 0 ? example.tokens[next] : -1)
        weights.append(weight * example.importance)
        totalWeight += weight
        isContent.append(role == .content)
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
    weights = targets.map { $0 >= 0 ? 1 : 0 }
    totalWeight = weights.reduce(0, +)
    isContent = tokens.map { _ in true }
  }

  /// The number of rows that have a target.
  var labelled: Int { targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) } }
}
