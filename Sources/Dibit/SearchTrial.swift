package import DibitJSON
internal import DibitEvaluation
internal import DibitReport
internal import DibitStatistics
internal import Glibc

/// A trial of settings: how an adapter that was trained with them answers about texts that it has not seen.
package struct SearchTrial: Equatable, Sendable {
  /// The settings.
  package let settings: SettingsSearch.Settings
  /// The squared distance from certainty of the truth, for each held-out text; empty where the training ran away.
  package private(set) var distances: [Double] = []
  /// The same for answers in which a classifier of words has each of ``wordShares``; empty where none was asked.
  package private(set) var pooledDistances: [[Double]] = []
  /// Held-out texts that were answered right.
  package private(set) var hits = 0
  /// The seconds that it took.
  package internal(set) var seconds = 0.0

  /// The shares of a classifier of words that are looked at.
  package static let wordShares = [0.25, 0.5, 0.75]

  /// A trial that has not begun.
  init(_ settings: SettingsSearch.Settings) { self.settings = settings }

  /// True where the losses of a training ran away.
  package var hasFailed: Bool { distances.isEmpty }

  /// The mean Brier score, 0 at best and 2 at worst.
  package var score: Double { distances.isEmpty ? .infinity : distances.reduce(0, +) / Double(distances.count) }

  /// The share of held-out texts that were answered right.
  package var accuracy: Double { Double(hits) / Double(max(1, distances.count)) }

  /// Adds the answers of a fold; `words` are those of a classifier of words about the same texts, or none.
  mutating func add(_ outcome: TrialOutcome, words: [[Double]] = []) {
    guard let run = outcome.run(AdapterTrial.adapter), let labels = run.logProbabilities.first?.count else { return }
    let builder = ReportBuilder(labels: labels, truths: outcome.truths)
    let forecasts = builder.forecasts(run)
    distances += forecasts.squaredDistances
    hits += forecasts.hits.count { $0 }
    guard !words.isEmpty else { return }
    if pooledDistances.isEmpty { pooledDistances = Self.wordShares.map { _ in [] } }
    for (index, share) in Self.wordShares.enumerated() {
      var pooled = run
      pooled.logProbabilities = zip(run.logProbabilities, words).map { WordHead.pooled($0, $1, share: share) }
      pooledDistances[index] += builder.forecasts(pooled).squaredDistances
    }
  }

  /// Forgets all answers: the losses of a training ran away.
  mutating func fail() { (distances, pooledDistances, hits) = ([], [], 0) }

  /// The share of a classifier of words with the lowest mean Brier score, and that score, where it is lower than without by more than the
  /// standard error of the difference; nil elsewhere.
  package var wordShare: (share: Double, score: Double)? {
    var best: (share: Double, score: Double)?
    for (share, pooled) in zip(Self.wordShares, pooledDistances) where Self.isLower(pooled, distances) {
      let score = pooled.reduce(0, +) / Double(pooled.count)
      if best.map({ score < $0.score }) ?? true { best = (share, score) }
    }
    return best
  }

  /// Returns whether it is better than `other` by more than the standard error of the difference over the same texts.
  package func isBetter(than other: SearchTrial) -> Bool {
    guard !hasFailed, !other.hasFailed else { return !hasFailed }
    return Self.isLower(distances, other.distances)
  }

  /// Checks whether the mean of some is lower than that of others by more than the standard error of the difference over the same texts.
  private static func isLower(_ distances: [Double], _ others: [Double]) -> Bool {
    let differences = zip(distances, others).map { $0 - $1 }
    let n = Double(differences.count)
    let mean = differences.reduce(0, +) / n
    let variance = differences.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / max(1, n - 1)
    return mean < -(variance / n).squareRoot()
  }

  /// The trial as it is kept.
  package var json: JSONObject {
    var json = JSONObject([
      ("learning_rate", .number(Double("\(settings.learningRate)") ?? 0)), ("epochs", .integer(settings.epochs)),
      ("hits", .integer(hits)), ("seconds", .number(seconds)), ("distances", .array(distances.map { .number($0) })),
    ])
    if !pooledDistances.isEmpty { json["pooled_distances"] = .array(pooledDistances.map { .array($0.map { .number($0) }) }) }
    return json
  }

  /// Reads what ``json`` wrote; nil for anything else.
  package init?(_ json: JSONValue) {
    guard let rate = json["learning_rate"]?.double, let epochs = json["epochs"]?.int, let hits = json["hits"]?.int,
      let seconds = json["seconds"]?.double, let distances = json["distances"]?.array
    else { return nil }
    settings = SettingsSearch.Settings(learningRate: Float(rate), epochs: epochs)
    (self.hits, self.seconds, self.distances) = (hits, seconds, distances.compactMap(\.double))
    pooledDistances = (json["pooled_distances"]?.array ?? []).map { ($0.array ?? []).compactMap(\.double) }
    guard pooledDistances.isEmpty || pooledDistances.count == Self.wordShares.count,
      pooledDistances.allSatisfy({ $0.count == distances.count })
    else { return nil }
    guard self.distances.count == distances.count, (0...distances.count).contains(hits), seconds >= 0 else { return nil }
  }
}

/// The findings of a search.
package struct SearchResult: Equatable, Sendable {
  /// Texts that each trial asked about.
  package let heldOutTexts: Int
  /// Trainings of a trial.
  package let folds: Int
  /// All trials in their order; the first has the settings that a run would have had anyway.
  package private(set) var trials: [SearchTrial] = []
  /// The digest of the job that it searched for, with the settings that it began with.
  var identity = ""
  private var bestIndex = 0

  init(heldOutTexts: Int, folds: Int) { (self.heldOutTexts, self.folds) = (heldOutTexts, folds) }

  /// The trial whose settings are taken.
  package var best: SearchTrial { trials[bestIndex] }

  /// Adds a trial; true where it is the best so far.
  mutating func add(_ trial: SearchTrial) -> Bool {
    trials.append(trial)
    guard trials.count == 1 || trial.isBetter(than: best) else { return false }
    bestIndex = trials.count - 1
    return true
  }

  /// The member of a manifest. Neither times nor rates.
  var json: JSONValue {
    let trials = trials.map { trial -> JSONValue in
      [
        "learning_rate": .number(Double("\(trial.settings.learningRate)") ?? 0), "epochs": .integer(trial.settings.epochs),
        "brier": trial.hasFailed ? .null : .number(trial.score), "accuracy": trial.hasFailed ? .null : .number(trial.accuracy),
      ]
    }
    var json = JSONObject([
      (key: "run_sha256", value: .string(identity)), (key: "held_out_texts", value: .integer(heldOutTexts)),
      (key: "folds", value: .integer(folds)), (key: "trials", value: .array(trials)),
    ])
    if let (share, score) = best.wordShare { json["words"] = ["share": .number(share), "brier": .number(score)] }
    return .object(json)
  }
}
