package import DibitStatistics

/// Two runs over the same examples.
package struct RunComparison: Equatable, Sendable {
  /// The first run.
  package var a: String
  /// The second run.
  package var b: String
  /// The number that was compared: accuracy by McNemar's test and the score interval that belongs to it, macro F1 by p-value and interval of
  /// one paired bootstrap.
  package var metric: RunMetric
  /// The first run's metric less the second's.
  package var difference: Double
  /// The interval of the true difference. It leaves out 0 exactly where ``pValue`` is below 0.05: it is of the same test, corrected in the
  /// same way.
  package var interval: ConfidenceInterval
  /// The p-value of "there is no difference", corrected by Holm's method for all comparisons of this metric in the report.
  package var pValue: Double
  /// The p-value of this comparison alone.
  package var rawPValue: Double
  /// The factor that ``rawPValue`` was multiplied with; the level of ``interval``, were it alone, is `1 - 0.05 / correction`.
  package var correction: Double = 1
  /// Cohen's h, for accuracies.
  package var effectSize: Double?
  /// Examples that only the first run has right, over those that only the second has; nil when unknown or infinite.
  package var oddsRatio: Double?
  /// The smallest difference that so many examples would have shown with a chance of 80 %, for accuracies.
  package var smallestDetectable: Double?
  /// The number of examples that would show a difference as large as the one found with a chance of 80 %, for accuracies that differ.
  package var examplesNeeded: Int?
  /// True where both runs gave every label of every example the very same probability: two names for one thing.
  package var isIdentical = false

  /// A comparison of known values.
  package init(
    a: String, b: String, metric: RunMetric, difference: Double, interval: ConfidenceInterval, pValue: Double, rawPValue: Double,
    effectSize: Double? = nil, oddsRatio: Double? = nil, smallestDetectable: Double? = nil
  ) {
    (self.a, self.b, self.metric) = (a, b, metric)
    (self.difference, self.interval, self.pValue, self.rawPValue) = (difference, interval, pValue, rawPValue)
    (self.effectSize, self.oddsRatio, self.smallestDetectable) = (effectSize, oddsRatio, smallestDetectable)
  }

  /// True where the first run is better beyond noise: the difference is positive and the corrected p-value below 0.05.
  package var isBetter: Bool { difference > 0 && pValue < 0.05 }
  /// True where the second run is better beyond noise.
  package var isWorse: Bool { difference < 0 && pValue < 0.05 }

  /// The same with the runs exchanged.
  package var swapped: RunComparison {
    var other = RunComparison(
      a: b, b: a, metric: metric, difference: -difference,
      interval: ConfidenceInterval(lower: -interval.upper, upper: -interval.lower, level: interval.level), pValue: pValue,
      rawPValue: rawPValue,
      effectSize: effectSize.map { -$0 }, oddsRatio: oddsRatio.flatMap { $0 > 0 ? 1 / $0 : nil }, smallestDetectable: smallestDetectable)
    (other.isIdentical, other.correction, other.examplesNeeded) = (isIdentical, correction, examplesNeeded)
    return other
  }
}
