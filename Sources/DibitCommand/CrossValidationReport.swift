internal import Dibit
internal import DibitCheckpoint
internal import DibitFailure
internal import DibitJSON
internal import DibitReport
internal import DibitStatistics
internal import DibitTraining

/// The outcomes of all folds: pooled, where every text counts once, and fold by fold.
struct CrossValidationReport {
  /// A metric of one run: over all texts together, and its spread over folds.
  struct Spread {
    let pooled: Double
    let interval: ConfidenceInterval
    let folds: [Double]

    var mean: Double { folds.reduce(0, +) / Double(folds.count) }

    /// With one taken off the count: how much folds differ, not how sure the mean is.
    var deviation: Double { (folds.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(max(folds.count - 1, 1))).squareRoot() }

    var json: JSONValue {
      [
        "pooled": .number(pooled), "ci95": [.number(interval.lower), .number(interval.upper)], "mean": .number(mean),
        "standard_deviation": .number(deviation), "folds": .array(folds.map { .number($0) }),
      ]
    }
  }

  /// One run in all folds.
  struct Row {
    let name: String
    let accuracy: Spread
    let macroF1: Spread
    let confusion: [[Int]]
  }

  let rows: [Row]
  private let outcomes: [TrialOutcome]
  /// The pooled outcomes as an evaluation reports them, for comparisons and the verdict.
  private let pooled: EvaluationReport
  /// The number of texts that tell the adapter from each run that it is compared with, by its name.
  private let needed: [String: TextsNeeded]

  /// A report of at least one fold; all have the same runs.
  init(_ outcomes: [TrialOutcome], labels: [String], difference: Double, seed: UInt64) {
    self.outcomes = outcomes
    let builder = ReportBuilder(labels: labels.count, truths: outcomes.flatMap(\.truths), bootstrap: Bootstrap(seed: seed))
    let all = outcomes[0].runs.map { run in
      RunOutcomes(
        name: run.name, kind: run.kind, logProbabilities: outcomes.flatMap { $0.run(run.name)?.logProbabilities ?? [] }, seconds: 0)
    }
    // Nobody doubts that the most frequent label can be beaten: testing it too would only make the other tests more cautious.
    let baselines = all.filter { $0.kind == .baseline && $0.name != AdapterTrial.majority }
    let pooled = builder.report(
      names: labels, split: "folds", truncated: outcomes.reduce(0) { $0 + $1.truncated }, runs: all.filter { $0.kind != .baseline },
      baselines: baselines)
    self.pooled = pooled
    let hits = Dictionary(uniqueKeysWithValues: all.map { ($0.name, builder.forecasts($0).hits) })
    needed = hits.reduce(into: [:]) { needed, run in
      guard let found = pooled.comparison(AdapterTrial.adapter, run.key), let own = hits[AdapterTrial.adapter] else { return }
      needed[run.key] = TextsNeeded([run.value], [own], asked: difference, correction: found.correction)
    }
    // The adapter first: it is what was asked about.
    let ordered = all.filter { $0.kind == .adapter } + all.filter { $0.kind != .adapter }
    rows = ordered.map { run in
      let found = pooled.run(run.name) ?? builder.run(run)
      let f1 = found.metrics.macroF1
      let folds = outcomes.map { outcome in
        let forecasts = ReportBuilder(labels: labels.count, truths: outcome.truths).forecasts(outcome.run(run.name) ?? run)
        return ClassificationMetrics(
          labels: labels.count, pairs: zip(forecasts.truths, forecasts.predictions).map { (truth: $0, prediction: $1) })
      }
      return Row(
        name: run.name,
        accuracy: Spread(
          pooled: found.metrics.accuracy, interval: found.accuracyInterval ?? .init(lower: 0, upper: 1), folds: folds.map(\.accuracy)),
        macroF1: Spread(pooled: f1, interval: found.macroF1Interval ?? .init(lower: f1, upper: f1), folds: folds.map(\.macroF1)),
        confusion: found.metrics.confusion)
    }
  }

  /// The comparisons of the adapter with the others, in accuracy.
  private var comparisons: [RunComparison] {
    rows.dropFirst().compactMap { pooled.comparison(AdapterTrial.adapter, $0.name) }
  }

  var json: JSONObject {
    JSONObject([
      ("labels", .array(pooled.labels.map { .string($0) })), ("truncated_examples", .integer(pooled.truncated)),
      (
        "runs",
        .array(
          rows.map { row in
            [
              "name": .string(row.name), "accuracy": row.accuracy.json, "macro_f1": row.macroF1.json,
              "confusion": .array(row.confusion.map { .array($0.map { .integer($0) }) }),
            ]
          })
      ),
      ("comparisons", pooled.json["comparisons"] ?? []),
      (
        "test_texts",
        .array(
          rows.compactMap { row in
            needed[row.name].map { .object(JSONObject([("b", .string(row.name))] + $0.json.members)) }
          })
      ), ("standing", .string(pooled.standing.rawValue)),
      (
        "trainings",
        .array(
          outcomes.map { outcome in
            [
              "training_texts": .integer(outcome.training), "validation_texts": .integer(outcome.validation),
              "held_out_texts": .integer(outcome.heldOut), "steps": .integer(outcome.steps), "kept_step": .integer(outcome.keptStep),
              "end": .string(outcome.end.rawValue),
            ]
          })
      ),
    ])
  }

  /// For people, in lines of a terminal's width if there is one.
  func lines(width: Int?) -> [String] {
    var overview = [["", "accuracy", "95 %", "by fold", "macro F1", "95 %", "by fold"]]
    for row in rows {
      let (accuracy, f1) = (row.accuracy, row.macroF1)
      overview.append([
        row.name, percent(accuracy.pooled), "\(decimal(accuracy.interval.lower * 100, 1))-\(decimal(accuracy.interval.upper * 100, 1))",
        "\(decimal(accuracy.mean * 100, 1)) ± \(decimal(accuracy.deviation * 100, 1))", decimal(f1.pooled, 3),
        "\(decimal(f1.interval.lower, 3))-\(decimal(f1.interval.upper, 3))", "\(decimal(f1.mean, 3)) ± \(decimal(f1.deviation, 3))",
      ])
    }
    var folds = [["fold", "trained on", "validation", "asked about", "steps"] + rows.map(\.name) + ["macro F1"]]
    for (fold, outcome) in outcomes.enumerated() {
      folds.append(
        [
          "\(fold + 1)", "\(outcome.training)", "\(outcome.validation)", "\(outcome.heldOut)",
          outcome.keptStep == outcome.steps ? "\(outcome.steps)" : "\(outcome.keptStep) of \(outcome.steps)",
        ] + rows.map { percent($0.accuracy.folds[fold]) } + [decimal(rows[0].macroF1.folds[fold], 3)])
    }
    var lines = table(overview, width: width)
    if pooled.truncated > 0 { lines.append("\(counted(pooled.truncated)) cut to fit") }
    return lines + [""] + wrapped("Fold by fold, accuracy of each; macro F1 of the adapter:", width: width) + table(folds, width: width) + [
      ""
    ]
      + comparisons.flatMap { found in
        wrapped(sentence(found) + (needed[found.b].map { ". " + $0.sentence("texts") } ?? ""), width: width)
      }
  }

  private func sentence(_ comparison: RunComparison) -> String {
    let p = comparison.pValue < 0.0001 ? "p < 0.0001" : "p = \(decimal(comparison.pValue, 4))"
    let rival = comparison.b == AdapterTrial.base ? "the base model" : "'\(comparison.b)'"
    let found =
      comparison.isBetter
      ? "The adapter is better than \(rival)"
      : comparison.isWorse
        ? "The adapter is worse than \(rival)" : "Whether the adapter is better than \(rival) cannot be told from these texts"
    return "\(found): \(points(comparison.difference)) points, 95 % interval \(points(comparison.interval.lower)) to "
      + "\(points(comparison.interval.upper)), McNemar's \(p)"
  }
}
