internal import DibitTensor
internal import RealModule

/// A classifier of texts that is cheap to make: what a language model must beat to be worth its cost.
package protocol TextBaseline: Sendable {
  /// The natural logarithm of each label's probability, by the label's index; their exponentials sum to 1.
  func logProbabilities(_ text: String) -> [Double]
}

/// A classifier of feature vectors, for instance of texts' embeddings.
package protocol FeatureBaseline: Sendable {
  /// The natural logarithm of each label's probability, by the label's index; their exponentials sum to 1.
  func logProbabilities(_ features: [Float]) -> [Double]
}

/// Answers with the labels' frequencies in training, whatever the text: the most frequent label always wins.
package struct MajorityClass: TextBaseline, Equatable {
  private let values: [Double]

  /// Counts `labels`, indices below `count`; one is added to each label's count, so that none is impossible.
  package init(labels: [Int], count: Int) {
    let support = Self.support(labels, count)
    values = support.map { .log(Double($0 + 1) / Double(labels.count + count)) }
  }

  /// The logarithm of each label's probability.
  package func logProbabilities(_ text: String) -> [Double] { values }

  /// Counts the examples of each label.
  static func support(_ labels: [Int], _ count: Int) -> [Int] {
    var support = [Int](repeating: 0, count: count)
    for label in labels {
      require(label >= 0 && label < count, "label \(label) of \(count)")
      support[label] += 1
    }
    return support
  }
}

/// Logarithms of probabilities that are proportional to the exponentials of `scores`.
func normalized(_ scores: [Double]) -> [Double] {
  let largest = scores.max() ?? 0
  let total = Double.log(scores.reduce(0) { $0 + .exp($1 - largest) })
  return scores.map { $0 - largest - total }
}
