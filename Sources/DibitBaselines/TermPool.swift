/// A classifier that knows nothing but the terms of a text: logistic regression, and where that helps naive Bayes, answering together.
///
/// One learns which terms tell texts apart, the other how often a label has a word; so they err on different texts. The probabilities of both together are
/// proportional to the root of their product.
package struct TermPool: TextBaseline {
  /// The one.
  package let regression: TermRegression
  /// The other; nil where the regression answers alone.
  package let bayes: NaiveBayes?

  /// The tolerance of fits that are compared.
  private static let tolerance = 1e-3

  /// Both.
  package init(_ regression: TermRegression, _ bayes: NaiveBayes?) { (self.regression, self.bayes) = (regression, bayes) }

  /// Learns from `texts` and their `labels`, indices below `count`, with the settings of each that do best in cross-validation. Naive Bayes takes part where the
  /// probabilities of texts are better with it there, by their logarithms; and not where it would be too large, or a label has no texts, which it would call
  /// impossible.
  ///
  /// - Parameter threads: folds that are worked on at a time, at most; the result does not depend on it.
  package static func tuned(texts: [String], labels: [Int], count: Int, threads: Int = 1) -> TermPool {
    let regression = TermRegression.tuned(texts: texts, labels: labels, count: count, threads: threads)
    let setting = NaiveBayes.temperedSetting(texts: texts, labels: labels, count: count)
    let bayes = NaiveBayes(texts: texts, labels: labels, count: count, setting: setting)
    guard bayes.knowsAllLabels, bayes.vocabularyCount * count <= TermRegression.weightLimit else { return TermPool(regression, nil) }
    let validation = CrossValidation(texts: texts, labels: labels)
    let takesBoth =
      validation.best(of: 2, threads: threads) { learnt, asked in
        let (known, truths) = (learnt.map { texts[$0] }, learnt.map { labels[$0] })
        let both = TermPool(
          TermRegression(texts: known, labels: truths, count: count, setting: regression.setting, tolerance: tolerance),
          NaiveBayes(texts: known, labels: truths, count: count, setting: setting))
        var losses = [0.0, 0.0]
        for text in asked {
          let pooled = both.logProbabilities(texts[text])[labels[text]]
          guard pooled.isFinite else { continue }
          losses[0] -= both.regression.logProbabilities(texts[text])[labels[text]]
          losses[1] -= pooled
        }
        return losses
      } == 1
    return TermPool(regression, takesBoth ? bayes : nil)
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ text: String) -> [Double] {
    let regression = regression.logProbabilities(text)
    guard let bayes else { return regression }
    return normalized(zip(regression, bayes.logProbabilities(text)).map { ($0 + $1) / 2 })
  }
}
