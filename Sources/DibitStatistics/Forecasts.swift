internal import DibitTensor
internal import RealModule

/// Probabilities of every label for each example, beside the truth.
package struct Forecasts: Equatable, Sendable {
  /// The true label of each example.
  package let truths: [Int]
  /// For each example the natural logarithm of each label's probability; minus infinity where it is zero.
  package let logProbabilities: [[Double]]

  /// Forecasts of `truths.count` examples; every row of `logProbabilities` has one value for each label.
  package init(truths: [Int], logProbabilities: [[Double]]) {
    let labels = logProbabilities.first?.count ?? 0
    require(
      truths.count == logProbabilities.count && logProbabilities.allSatisfy { $0.count == labels }
        && truths.allSatisfy { $0 >= 0 && $0 < labels },
      "Forecasts: \(truths.count) truths, \(logProbabilities.count) rows of \(labels) labels")
    (self.truths, self.logProbabilities) = (truths, logProbabilities)
  }

  /// The number of examples.
  package var count: Int { truths.count }

  /// The probability that example `index` was given for `label`.
  package func probability(_ index: Int, of label: Int) -> Double { min(1, .exp(logProbabilities[index][label])) }

  /// The most likely label of each example; the first wins a tie.
  package var predictions: [Int] {
    logProbabilities.map { row in row.indices.max { row[$0] < row[$1] } ?? 0 }
  }

  /// The probability of each example's most likely label.
  package var confidences: [Double] { logProbabilities.map { min(1, .exp($0.max() ?? 0)) } }

  /// True for each example whose most likely label is the true one.
  package var hits: [Bool] { zip(predictions, truths).map { $0 == $1 } }

  /// The mean negative logarithm of the true label's probability, in nats; infinite where one was given zero.
  package var logLoss: Double {
    count > 0 ? -zip(truths, logProbabilities).reduce(0) { $0 + $1.1[$1.0] } / Double(count) : 0
  }

  /// The negative logarithm of each example's true label's probability, in nats.
  package var losses: [Double] { zip(truths, logProbabilities).map { -$1[$0] } }

  /// The mean of each example's squared distance from certainty of the truth, `Σ (p - y)²` over labels: 0 at best, 2 at worst.
  ///
  /// Source: Brier, "Verification of forecasts expressed in terms of probability" (1950), the original form.
  package var brier: Double {
    count > 0 ? squaredDistances.reduce(0, +) / Double(count) : 0
  }

  /// Each example's squared distance from certainty of the truth: ``brier`` is their mean.
  package var squaredDistances: [Double] {
    zip(truths, logProbabilities).map { truth, row in
      row.enumerated().reduce(0) { sum, value in
        let distance = Double.exp(value.element) - (value.offset == truth ? 1 : 0)
        return sum + distance * distance
      }
    }
  }

  /// The mean over labels of how well a label's probability tells its examples from the others (``ROC/area(_:positive:)``).
  ///
  /// Labels without examples, or without others, are left out; nil when none is left.
  package var macroAUROC: Double? {
    guard let labels = logProbabilities.first?.count else { return nil }
    let areas = (0..<labels).compactMap { label in
      ROC.area(logProbabilities.map { $0[label] }, positive: truths.map { $0 == label })
    }
    return areas.isEmpty ? nil : areas.reduce(0, +) / Double(areas.count)
  }
}

/// Probabilities of one event, beside whether it happened.
package enum BinaryForecasts {
  /// The mean of `(p - y)²`: 0 at best, 1 at worst.
  package static func brier(_ probabilities: [Double], happened: [Bool]) -> Double {
    require(
      probabilities.count == happened.count,
      "brier: \(probabilities.count) probabilities, \(happened.count) outcomes")
    guard !probabilities.isEmpty else { return 0 }
    return zip(probabilities, happened).reduce(0) { sum, pair in
      let distance = pair.0 - (pair.1 ? 1 : 0)
      return sum + distance * distance
    } / Double(probabilities.count)
  }
}

/// Measures of how well a score tells two groups apart.
package enum ROC {
  /// The probability that a positive example scores higher than a negative one, ties counting half: the area under the ROC curve.
  ///
  /// Computed from ranks (Mann and Whitney) in O(n log n). nil when either group is empty.
  package static func area(_ scores: [Double], positive: [Bool]) -> Double? {
    require(
      scores.count == positive.count, "ROC.area: \(scores.count) scores, \(positive.count) outcomes"
    )
    let positives = positive.count { $0 }
    let negatives = positive.count - positives
    guard positives > 0, negatives > 0 else { return nil }
    let order = scores.indices.sorted { scores[$0] < scores[$1] }
    var (rankSum, start) = (0.0, 0)
    while start < order.count {
      var end = start + 1
      while end < order.count, scores[order[end]] == scores[order[start]] { end += 1 }
      // All of a tie have the mean of its ranks start + 1 … end.
      let rank = Double(start + end + 1) / 2
      rankSum += rank * Double(order[start..<end].count { positive[$0] })
      start = end
    }
    let (p, n) = (Double(positives), Double(negatives))
    return (rankSum - p * (p + 1) / 2) / (p * n)
  }
}
