public import DibitStatistics

/// What a run said about every example: all that its metrics follow from.
public struct RunOutcomes: Equatable, Sendable {
  /// What the run is called; unique in a report.
  public var name: String
  /// What made the answers.
  public var kind: ReportedRun.Kind
  /// For each example the natural logarithm of each label's probability.
  public var logProbabilities: [[Double]]
  /// How long the run took, in seconds.
  public var seconds: Double
  /// Times of single texts, in seconds.
  public var latencies: [Double] = []
  /// The set of labels given to each example, where a run answers with sets.
  public var tags: [Set<Int>]?
  /// Tokens that were read in the run.
  public var tokens: Int?

  /// Outcomes of a finished run.
  public init(name: String, kind: ReportedRun.Kind, logProbabilities: [[Double]], seconds: Double) {
    (self.name, self.kind, self.logProbabilities, self.seconds) = (name, kind, logProbabilities, seconds)
  }
}

/// Turns outcomes into runs, intervals and comparisons.
public struct ReportBuilder: Sendable {
  /// The number of labels.
  public let labels: Int
  /// Each example's true labels; at least one.
  public let truths: [[Int]]
  /// How intervals are made.
  public var bootstrap: Bootstrap
  /// The examples' texts; empty when the report shall hold none.
  public var texts: [String] = []
  /// How many mistakes are shown with their text.
  public var sampleCount = 12
  /// How many characters of a text are shown.
  public var sampleLength = 600

  /// A builder for examples with these true labels.
  public init(labels: Int, truths: [[Int]], bootstrap: Bootstrap = Bootstrap()) {
    (self.labels, self.truths, self.bootstrap) = (labels, truths, bootstrap)
  }

  /// Forecasts of a run. The truth of an example with several labels is the one that the run finds most likely: any of them is right.
  public func forecasts(_ outcomes: RunOutcomes) -> Forecasts {
    let likeliest = zip(truths, outcomes.logProbabilities).map { truths, row in
      truths.reduce(truths.first ?? 0) { row[$1] > row[$0] ? $1 : $0 }
    }
    return Forecasts(truths: likeliest, logProbabilities: outcomes.logProbabilities)
  }

  /// The run of these outcomes with every metric.
  public func run(_ outcomes: RunOutcomes) -> ReportedRun {
    let forecasts = forecasts(outcomes)
    let (predictions, confidences, hits) = (forecasts.predictions, forecasts.confidences, forecasts.hits)
    var run = ReportedRun(
      name: outcomes.name, kind: outcomes.kind,
      metrics: ClassificationMetrics(labels: labels, pairs: zip(forecasts.truths, predictions).map { (truth: $0, prediction: $1) }))
    run.seconds = outcomes.seconds
    run.latency = ReportedRun.Latency(outcomes.latencies)
    run.tokensPerSecond = outcomes.tokens.flatMap { outcomes.seconds > 0 ? Double($0) / outcomes.seconds : nil }
    guard forecasts.count > 0 else { return run }
    run.tags = outcomes.tags.map { tags in
      ReportedTags(TagMetrics(labels: labels, examples: zip(truths, tags).map { (truth: Set($0), prediction: $1) }))
    }
    run.accuracyInterval = .wilson(successes: run.metrics.hits, of: forecasts.count, level: bootstrap.level)
    run.macroF1Interval =
      bootstrap.estimate(count: forecasts.count) { indices in
        ClassificationMetrics.macroF1(labels: labels, truths: forecasts.truths, predictions: predictions, at: indices)
      }.interval
    run.logLoss = forecasts.logLoss.isFinite ? forecasts.logLoss : nil
    run.brier = forecasts.brier
    run.macroAUROC = forecasts.macroAUROC
    let calibration = Calibration(confidences: confidences, hits: hits, bins: 10)
    run.calibration = calibration.bins
    run.calibrationError = calibration.expectedError
    run.maximumCalibrationError = calibration.maximumError
    run.equalMassCalibrationError = Calibration(confidences: confidences, hits: hits, bins: 10, binning: .equalMass).expectedError
    let abstention = RiskCoverage(confidences: confidences, hits: hits)
    run.abstention = abstention.thinned(to: 50)
    run.abstentionArea = abstention.area
    run.samples = samples(forecasts, predictions, confidences, hits)
    return run
  }

  /// The mistakes that the run was surest of, then those whose true label it found least likely.
  private func samples(_ forecasts: Forecasts, _ predictions: [Int], _ confidences: [Double], _ hits: [Bool]) -> [ReportedSample] {
    guard texts.count == forecasts.count else { return [] }
    let mistakes = hits.indices.filter { !hits[$0] }
    let surest = mistakes.sorted { confidences[$0] > confidences[$1] || confidences[$0] == confidences[$1] && $0 < $1 }
    let doubt = mistakes.map { (index: $0, value: forecasts.logProbabilities[$0][forecasts.truths[$0]]) }
    let worst = doubt.sorted { $0.value < $1.value || $0.value == $1.value && $0.index < $1.index }.map(\.index)
    var chosen = Array(surest.prefix(sampleCount))
    for index in worst.prefix(sampleCount) where !chosen.contains(index) { chosen.append(index) }
    return chosen.map { index in
      let row = forecasts.logProbabilities[index]
      let truth = forecasts.truths[index]
      var likely = Array(row.indices.sorted { row[$0] > row[$1] || row[$0] == row[$1] && $0 < $1 }.prefix(3))
      if !likely.contains(truth) { likely.append(truth) }
      let text = texts[index]
      return ReportedSample(
        text: text.count > sampleLength ? text.prefix(sampleLength) + "…" : text, truth: truth, prediction: predictions[index],
        probabilities: likely.map { .init(label: $0, probability: forecasts.probability(index, of: $0)) })
    }
  }

  /// Compares pairs of runs by accuracy and by macro F1; p-values are corrected for all pairs of a metric.
  public func compare(_ pairs: [(a: RunOutcomes, b: RunOutcomes)]) -> [RunComparison] {
    var result: [RunComparison] = []
    for metric in [RunComparison.accuracy, RunComparison.macroF1] {
      var ofMetric = pairs.map { compare($0.a, $0.b, metric) }
      let corrected = MultipleTesting.holm(ofMetric.map(\.rawPValue))
      for index in ofMetric.indices { ofMetric[index].pValue = corrected[index] }
      result += ofMetric
    }
    return result
  }

  private func compare(_ a: RunOutcomes, _ b: RunOutcomes, _ metric: String) -> RunComparison {
    let (first, second) = (forecasts(a), forecasts(b))
    if metric == RunComparison.accuracy {
      let (x, y) = (first.hits, second.hits)
      let pairs = PairedOutcomes(first: x, second: y)
      let gains = zip(x, y).map { ($0 ? 1.0 : 0) - ($1 ? 1.0 : 0) }
      let estimate = bootstrap.estimate(count: truths.count) { indices in
        indices.reduce(0) { $0 + gains[$1] } / Double(indices.count)
      }
      return RunComparison(
        a: a.name, b: b.name, metric: metric, difference: pairs.difference, interval: estimate.interval, pValue: pairs.exactPValue,
        rawPValue: pairs.exactPValue, effectSize: pairs.cohenH, oddsRatio: pairs.oddsRatio.flatMap { $0.isFinite ? $0 : nil },
        smallestDetectable: pairs.smallestDetectableDifference())
    }
    let (x, y) = (first.predictions, second.predictions)
    let estimate = bootstrap.estimate(count: truths.count) { indices in
      ClassificationMetrics.macroF1(labels: labels, truths: first.truths, predictions: x, at: indices)
        - ClassificationMetrics.macroF1(labels: labels, truths: second.truths, predictions: y, at: indices)
    }
    return RunComparison(
      a: a.name, b: b.name, metric: metric, difference: estimate.value, interval: estimate.interval, pValue: estimate.pValue,
      rawPValue: estimate.pValue)
  }

  /// A whole report: the runs, the baselines, and every comparison that the verdict needs.
  ///
  /// Every adapter, and the model in floats, is compared with the base; every adapter with every baseline, and without adapters the base.
  /// - Parameters: `runs` and `baselines` have outcomes for the same examples in the same order; `names` are the labels' names.
  public func report(names: [String], split: String, truncated: Int = 0, runs: [RunOutcomes], baselines: [RunOutcomes]) -> EvaluationReport
  {
    var report = EvaluationReport(
      labels: names, split: split, examples: truths.count, truncated: truncated, runs: runs.map { run($0) },
      baselines: baselines.map { run($0) })
    guard !truths.isEmpty else { return report }
    let base = runs.first { $0.kind == .base }
    let adapters = runs.filter { $0.kind == .adapter }
    var pairs: [(a: RunOutcomes, b: RunOutcomes)] = []
    if let base { pairs += (adapters + runs.filter { $0.kind == .float }).map { (a: $0, b: base) } }
    for run in adapters.isEmpty ? Array(runs.prefix(1)) : adapters { pairs += baselines.map { (a: run, b: $0) } }
    report.comparisons = compare(pairs)
    report.seed = bootstrap.seed
    return report
  }
}
