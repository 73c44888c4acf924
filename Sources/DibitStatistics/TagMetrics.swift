/// Metrics of predicted sets of labels against the true sets: any number of labels per example.
///
/// Conventions are scikit-learn's for indicator matrices with `zero_division=0`: averages over labels take every label, those without
/// examples with 0; averages over examples take every example, so that an example without labels that rightly gets none counts 0 in
/// ``samples`` (but is right in ``subsetAccuracy``).
package struct TagMetrics: Equatable, Sendable {
  /// Four views of the overlap of two sets.
  package struct Scores: Equatable, Sendable {
    /// The share of given labels that are true.
    package var precision = 0.0
    /// The share of true labels that were given.
    package var recall = 0.0
    /// The harmonic mean of both: twice the overlap over the sum of the sizes.
    package var f1 = 0.0
    /// The overlap over the size of the union.
    package var jaccard = 0.0

    /// Scores of counts: labels in both sets, labels given, labels that are true.
    package init(hits: Int, predicted: Int, support: Int) {
      let label = LabelMetrics(hits: hits, predicted: predicted, support: support)
      (precision, recall, f1) = (label.precision, label.recall, label.f1)
      let union = predicted + support - hits
      jaccard = union > 0 ? Double(hits) / Double(union) : 0
    }

    /// The mean of `scores`, all 0 when there is none.
    package init(mean scores: [Scores]) {
      let n = Double(max(scores.count, 1))
      precision = scores.reduce(0) { $0 + $1.precision } / n
      recall = scores.reduce(0) { $0 + $1.recall } / n
      f1 = scores.reduce(0) { $0 + $1.f1 } / n
      jaccard = scores.reduce(0) { $0 + $1.jaccard } / n
    }
  }

  /// Over all decisions about a label of an example.
  package let micro: Scores
  /// The mean over labels.
  package let macro: Scores
  /// The mean over examples.
  package let samples: Scores
  /// The share of examples whose set is exactly right.
  package let subsetAccuracy: Double
  /// The share of decisions about a label of an example that are wrong.
  package let hammingLoss: Double
  /// Metrics of each label, by its index.
  package let perLabel: [LabelMetrics]
  /// The number of examples.
  package let count: Int

  /// Counts pairs of true and predicted sets of labels, as indices below `labels`.
  package init(labels: Int, examples: some Sequence<(truth: Set<Int>, prediction: Set<Int>)>) {
    var (hits, support, predicted) = (
      [Int](repeating: 0, count: labels), [Int](repeating: 0, count: labels),
      [Int](repeating: 0, count: labels)
    )
    var each: [Scores] = []
    var (exact, wrong) = (0, 0)
    for example in examples {
      let both = example.truth.intersection(example.prediction)
      for label in both { hits[label] += 1 }
      for label in example.truth { support[label] += 1 }
      for label in example.prediction { predicted[label] += 1 }
      each.append(
        Scores(hits: both.count, predicted: example.prediction.count, support: example.truth.count))
      let faults = example.truth.count + example.prediction.count - 2 * both.count
      exact += faults == 0 ? 1 : 0
      wrong += faults
    }
    micro = Scores(
      hits: hits.reduce(0, +), predicted: predicted.reduce(0, +), support: support.reduce(0, +))
    macro = Scores(
      mean: (0..<labels).map {
        Scores(hits: hits[$0], predicted: predicted[$0], support: support[$0])
      })
    samples = Scores(mean: each)
    subsetAccuracy = each.isEmpty ? 0 : Double(exact) / Double(each.count)
    hammingLoss = each.isEmpty || labels == 0 ? 0 : Double(wrong) / Double(each.count * labels)
    perLabel = (0..<labels).map {
      LabelMetrics(hits: hits[$0], predicted: predicted[$0], support: support[$0])
    }
    count = each.count
  }
}

/// Metrics of a ranking: how well scores put the true labels of an example first.
package struct TagRanking: Equatable, Sendable {
  /// The number of labels that are looked at.
  package let k: Int
  /// The mean share of the first `k` labels that are true.
  package let precision: Double
  /// The mean share of true labels that are among the first `k`, over examples that have true labels.
  package let recall: Double

  /// Ranks each example's `scores` (one per label, higher is earlier, the lower index wins a tie) and looks at the first `k`.
  ///
  /// Where there are fewer than `k` labels, precision still divides by `k`.
  package init(at k: Int, truths: [Set<Int>], scores: [[Double]]) {
    self.k = k
    var (precision, recall, labelled) = (0.0, 0.0, 0)
    for (truth, scores) in zip(truths, scores) {
      let first = scores.indices.sorted {
        scores[$0] > scores[$1] || scores[$0] == scores[$1] && $0 < $1
      }.prefix(k)
      let hits = Double(first.count { truth.contains($0) })
      precision += k > 0 ? hits / Double(k) : 0
      if !truth.isEmpty {
        recall += hits / Double(truth.count)
        labelled += 1
      }
    }
    self.precision = truths.isEmpty ? 0 : precision / Double(truths.count)
    self.recall = labelled > 0 ? recall / Double(labelled) : 0
  }
}
