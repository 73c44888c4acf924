internal import DibitDataset
internal import DibitInference
internal import Glibc

/// The labels of a task as choices of tokens.
struct LabelChoices: Sendable {
  /// The labels, each with what ends it.
  let labels: ChoiceSet
  /// The tokens of each label.
  let tokens: [[Int32]]
  /// For each choice its label: a label may end in two ways.
  private let owners: [Int]
  private let count: Int
  /// The choice between another label, ``continues``, and the end.
  let endings: ChoiceSet?

  /// The choice between a first label, ``continues``, and an answer without one; nil where there must be a label.
  let beginnings: ChoiceSet?

  /// The choice of ``endings`` and of ``beginnings`` that says that a label follows.
  static let continues = 0

  /// - Throws: ``EvaluationError/indistinguishableLabels`` when two labels have the same tokens.
  init(_ labels: [String], _ task: TokenizedTask, several: Bool) throws(EvaluationError) {
    let tokens = labels.map { task.tokens(ofLabel: $0) }
    var sequences: [[Int32]] = []
    var owners: [Int] = []
    let end = task.closing.prefix(1), next = task.separator.prefix(1)
    for (label, own) in tokens.enumerated() {
      // The token behind a label ends it, so that a label may begin with another.
      sequences.append(own + end)
      owners.append(label)
      // Which token that is matters only where others could come.
      guard several, next != end, tokens.contains(where: { $0.count > own.count && $0.starts(with: own) }) else { continue }
      sequences.append(own + next)
      owners.append(label)
    }
    guard !labels.isEmpty, let set = ChoiceSet(sequences), tokens.allSatisfy({ !$0.isEmpty }) else {
      throw .indistinguishableLabels(labels)
    }
    self.labels = set
    self.tokens = tokens
    self.owners = owners
    count = labels.count
    endings = several ? ChoiceSet([task.separator, task.closing]) : nil
    let (opening, none) = (task.opening.dropFirst(task.undecidedCount), task.none.dropFirst(task.undecidedCount))
    beginnings = several && task.task.allowsNone ? ChoiceSet([Array(opening), Array(none)]) : nil
  }

  /// The choices of these labels.
  func choices(of labels: [Int]) -> Set<Int> {
    if labels.isEmpty { return [] }
    return Set(owners.indices.filter { labels.contains(owners[$0]) })
  }

  /// Log-probabilities of labels from those of choices.
  func labelScores(_ scores: [Double]) -> [Double] {
    if owners.count == count { return scores }
    var sums = [Double](repeating: 0, count: count)
    for (choice, label) in owners.enumerated() { sums[label] += exp(scores[choice]) }
    return sums.map { log($0) }
  }
}
