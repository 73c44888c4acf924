/// The importance of training examples by their labels: with unbalanced data the loss of rare labels drowns in that of common ones.
package enum ClassWeights: Equatable, Sendable {
  /// All examples count the same.
  case equal
  /// An example counts `n / (k · n_label)`, of `n` examples and `k` labels: each label as much as any other.
  case balanced
  /// An example counts what its label does; labels that are not named count 1.
  case given([(label: String, weight: Double)])

  /// The importance of examples with these labels, on average 1, so that the learning rate means what it did.
  ///
  /// An example with several labels counts as much as they do on average, and once for each of them when labels are counted.
  func importances(of examples: [[String]]) -> [Float] {
    let weights = weights(of: examples)
    let sums = examples.map { labels in
      let keys = Self.keys(labels)
      return keys.reduce(0.0) { $0 + (weights[$1] ?? 1) } / Double(keys.count)
    }
    let total = sums.reduce(0, +)
    return sums.map { total > 0 ? Float($0 * Double(examples.count) / total) : 1 }
  }

  /// The labels' bytes; having none counts as a label of its own, whose bytes no other has.
  private static func keys(_ labels: [String]) -> [[UInt8]] { labels.isEmpty ? [[]] : labels.map { Array($0.utf8) } }

  /// The weight of each label, under its bytes.
  private func weights(of examples: [[String]]) -> [[UInt8]: Double] {
    switch self {
    case .equal: return [:]
    case .given(let weights): return Dictionary(weights.map { (Array($0.label.utf8), $0.weight) }, uniquingKeysWith: { _, last in last })
    case .balanced:
      var counts: [[UInt8]: Int] = [:]
      for labels in examples { for key in Self.keys(labels) { counts[key, default: 0] += 1 } }
      return counts.mapValues { Double(examples.count) / (Double(counts.count) * Double($0)) }
    }
  }

  /// Returns whether both say the same of the same labels in the same order.
  package static func == (left: ClassWeights, right: ClassWeights) -> Bool {
    switch (left, right) {
    case (.equal, .equal), (.balanced, .balanced): true
    case (.given(let left), .given(let right)): left.elementsEqual(right) { $0.label == $1.label && $0.weight == $1.weight }
    default: false
    }
  }
}
