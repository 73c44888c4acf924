package import DibitStatistics
internal import RealModule

/// Turns outcomes into runs, intervals and comparisons.
package struct ReportBuilder: Sendable {
  /// The number of labels.
  package let labels: Int
  /// Each example's true labels; none, where an example has none: only what is measured of sets counts it.
  package let truths: [[Int]]
  /// The resampling from which intervals are made.
  package var bootstrap: Bootstrap
  /// The examples' texts; empty when the report shall hold none.
  package var texts: [String] = []
  /// The number of mistakes that are shown with their text.
  package var sampleCount = 12
  /// The number of characters of a text that are shown.
  package var sampleLength = 600

  /// A builder for examples with these true labels.
  package init(labels: Int, truths: [[Int]], bootstrap: Bootstrap = Bootstrap()) {
    (self.labels, self.truths, self.bootstrap) = (labels, truths, bootstrap)
  }

  /// Forecasts of a run. The truth of an example with several labels is the one that the run finds most likely: any of them is right.
  package func forecasts(_ outcomes: RunOutcomes) -> Forecasts {
    let likeliest = zip(truths, outcomes.logProbabilities).map { truths, row in
      truths.reduce(truths.first ?? 0) { row[$1] > row[$0] ? $1 : $0 }
    }
    return Forecasts(truths: likeliest, logProbabilities: outcomes.logProbabilities)
  }

  /// The examples that have a label.
  private var labelled: [Int] { truths.indices.filter { !truths[$0].isEmpty } }

  /// The builder for these examples alone.
  private func keeping(_ indices: [Int]) -> ReportBuilder {
    var kept = ReportBuilder(labels: labels, truths: indices.map { truths[$0] }, bootstrap: bootstrap)
    if texts.count == truths.count { kept.texts = indices.map { texts[$0] } }
    (kept.sampleCount, kept.sampleLength) = (sampleCount, sampleLength)
    return kept
  }

  /// The run of these outcomes with every metric. Measures of one label leave out examples without any.
  package func run(_ outcomes: RunOutcomes) -> ReportedRun {
    let labelled = labelled
    guard labelled.count == truths.count else {
      var run = keeping(labelled).run(outcomes.keeping(labelled))
      if let tags = outcomes.tags { addTags(to: &run, tags, outcomes.inclusion) }
      return run
    }
    let forecasts = forecasts(outcomes)
    let (predictions, confidences, hits) = (forecasts.predictions, forecasts.confidences, forecasts.hits)
    var run = ReportedRun(
      name: outcomes.name, kind: outcomes.kind,
      metrics: ClassificationMetrics(labels: labels, pairs: zip(forecasts.truths, predictions).map { (truth: $0, prediction: $1) }))
    run.seconds = outcomes.seconds
    run.latency = ReportedRun.Latency(outcomes.latencies)
    run.tokensPerSecond = outcomes.tokens.flatMap { outcomes.seconds > 0 ? Double($0) / outcomes.seconds : nil }
    (run.memoryBytes, run.unparsableShare, run.contentLoss) = (outcomes.memoryBytes, outcomes.unparsableShare, outcomes.contentLoss)
    run.perplexity = outcomes.contentLoss.map { .exp($0) }
    run.shots = outcomes.shots
    guard forecasts.count > 0 else { return run }
    run.accuracyInterval = .wilson(successes: run.metrics.hits, of: forecasts.count, level: bootstrap.level)
    if outcomes.hasProbabilities { addProbabilities(to: &run, forecasts, confidences, hits) }
    run.samples = samples(forecasts, predictions, confidences, hits)
    addIntervals(to: &run, forecasts, predictions, confidences, hits)
    if let tags = outcomes.tags { addTags(to: &run, tags, outcomes.inclusion) }
    return run
  }

  private func addProbabilities(to run: inout ReportedRun, _ forecasts: Forecasts, _ confidences: [Double], _ hits: [Bool]) {
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
  }

  /// Intervals of everything that has one, all from the same samples.
  private func addIntervals(
    to run: inout ReportedRun, _ forecasts: Forecasts, _ predictions: [Int], _ confidences: [Double], _ hits: [Bool]
  ) {
    let (losses, distances) = (forecasts.losses, forecasts.squaredDistances)
    let estimates = bootstrap.estimates(count: forecasts.count) { indices in
      let f1 = F1Scores(labels: labels, truths: forecasts.truths, predictions: predictions, at: indices)
      let n = Double(indices.count)
      let loss = indices.reduce(0) { $0 + losses[$1] } / n
      let brier = indices.reduce(0) { $0 + distances[$1] } / n
      let calibration = Calibration.expectedError(confidences: confidences, hits: hits, bins: 10, at: indices)
      return [f1.macro, f1.weighted, loss, brier, calibration] + f1.perLabel
    }
    run.macroF1Interval = estimates[0].interval
    run.intervals[.weightedF1] = estimates[1].interval
    // An infinite loss has no interval.
    if run.logLoss != nil { run.intervals[.logLoss] = estimates[2].interval }
    if run.brier != nil { run.intervals[.brier] = estimates[3].interval }
    if run.calibrationError != nil { run.intervals[.calibrationError] = estimates[4].interval }
    run.f1Intervals = estimates.dropFirst(5).map(\.interval)
  }

  private func addTags(to run: inout ReportedRun, _ tags: [Set<Int>], _ inclusion: [[Double]]) {
    let sets = truths.map { Set($0) }
    func metrics(_ indices: some Sequence<Int>) -> TagMetrics {
      TagMetrics(labels: labels, examples: indices.map { (truth: sets[$0], prediction: tags[$0]) })
    }
    var found = ReportedTags(metrics(truths.indices))
    if inclusion.count == truths.count {
      found.atK = [1, 3, 5].filter { $0 <= labels }.map { k in
        let ranking = TagRanking(at: k, truths: sets, scores: inclusion)
        return .init(k: k, precision: ranking.precision, recall: ranking.recall)
      }
    }
    run.tags = found
    let estimates = bootstrap.estimates(count: truths.count) { indices in
      let sample = metrics(indices)
      return [sample.micro.f1, sample.samples.jaccard]
    }
    run.intervals[.microTagF1] = estimates[0].interval
    run.intervals[.jaccard] = estimates[1].interval
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

  /// A whole report: the runs, the baselines, and every comparison that the verdict needs.
  ///
  /// Every two runs are compared, adapters before the models they are of; every adapter with every baseline, and without adapters the
  /// first run.
  /// - Parameters: `runs` and `baselines` have outcomes for the same examples in the same order; `names` are the labels' names.
  package func report(names: [String], split: String, truncated: Int = 0, runs: [RunOutcomes], baselines: [RunOutcomes]) -> EvaluationReport
  {
    var report = EvaluationReport(
      labels: names, split: split, examples: truths.count, truncated: truncated, runs: runs.map { run($0) },
      baselines: baselines.map { run($0) })
    guard !truths.isEmpty else { return report }
    if let base = runs.first(where: { $0.kind == .base }) {
      for (index, run) in runs.enumerated() where run.name != base.name && run.hasProbabilities && base.hasProbabilities {
        report.runs[index].divergence = divergence(run, from: base)
      }
    }
    let adapters = runs.filter { $0.kind == .adapter }
    let ordered = adapters + runs.filter { $0.kind == .model || $0.kind == .float } + runs.filter { $0.kind == .base }
    var pairs: [(a: RunOutcomes, b: RunOutcomes)] = []
    for (index, run) in ordered.enumerated() { pairs += ordered.dropFirst(index + 1).map { (a: run, b: $0) } }
    for run in adapters.isEmpty ? Array(runs.prefix(1)) : adapters { pairs += baselines.map { (a: run, b: $0) } }
    let labelled = labelled
    report.comparisons =
      labelled.count == truths.count
      ? compare(pairs) : keeping(labelled).compare(pairs.map { (a: $0.a.keeping(labelled), b: $0.b.keeping(labelled)) })
    report.seed = bootstrap.seed
    return report
  }

  /// The mean over examples of `Σ p ln(p / q)`, p of `run` and q of `base`, in nats; nil where it is infinite.
  private func divergence(_ run: RunOutcomes, from base: RunOutcomes) -> Double? {
    var sum = 0.0
    for (p, q) in zip(run.logProbabilities, base.logProbabilities) {
      for (a, b) in zip(p, q) where a.isFinite { sum += .exp(a) * (a - b) }
    }
    // Rounding may leave a little less than nothing of two equal rows.
    return sum.isFinite ? max(0, sum / Double(max(1, truths.count))) : nil
  }
}
