/// Precision, recall and F1 of one label.
package struct LabelMetrics: Equatable, Sendable {
  /// The share of texts given the label that carry it.
  package let precision: Double
  /// The share of texts that carry the label and were given it.
  package let recall: Double
  /// The harmonic mean of precision and recall.
  package let f1: Double
  /// Examples that carry the label.
  package let support: Int

  /// Counts: texts rightly given the label, texts given it, and texts that carry it.
  ///
  /// As scikit-learn with `zero_division=0`: a label that is never predicted has precision 0, one without examples recall 0.
  package init(hits: Int, predicted: Int, support: Int) {
    precision = predicted > 0 ? Double(hits) / Double(predicted) : 0
    recall = support > 0 ? Double(hits) / Double(support) : 0
    // One division of whole numbers, so that equal counts give equal bits.
    f1 = predicted + support > 0 ? 2 * Double(hits) / Double(predicted + support) : 0
    self.support = support
  }
}

/// Metrics of predictions against the truth: one predicted label per example.
package struct ClassificationMetrics: Equatable, Sendable {
  /// `confusion[t][p]`: examples of true label `t` that were given label `p`.
  package let confusion: [[Int]]
  /// Metrics of each label, by its index.
  package let perLabel: [LabelMetrics]
  /// The number of times that each label was predicted.
  package let predicted: [Int]
  /// The number of examples.
  package let count: Int

  /// Counts pairs of true and predicted label, as indices below `labels`.
  package init(labels: Int, pairs: some Sequence<(truth: Int, prediction: Int)>) {
    var confusion = [[Int]](repeating: [Int](repeating: 0, count: labels), count: labels)
    for pair in pairs { confusion[pair.truth][pair.prediction] += 1 }
    self.init(counts: confusion)
  }

  /// Computes the metrics of a confusion matrix, or nil when it is not square, has a negative count or more than 2^52 examples.
  package init?(confusion: [[Int]]) {
    var count = 0
    for row in confusion {
      guard row.count == confusion.count else { return nil }
      for cell in row {
        guard cell >= 0, cell <= 1 << 52 - count else { return nil }
        count += cell
      }
    }
    self.init(counts: confusion)
  }

  private init(counts confusion: [[Int]]) {
    let labels = confusion.indices
    var predicted = [Int](repeating: 0, count: confusion.count)
    for row in confusion { for label in labels { predicted[label] += row[label] } }
    self.confusion = confusion
    self.predicted = predicted
    let support = confusion.map { $0.reduce(0, +) }
    perLabel = labels.map {
      LabelMetrics(hits: confusion[$0][$0], predicted: predicted[$0], support: support[$0])
    }
    count = support.reduce(0, +)
  }

  /// Examples whose prediction is right.
  package var hits: Int { confusion.indices.reduce(0) { $0 + confusion[$1][$1] } }

  /// The share of examples whose prediction is right; with one label per example also micro precision, recall and F1.
  package var accuracy: Double { count > 0 ? Double(hits) / Double(count) : 0 }

  /// Labels that occur in the truth or in the predictions: what scikit-learn's averages go over.
  package var present: [Int] {
    confusion.indices.filter { perLabel[$0].support > 0 || predicted[$0] > 0 }
  }

  /// The mean F1 over labels that occur in the truth or in the predictions, as scikit-learn's default.
  package var macroF1: Double { macro(\.f1) }

  /// The mean of a label's metric over ``present`` labels.
  package func macro(_ metric: (LabelMetrics) -> Double) -> Double {
    let present = present
    return present.isEmpty
      ? 0 : present.reduce(0) { $0 + metric(perLabel[$1]) } / Double(present.count)
  }

  /// The mean of a label's metric, each label weighted by its examples.
  package func weighted(_ metric: (LabelMetrics) -> Double) -> Double {
    count > 0 ? perLabel.reduce(0) { $0 + Double($1.support) * metric($1) } / Double(count) : 0
  }

  /// The share of the most frequent true label: what always answering it would score.
  package var majorityShare: Double {
    count > 0 ? Double(perLabel.map(\.support).max() ?? 0) / Double(count) : 0
  }
}
