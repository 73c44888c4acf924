package import DibitBaselines
package import DibitDataset

/// A classifier of words beside an adapter: both have a share in each answer.
///
/// An adapter that learnt from few texts knows what sentences mean, and is surer than it should be; a count of words that learnt from the same texts
/// errs elsewhere. The answer's probabilities are `p(label) ∝ adapter(label)^(1 - share) · words(label)^share`, the logarithmic opinion pool of
/// Genest and Zidek, "Combining probability distributions" (1986).
package struct WordHead: Sendable {
  /// The share of the classifier in an answer, from 0 to below 1.
  package let share: Double
  /// The classifier.
  package let classifier: TermPool

  /// A classifier with its share.
  package init(_ classifier: TermPool, share: Double) { (self.classifier, self.share) = (classifier, share) }

  /// Learns from the `examples` that have one of `labels`, as the baselines of these names do.
  ///
  /// - Parameter threads: The result does not depend on it.
  package init(learning examples: [LabelledExample], labels: [String], share: Double, threads: Int) {
    let truths = Truths(labels)
    let pairs = examples.flatMap { example in truths.known(example).map { (text: example.text, label: $0) } }
    self.init(
      TermPool.tuned(texts: pairs.map(\.text), labels: pairs.map(\.label), count: labels.count, threads: threads), share: share)
  }

  /// The log-probabilities of an answer about `text` to which a model gave `scores`; what is impossible for one is so for both.
  func pooled(_ scores: [Double], _ text: String) -> [Double] { Self.pooled(scores, classifier.logProbabilities(text), share: share) }

  /// The log-probabilities of an answer in which a model's `scores` and those of `words` have their shares.
  package static func pooled(_ scores: [Double], _ words: [Double], share: Double) -> [Double] {
    LabelScores.normalized(zip(scores, words).map { (1 - share) * $0 + share * $1 })
  }
}
