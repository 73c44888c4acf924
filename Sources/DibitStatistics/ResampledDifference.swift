/// A difference of two runs in a metric without a test of its own, such as macro F1, by the paired bootstrap: examples are drawn again, for
/// both runs the same.
///
/// Test and interval are read from the same ranks of the same samples: a p-value is twice the rank of the first sample beyond 0 over
/// `samples + 1`, and an end of the interval is the sample of the highest rank whose p-value is small enough. So the interval leaves out 0
/// exactly where the p-value says so. Source: Efron and Tibshirani, "An introduction to the bootstrap" (1993), chapters 13 and 15.
package struct ResampledDifference: Equatable, Sendable {
  /// The first run's metric less the second's on all examples.
  package let value: Double
  /// The differences of the samples, ascending.
  private let samples: [Double]
  /// The two-sided p-value of the surest outcome that so few examples can have.
  private let least: Double
  /// The differences that are possible.
  private let range: ClosedRange<Double>

  /// Draws the samples of `bootstrap` and computes `statistic`, the difference on the examples at some indices, of each.
  ///
  /// `differing` is the number of examples to which the runs gave different answers. If neither were better, each of these answers could as
  /// well be the other run's, so that no outcome of m such examples is less likely than 2^(1-m): a bootstrap of few examples does not know
  /// that, and would find differences in them. Samples whose difference is not finite are left out.
  package init(
    _ bootstrap: Bootstrap, count: Int, differing: Int, range: ClosedRange<Double> = -1...1, statistic: ([Int]) -> Double
  ) {
    value = statistic(Array(0..<count))
    samples = bootstrap.distribution(count: count, statistic: statistic).filter(\.isFinite).sorted()
    least = (0..<min(max(differing, 0), 1000)).reduce(2.0) { least, _ in least / 2 }
    self.range = range
  }

  /// The two-sided p-value of "there is no difference", at least `2 / (samples + 1)`.
  package var pValue: Double {
    let (below, above) = (samples.count { $0 <= 0 }, samples.count { $0 >= 0 })
    return pValue(rank: min(below, above) + 1)
  }

  /// The interval of the true difference: see ``ResampledDifference``; p-values are multiplied by `correction`.
  ///
  /// Where there are too few examples or samples for any p-value to be small enough, it is everything that is possible.
  package func interval(alpha: Double = 0.05, correction: Double = 1) -> ConfidenceInterval {
    // The highest rank whose p-value is below alpha: they grow with the rank.
    var (rank, end) = (0, samples.count + 1)
    while rank + 1 < end {
      let middle = (rank + end) / 2
      if pValue(rank: middle) * correction < alpha { rank = middle } else { end = middle }
    }
    guard rank > 0 else { return ConfidenceInterval(lower: range.lowerBound, upper: range.upperBound, level: 1 - alpha) }
    return ConfidenceInterval(lower: samples[rank - 1], upper: samples[samples.count - rank], level: 1 - alpha)
  }

  /// The p-value of a difference from which the sample of this rank, counted from 1, is the first on the other side.
  private func pValue(rank: Int) -> Double { min(1, max(least, 2 * Double(rank) / Double(samples.count + 1))) }
}
