internal import DibitStatistics

extension ReportBuilder {
  /// Compares pairs of runs by accuracy and by macro F1; p-values and intervals are corrected for all pairs of a metric.
  package func compare(_ pairs: [(a: RunOutcomes, b: RunOutcomes)]) -> [RunComparison] {
    corrected(pairs.map { PairTest(accuracyOf: $0.a, $0.b, self) }) + corrected(pairs.map { PairTest(macroF1Of: $0.a, $0.b, self) })
  }

  /// The tests of one metric with the intervals that their correction leaves them.
  private func corrected(_ tests: [PairTest]) -> [RunComparison] {
    zip(tests, MultipleTesting.holmFactors(tests.map(\.found.rawPValue))).map { $0.corrected($1) }
  }
}

/// The test of one pair of runs in one metric.
private struct PairTest {
  /// Significance is asked for at this level.
  static let alpha = 0.05

  private(set) var found: RunComparison
  private let interval: (_ correction: Double) -> ConfidenceInterval
  /// Counts of right answers; nil for other metrics than accuracy.
  private let outcomes: PairedOutcomes?

  init(accuracyOf a: RunOutcomes, _ b: RunOutcomes, _ builder: ReportBuilder) {
    let pairs = PairedOutcomes(first: builder.forecasts(a).hits, second: builder.forecasts(b).hits)
    interval = { pairs.differenceInterval(alpha: Self.alpha, correction: $0) }
    outcomes = pairs
    found = Self.comparison(a, b, .accuracy, pairs.difference, pairs.pValue)
    found.effectSize = pairs.cohenH
    found.oddsRatio = pairs.oddsRatio.flatMap { $0.isFinite ? $0 : nil }
  }

  init(macroF1Of a: RunOutcomes, _ b: RunOutcomes, _ builder: ReportBuilder) {
    let (first, second) = (builder.forecasts(a), builder.forecasts(b))
    let (x, y) = (first.predictions, second.predictions)
    let labels = builder.labels
    let difference = ResampledDifference(builder.bootstrap, count: x.count, differing: zip(x, y).count { $0 != $1 }) { indices in
      F1Scores(labels: labels, truths: first.truths, predictions: x, at: indices).macro
        - F1Scores(labels: labels, truths: second.truths, predictions: y, at: indices).macro
    }
    interval = { difference.interval(alpha: Self.alpha, correction: $0) }
    outcomes = nil
    found = Self.comparison(a, b, .macroF1, difference.value, difference.pValue)
  }

  private static func comparison(
    _ a: RunOutcomes, _ b: RunOutcomes, _ metric: RunMetric, _ difference: Double, _ p: Double
  ) -> RunComparison {
    var found = RunComparison(
      a: a.name, b: b.name, metric: metric, difference: difference, interval: ConfidenceInterval(lower: -1, upper: 1), pValue: p,
      rawPValue: p)
    found.isIdentical = a.logProbabilities == b.logProbabilities && a.tags == b.tags
    return found
  }

  /// The comparison where its p-value is multiplied by `correction`.
  func corrected(_ correction: Double) -> RunComparison {
    var found = found
    found.pValue = min(1, found.rawPValue * correction)
    (found.correction, found.interval) = (correction, interval(correction))
    if let outcomes {
      let alpha = Self.alpha / correction
      found.smallestDetectable = outcomes.smallestDetectableDifference(alpha: alpha)
      found.examplesNeeded = PairedOutcomes.examplesNeeded(
        difference: outcomes.difference, discordance: Double(outcomes.discordant) / Double(max(outcomes.count, 1)), alpha: alpha)
    }
    return found
  }
}
