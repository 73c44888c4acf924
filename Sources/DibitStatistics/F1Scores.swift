/// F1 of the examples at some indices, which may repeat: what a bootstrap asks for thousands of times. The same values as those of
/// ``ClassificationMetrics``, without the matrix.
package struct F1Scores: Equatable, Sendable {
  /// F1 of each label, 0 for one that occurs neither in the truth nor in the predictions.
  package let perLabel: [Double]
  /// The mean over labels that occur in the truth or in the predictions.
  package let macro: Double
  /// The mean over labels, each weighted by its examples.
  package let weighted: Double

  /// Scores of the examples at `indices`; `truths` and `predictions` are indices below `labels`.
  package init(labels: Int, truths: [Int], predictions: [Int], at indices: [Int]) {
    var hits = [Int](repeating: 0, count: labels)
    var (support, predicted) = (hits, hits)
    for index in indices {
      let (truth, prediction) = (truths[index], predictions[index])
      support[truth] += 1
      predicted[prediction] += 1
      if truth == prediction { hits[truth] += 1 }
    }
    var perLabel = [Double](repeating: 0, count: labels)
    var (sum, weighted, present) = (0.0, 0.0, 0)
    for label in 0..<labels where support[label] + predicted[label] > 0 {
      let f1 = 2 * Double(hits[label]) / Double(support[label] + predicted[label])
      perLabel[label] = f1
      sum += f1
      weighted += Double(support[label]) * f1
      present += 1
    }
    self.perLabel = perLabel
    macro = present > 0 ? sum / Double(present) : 0
    self.weighted = indices.isEmpty ? 0 : weighted / Double(indices.count)
  }
}
