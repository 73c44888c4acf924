internal import DibitDataset
internal import DibitInference
internal import Glibc

/// A text's answer as far as it has been written.
struct TagProgress {
  /// Steps that are reached less often tell nothing.
  private static let minimumReach = 0.05

  private var first: [Double] = []
  private var written: [Int] = []
  private var answer: Int?  // labels of the likeliest answer, once it has ended
  private var missing: [Double]
  private var reach = 1.0
  private var asksForEnding = false
  private var asksForBeginning: Bool
  private let tokens: Int
  private let truncatedTokens: Int
  private let isEmpty: Bool

  init(labels: Int, tokens: Int, truncatedTokens: Int, isEmpty: Bool, mayBeNone: Bool) {
    asksForBeginning = mayBeNone
    missing = [Double](repeating: 1, count: labels)
    (self.tokens, self.truncatedTokens, self.isEmpty) = (tokens, truncatedTokens, isEmpty)
  }

  /// Takes the scores of the last query; returns the next one, or nil at the end.
  mutating func advance(
    _ scores: [Double], _ choices: LabelChoices, _ task: TokenizedTask, most: Int, prior: [Double]?
  ) -> BatchScorer.Query? {
    if asksForBeginning {
      asksForBeginning = false
      reach = exp(scores[LabelChoices.continues])
      if reach <= 0.5 { answer = 0 }
      // Which label would be the first is told of every text.
      return BatchScorer.Query(Array(task.opening.dropFirst(task.undecidedCount)))
    }
    if asksForEnding {
      asksForEnding = false
      let continues = exp(scores[LabelChoices.continues])
      reach *= continues
      if continues <= 0.5, answer == nil { answer = written.count }
      guard reach >= Self.minimumReach else { return nil }
      return BatchScorer.Query(task.separator, excluding: choices.choices(of: written))
    }
    let labelScores = LabelScores.calibrated(choices.labelScores(scores), prior: prior)
    if first.isEmpty { first = labelScores }
    for label in missing.indices where !written.contains(label) { missing[label] *= 1 - reach * exp(labelScores[label]) }
    let best = LabelScores.best(labelScores)
    written.append(best)
    guard written.count < min(most, missing.count) else { return nil }
    asksForEnding = true
    return BatchScorer.Query(choices.tokens[best], set: 1)
  }

  /// The scores, as known at the end.
  var scores: TextScores {
    TextScores(
      logProbabilities: first, inclusion: missing.map { 1 - $0 }, chosen: Array(written.prefix(answer ?? written.count)), tokens: tokens,
      truncatedTokens: truncatedTokens, isEmpty: isEmpty)
  }
}
