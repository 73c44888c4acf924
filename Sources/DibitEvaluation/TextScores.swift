internal import Glibc

/// The scores that a model gives the labels of one text.
package struct TextScores: Equatable, Sendable {
  /// The log-probability of each label in nats when the answer's first label must be one of them; as probabilities they sum to one.
  package let logProbabilities: [Double]
  /// The probability of each label to be among the answer's labels.
  ///
  /// With one label it is the probability of ``logProbabilities``. With several, the answer is written label by label: at step k the model
  /// goes on with probability `r_k`, the product of its decisions for `","` and against `"]}` so far, and the next label is l with
  /// probability `p_k(l)` among those not chosen yet; the likeliest is taken. `r_1` is 1, or the probability that there is a label at all
  /// where the task has answers without one. Then `1 - Π (1 - r_k p_k(l))` is the probability that l is
  /// drawn at one of the steps. Steps that are reached with a probability below 0.05 are left out. The labels' probabilities do not sum to
  /// one.
  package let inclusion: [Double]
  /// The labels of the answer that is likeliest at each step, in the order in which they are written; with one label, that one. It ends
  /// where an end is at least as likely as another label. The first label wins a tie. None where an answer may have no label and that is at
  /// least as likely as one.
  package let chosen: [Int]
  /// Tokens of the prompt.
  package let tokens: Int
  /// Tokens of the text that were cut off to fit.
  package let truncatedTokens: Int
  /// True where the text holds nothing but white space.
  package let isEmpty: Bool

  /// The same text's scores of one label, in which a classifier of words has its share.
  func pooled(with words: WordHead, _ text: String) -> TextScores {
    let pooled = words.pooled(logProbabilities, text)
    return TextScores(
      logProbabilities: pooled, inclusion: pooled.map { exp($0) }, chosen: [LabelScores.best(pooled)], tokens: tokens,
      truncatedTokens: truncatedTokens, isEmpty: isEmpty)
  }

  /// The most likely label, also of a text whose answer has none; the first wins a tie.
  package var best: Int { chosen.first ?? LabelScores.best(logProbabilities) }

  /// The labels from the most to the least likely one to be in the answer: what precision and recall at k look at.
  package var ranking: [Int] { inclusion.indices.sorted { (inclusion[$0], $1) > (inclusion[$1], $0) } }

  /// The labels that are in the answer with at least this probability, the likeliest first.
  package func labels(atLeast threshold: Double) -> [Int] { ranking.filter { inclusion[$0] >= threshold } }
}

/// Log-probabilities of labels, in nats.
enum LabelScores {
  /// Scaled so that they sum to one as probabilities; -∞ stays.
  static func normalized(_ scores: [Double]) -> [Double] {
    let largest = scores.max() ?? 0
    let normalizer = largest + log(scores.reduce(0) { $0 + exp($1 - largest) })
    return scores.map { $0 - normalizer }
  }

  /// Less what the labels have without any text: `log p(l | text) - log p(l | "")`, scaled to sum to one.
  static func calibrated(_ scores: [Double], prior: [Double]?) -> [Double] {
    guard let prior else { return scores }
    return normalized(zip(scores, prior).map { $0.isFinite ? $0 - $1 : $0 })
  }

  /// The first of the largest.
  static func best(_ scores: [Double]) -> Int {
    var best = 0
    for index in scores.indices where scores[index] > scores[best] { best = index }
    return best
  }
}
