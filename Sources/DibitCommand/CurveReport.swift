internal import Dibit
internal import DibitFailure
internal import DibitJSON
internal import DibitReport
internal import DibitStatistics

/// The outcomes of all sizes, and what the curve through them says.
struct CurveReport {
  /// One size: means over its trainings, which were all asked about the same texts.
  struct Row {
    let texts: Int
    let outcomes: [TrialOutcome]
    let accuracy: Double
    let interval: ConfidenceInterval
    /// The standard deviation over trainings; nil for one.
    let deviation: Double?
    let macroF1: Double
    let naiveBayes: Double
    let regression: Double
  }

  let rows: [Row]
  let curve: LearningCurve
  private let more: Int
  /// The number of test texts that tell the last two sizes apart.
  private let needed: TextsNeeded
  private let prediction: Result<LearningCurve.Prediction, LearningCurve.Doubt>

  init(_ sizes: [(texts: Int, outcomes: [TrialOutcome])], labels: Int, more: Int, difference: Double, seed: UInt64) {
    let bootstrap = Bootstrap(seed: seed)
    var points: [LearningCurve.Point] = []
    rows = sizes.map { texts, outcomes in
      func forecasts(_ name: String) -> [Forecasts] {
        outcomes.compactMap { outcome in
          outcome.run(name).map { ReportBuilder(labels: labels, truths: outcome.truths).forecasts($0) }
        }
      }
      func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(max(values.count, 1)) }
      func accuracy(_ forecasts: Forecasts) -> Double { mean(forecasts.hits.map { $0 ? 1 : 0 }) }
      let adapters = forecasts(AdapterTrial.adapter)
      let hits = adapters.map(\.hits)
      points.append(LearningCurve.Point(texts: texts, hits: hits))
      // A text counts by the share of trainings that have it right.
      let shares = hits[0].indices.map { text in mean(hits.map { $0[text] ? 1 : 0 }) }
      let estimate = bootstrap.estimate(count: shares.count) { indices in indices.reduce(0) { $0 + shares[$1] } / Double(indices.count) }
      let accuracies = adapters.map(accuracy)
      let squares = accuracies.reduce(0) { $0 + ($1 - estimate.value) * ($1 - estimate.value) }
      // Of one training it is a share of right answers, and has the interval that such a share has everywhere.
      let interval =
        hits.count == 1 ? ConfidenceInterval.wilson(successes: hits[0].count { $0 }, of: shares.count) : estimate.interval
      return Row(
        texts: texts, outcomes: outcomes, accuracy: estimate.value, interval: interval,
        deviation: hits.count > 1 ? (squares / Double(hits.count - 1)).squareRoot() : nil,
        macroF1: mean(
          adapters.map {
            F1Scores(labels: labels, truths: $0.truths, predictions: $0.predictions, at: Array($0.truths.indices)).macro
          }), naiveBayes: mean(forecasts(AdapterTrial.naiveBayes).map(accuracy)),
        regression: mean(forecasts(AdapterTrial.regression).map(accuracy)))
    }
    curve = LearningCurve(points)
    self.more = more
    needed = TextsNeeded(points[max(points.count - 2, 0)].hits, points[points.count - 1].hits, asked: difference)
    prediction = curve.prediction(more: more, bootstrap: bootstrap)
  }

  var json: JSONObject {
    func ends(_ interval: ConfidenceInterval) -> JSONValue { [.number(interval.lower), .number(interval.upper)] }
    var answer = JSONObject([("more", .integer(more))])
    switch prediction {
    case .success(let found):
      answer["texts"] = .integer(found.texts)
      answer["accuracy"] = .number(found.accuracy)
      answer["accuracy_ci95"] = ends(found.interval)
      answer["gain"] = .number(found.gain)
      answer["gain_ci95"] = ends(found.gainInterval)
    case .failure(let doubt): answer["doubt"] = .string(doubt.name)
    }
    answer["answer"] = .string(self.answer)
    return JSONObject([
      (
        "points",
        .array(
          rows.map { row in
            [
              "texts": .integer(row.texts), "accuracy": .number(row.accuracy), "accuracy_ci95": ends(row.interval),
              "standard_deviation": row.deviation.map { .number($0) } ?? .null, "macro_f1": .number(row.macroF1),
              "naive_bayes_accuracy": .number(row.naiveBayes), "regression_accuracy": .number(row.regression),
              "steps": .array(row.outcomes.map { .integer($0.steps) }),
            ]
          })
      ),
      (
        "fit",
        curve.fit.map {
          ["limit": .number($0.limit), "scale": .number($0.scale), "exponent": .number($0.exponent), "misfit": .number($0.misfit)]
        } ?? .null
      ), ("prediction", .object(answer)), ("test_texts", .object(needed.json)),
    ])
  }

  /// For people, in lines of a terminal's width if there is one.
  func lines(width: Int?) -> [String] {
    let repeats = rows[0].outcomes.count
    let spread = repeats > 1 ? ["± of \(repeats)"] : []
    var overview = [["texts", "accuracy", "95 %"] + spread + ["macro F1", "naive Bayes", "regression", "curve"]]
    for row in rows {
      overview.append(
        ["\(row.texts)", percent(row.accuracy), "\(decimal(row.interval.lower * 100, 1))-\(decimal(row.interval.upper * 100, 1))"]
          + (row.deviation.map { [decimal($0 * 100, 1)] } ?? [])
          + [decimal(row.macroF1, 3), percent(row.naiveBayes), percent(row.regression)]
          + [curve.fit.map { percent(1 - $0.error(row.texts)) } ?? "-"])
    }
    var lines = table(overview, width: width)
    if let fit = curve.fit {
      let limit = fit.limit > 0 ? "\(decimal(fit.limit, 3)) + " : ""
      let formula = "\(limit)\(decimal(fit.scale, 3)) n^-\(decimal(fit.exponent, 3))"
      lines += wrapped("curve: error = \(formula), misfit \(decimal(fit.misfit, 1))", width: width)
    }
    return lines + [""] + wrapped(answer, width: width) + [""] + wrapped(change + " " + needed.sentence("test texts"), width: width)
  }

  /// The gain of the last size, and the share of test texts that it comes from.
  private var change: String {
    let (last, before) = (rows[rows.count - 1].texts, rows[max(rows.count - 2, 0)].texts)
    return "From \(grouped(before)) to \(grouped(last)) texts accuracy moved by \(points(needed.found)) points; "
      + "\(percent(needed.discordance)) of the test texts are right with one of both only."
  }

  /// One sentence.
  private var answer: String {
    switch prediction {
    case .success(let found):
      let about =
        "With \(more) more texts, \(found.texts) in all: about \(percent(found.accuracy)) (95 % interval "
        + "\(decimal(found.interval.lower * 100, 1))-\(decimal(found.interval.upper * 100, 1))), \(points(found.gain)) points "
        + "(\(points(found.gainInterval.lower)) to \(points(found.gainInterval.upper)))"
      return rows[0].outcomes.count > 1 ? about : about + "; single trainings add luck that the interval does not know: see --repeats"
    case .failure(.tooFewPoints(let count)):
      return "Whether \(more) more texts would help cannot be told from \(count) sizes: three at least are needed."
    case .failure(.flat(let growth)):
      return "Whether \(more) more texts would help cannot be told: from \(rows[0].texts) to \(rows[rows.count - 1].texts) texts accuracy "
        + "did not grow beyond noise (95 % interval \(points(growth.lower)) to \(points(growth.upper)) points)."
    case .failure(.rough(let misfit)):
      return
        "Whether \(more) more texts would help cannot be told: the points lie \(decimal(misfit, 1)) standard errors off any such curve; "
        + "more --repeats make them smoother."
    case .failure(.tooFar(let most)):
      return "What \(more) more texts would bring is beyond what the curve can tell: \(most) more are the most that it can be asked about."
    }
  }
}

extension LearningCurve.Doubt {
  /// For machines.
  fileprivate var name: String {
    switch self {
    case .tooFewPoints: "too_few_points"
    case .flat: "flat"
    case .rough: "rough"
    case .tooFar: "too_far"
    }
  }
}
