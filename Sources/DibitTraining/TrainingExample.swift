package import DibitDataset

/// Tokens with, for each, whether and how much it is learnt.
package struct TrainingExample: Equatable, Sendable {
  /// The prompt and the answer.
  package var tokens: [Int32]
  /// The role of each token.
  package var roles: [TokenRole]
  /// Tokens of the text that were cut off.
  package var truncatedTokens: Int
  /// The weight of a token of the scaffolding, where one of the content counts 1.
  package var scaffoldingWeight: Float
  /// The weight of the example beside others: see ``ClassWeights``.
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

  /// True for each token that is part of an answer.
  package var isAnswer: [Bool] { roles.map { $0 != .given } }

  /// True for each token that a task is judged by, such as a label without the JSON around it.
  package var isContent: [Bool] { roles.map { $0 == .content } }

  /// The weight of each token in the loss; 0 where nothing is learnt.
  package var weights: [Float] { roles.map { weight(of: $0) } }

  /// Returns the weight of a token of a role.
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
  /// The weight of each row's loss; 0 where there is nothing to learn.
  private(set) var weights: [Float] = []
  private(set) var isContent: [Bool] = []
  private(set) var lengths: [Int] = []
  /// By which a mean loss divides: the sum of the weights that rows would have if all examples counted the same, so that a step of rare
  /// labels weighs more than one of common labels.
  private(set) var totalWeight: Float = 0

  init() {}

  /// No sequences yet, with room for `sequences` of `rows` tokens together.
  init(rows: Int, sequences: Int) {
    tokens.reserveCapacity(rows)
    targets.reserveCapacity(rows)
    weights.reserveCapacity(rows)
    isContent.reserveCapacity(rows)
    lengths.reserveCapacity(sequences)
  }

  init(_ examples: some Sequence<TrainingExample>) { for example in examples { append(example) } }

  init(text: ArraySlice<Int32>) { append(text: text) }

  /// Forgets all sequences; their memory is used again.
  mutating func removeAll() {
    tokens.removeAll(keepingCapacity: true)
    targets.removeAll(keepingCapacity: true)
    weights.removeAll(keepingCapacity: true)
    isContent.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    totalWeight = 0
  }

  /// Adds a sequence of which the tokens of the answer are learnt.
  mutating func append(_ example: TrainingExample) {
    tokens += example.tokens
    lengths.append(example.tokens.count)
    for next in 1...max(example.tokens.count, 1) where !example.tokens.isEmpty {
      let role = next < example.tokens.count ? example.roles[next] : .given
      let weight = example.weight(of: role)
      targets.append(weight > 0 ? example.tokens[next] : -1)
      weights.append(weight * example.importance)
      totalWeight += weight
      isContent.append(role == .content)
    }
  }

  /// Adds a sequence of plain text, in which every token is learnt but the first.
  mutating func append(text sequence: ArraySlice<Int32>) {
    guard !sequence.isEmpty else { return }
    tokens += sequence
    lengths.append(sequence.count)
    targets += sequence.dropFirst()
    targets.append(-1)
    for index in sequence.indices {
      let isLast = index == sequence.endIndex - 1
      weights.append(isLast ? 0 : 1)
      totalWeight += isLast ? 0 : 1
      isContent.append(true)
    }
  }

  /// The number of rows that have a target.
  var labelled: Int { targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) } }
}
