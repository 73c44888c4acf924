/// Precision, recall and F1 of one label.
public struct LabelMetrics: Equatable, Sendable {
  /// The share of texts given the label that carry it.
  public let precision: Double
  /// The share of texts that carry the label and were given it.
  public let recall: Double
  /// The harmonic mean of precision and recall.
  public let f1: Double
  /// Examples that carry the label.
  public let support: Int
}

/// How predictions compare with the truth: one predicted label per example.
public struct ClassificationMetrics: Equatable, Sendable {
  /// `confusion[t][p]`: examples of true label `t` that were given label `p`.
  public let confusion: [[Int]]
  /// Metrics of each label, by its index.
  public let perLabel: [LabelMetrics]

  /// Counts pairs of true and predicted label, as indices below `labels`.
  public init(labels: Int, pairs: some Sequence<(truth: Int, prediction: Int)>) {
    var confusion = [[Int]](repeating: [Int](repeating: 0, count: labels), count: labels)
    for pair in pairs { confusion[pair.truth][pair.prediction] += 1 }
    self.confusion = confusion
    perLabel = (0..<labels).map { label in
      let hits = Double(confusion[label][label])
      let support = confusion[label].reduce(0, +)
      let predicted = confusion.reduce(0) { $0 + $1[label] }
      // As scikit-learn with zero_division=0: a label that is never predicted has precision 0, one without examples recall 0.
      let precision = predicted > 0 ? hits / Double(predicted) : 0
      let recall = support > 0 ? hits / Double(support) : 0
      return LabelMetrics(
        precision: precision, recall: recall, f1: precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0,
        support: support)
    }
  }

  /// The number of examples.
  public var count: Int { confusion.reduce(0) { $0 + $1.reduce(0, +) } }

  /// The share of examples whose prediction is right.
  public var accuracy: Double {
    let hits = confusion.indices.reduce(0) { $0 + confusion[$1][$1] }
    return count > 0 ? Double(hits) / Double(count) : 0
  }

  /// The mean F1 over labels that occur in the truth or in the predictions, as scikit-learn's default.
  public var macroF1: Double {
    let present = confusion.indices.filter { label in perLabel[label].support > 0 || confusion.contains { $0[label] > 0 } }
    return present.isEmpty ? 0 : present.reduce(0) { $0 + perLabel[$1].f1 } / Double(present.count)
  }

  /// The share of the most frequent true label: what always answering it would score.
  public var majorityShare: Double {
    let largest = confusion.map { $0.reduce(0, +) }.max() ?? 0
    return count > 0 ? Double(largest) / Double(count) : 0
  }
}
