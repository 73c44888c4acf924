package import DibitDataset
internal import DibitFailure
package import DibitTraining

/// Finds, on texts that are held out for it, the learning rate and the epochs with which an adapter answers best.
///
/// A pattern search on a grid of factors of two: from the settings that a run would have anyway, a neighbour (twice or half the rate, twice
/// or half the epochs) takes their place where its mean Brier score is lower by more than the standard error of that difference over the
/// held-out texts. It ends where no neighbour is better, or where another trial and the training itself would not fit into the budget. What
/// is tried follows from the seed, the texts and the seconds that trials took.
/// Source: Hooke and Jeeves, "Direct search solution of numerical and statistical problems" (1961).
package struct SettingsSearch {
  /// The settings that are varied; the others of a run stay.
  package struct Settings: Hashable, Sendable {
    /// The peak learning rate.
    package var learningRate: Float
    /// Passes over the training texts.
    package var epochs: Int
  }

  /// An event in a search.
  package enum Event: Sendable {
    /// Before a classifier of words learns from the texts of a fold, behind so many that are done.
    case learningWords(done: Int, folds: Int)
    /// While the trial of this number, from 1, is made of these settings.
    case trying(Int, Settings, AdapterTrial.Event)
    /// A trial is done, here or before the job was stopped.
    case tried(SearchTrial, isBest: Bool)
  }

  /// The settings that are varied; those that a user has chosen stay.
  package struct Variation: Sendable {
    /// True to vary the learning rate.
    package var learningRate = true
    /// True to vary the epochs.
    package var epochs = true
    /// True to look at shares of a classifier of words too, which takes no further trial.
    package var wordShare = false

    /// Varies what is not given.
    package init(learningRate: Bool, epochs: Bool, wordShare: Bool) {
      (self.learningRate, self.epochs, self.wordShare) = (learningRate, epochs, wordShare)
    }
  }

  /// The most that a search departs from where it begins: three doublings.
  private static let farthest: Float = 8
  /// Texts that are enough to ask about; with fewer in a fold, more folds are asked.
  private static let enoughTexts = 150

  /// Texts to train on and to ask about.
  private struct Fold {
    var training: [LabelledExample]
    var heldOut: [LabelledExample]
  }

  private let trial: AdapterTrial
  private let options: TrainingOptions
  private let variation: Variation
  private let folds: [Fold]
  /// Texts that the run itself trains on, for each one that a trial trains on, folds added up.
  private let share: Double

  /// A search for a run with `options` on the texts of `dataset`: trials ask about its validation split where the data has one of its own,
  /// otherwise about thirds of its training texts, of which the other two are trained on.
  ///
  /// - Throws: ``DatasetError`` where there are too few texts that differ.
  package init(_ trial: AdapterTrial, _ dataset: Dataset, options: TrainingOptions, varying variation: Variation) throws {
    (self.trial, self.options, self.variation) = (trial, options, variation)
    let training = dataset.labelled(.train)
    if dataset.hasAutomaticValidation || dataset.validation.isEmpty {
      let pool = (training + dataset.labelled(.validation))
      let texts = pool.orderOfTexts.map { pool[$0] }
      let drawn = try Folds(texts, count: 3, seed: options.optimization.seed)
      var (folds, asked): ([Fold], Int) = ([], 0)
      for fold in 0..<drawn.count where asked < Self.enoughTexts {
        let heldOut = Self.labelled(drawn.indices(in: fold).map { texts[$0] })
        folds.append(Fold(training: drawn.indices(outside: fold).map { texts[$0] }, heldOut: heldOut))
        asked += heldOut.count
      }
      self.folds = folds
    } else {
      folds = [Fold(training: training, heldOut: Self.labelled(dataset.labelled(.validation)))]
    }
    share = Double(training.count) / Double(max(1, folds.reduce(0) { $0 + $1.training.count }))
  }

  /// The texts that can be asked for one label.
  private static func labelled(_ texts: [LabelledExample]) -> [LabelledExample] { texts.filter { !$0.labels.isEmpty } }

  /// The number of texts that each trial asks about.
  package var heldOutTexts: Int { folds.reduce(0) { $0 + $1.heldOut.count } }

  /// The trials without which a search finds nothing: a second one to compare settings, where the first does not tell what words add.
  package var leastTrials: Int { variation.wordShare ? 1 : 2 }

  /// The seconds of the shortest search that can find anything, and of the training behind it, which takes `training` seconds.
  package func leastSeconds(training: Double) -> Double { training * (1 + Double(leastTrials) / max(share, 1e-9)) }

  /// Searches; `report` is told what happens and stops it by returning false. All trials in their order, or nil where it was stopped.
  ///
  /// - Parameters:
  ///   - budget: Seconds for the trials and the training behind them.
  ///   - completed: Where trials are kept that are done.
  package func run(budget: Double, completed: inout CompletedParts, report: (Event) -> Bool) throws -> SearchResult? {
    let start = Settings(learningRate: options.optimization.learningRate, epochs: options.epochs)
    var result = SearchResult(heldOutTexts: heldOutTexts, folds: folds.count)
    let clock = ContinuousClock()
    let begin = clock.now
    guard let words = words(report) else { return nil }
    let spentOnWords = begin.duration(to: clock.now) / .seconds(1)
    var (next, direction) = (Optional(start), nil as Direction?)
    while let settings = next {
      let number = result.trials.count + 1
      let outcome = try completed.outcome(settings.name, read: SearchTrial.init, json: \.json) {
        try attempt(settings, words) { report(.trying(number, settings, $0)) }
      }
      guard let outcome else { return nil }
      let isBest = result.add(outcome)
      guard report(.tried(outcome, isBest: isBest)) else { return nil }
      if !isBest { direction = nil }
      let best = result.best.settings
      let tried = Set(result.trials.map(\.settings))
      let candidates = neighbours(of: best, from: start, first: direction).filter { !tried.contains($0.settings) }
      let found = candidates.first { spentOnWords + spent(result) + seconds(of: $0.settings, best, result) <= budget }
      (next, direction) = (found?.settings, found?.direction)
    }
    return result
  }

  /// Log-probabilities by a classifier of words of the texts of each fold that are held out, which depends on no setting; nil where `report` stops it.
  private func words(_ report: (Event) -> Bool) -> [[[Double]]]? {
    guard variation.wordShare else { return folds.map { _ in [] } }
    var words: [[[Double]]] = []
    for fold in folds {
      guard report(.learningWords(done: words.count, folds: folds.count)) else { return nil }
      words.append(trial.words(training: fold.training, heldOut: fold.heldOut))
    }
    return words
  }

  /// The ways to a neighbour.
  private enum Direction: CaseIterable { case fasterRate, moreEpochs, slowerRate, fewerEpochs }

  /// The neighbours of `settings` that are not too far from `start`; the one in the direction that has just helped comes first.
  private func neighbours(
    of settings: Settings, from start: Settings, first: Direction?
  ) -> [(direction: Direction, settings: Settings)] {
    let order = (first.map { [$0] } ?? []) + Direction.allCases.filter { $0 != first }
    return order.compactMap { direction in
      var neighbour = settings
      switch direction {
      case .fasterRate: neighbour.learningRate *= 2
      case .slowerRate: neighbour.learningRate /= 2
      case .moreEpochs: neighbour.epochs *= 2
      case .fewerEpochs: neighbour.epochs = (neighbour.epochs + 1) / 2
      }
      let isRate = direction == .fasterRate || direction == .slowerRate
      guard isRate ? variation.learningRate : variation.epochs else { return nil }
      let ratio = isRate ? neighbour.learningRate / start.learningRate : Float(neighbour.epochs) / Float(start.epochs)
      guard neighbour != settings, (1 / Self.farthest...Self.farthest).contains(ratio) else { return nil }
      return (direction, neighbour)
    }
  }

  /// Trains and asks with these settings, fold by fold, of each of which `words` has what a classifier of words says; nil where `report` stops it.
  private func attempt(_ settings: Settings, _ words: [[[Double]]], _ report: (AdapterTrial.Event) -> Bool) throws -> SearchTrial? {
    var options = options
    (options.optimization.learningRate, options.epochs) = (settings.learningRate, settings.epochs)
    let clock = ContinuousClock()
    let begin = clock.now
    var done = SearchTrial(settings)
    for (fold, words) in zip(folds, words) {
      let parts = fold.training.splitForTraining(seed: options.optimization.seed)
      do {
        let outcome = try trial.run(
          training: parts.training, validation: parts.validation, heldOut: fold.heldOut, options: options, includesBase: false,
          baselines: [], report: report)
        guard let outcome else { return nil }
        done.add(outcome, words: words)
      } catch let error as TrainingError where error.kind == .failedRun {
        // A rate at which losses run away is a finding, not a failure.
        done.fail()
        break
      }
    }
    done.seconds = begin.duration(to: clock.now) / .seconds(1)
    return done
  }

  private func spent(_ result: SearchResult) -> Double { result.trials.reduce(0) { $0 + $1.seconds } }

  /// The seconds that a trial of `settings` will take, and the training behind it, if no other trial comes in between.
  private func seconds(of settings: Settings, _ best: Settings, _ result: SearchResult) -> Double {
    let rated = result.trials.filter { !$0.hasFailed }
    let epoch = rated.reduce(0) { $0 + $1.seconds } / Double(max(1, rated.reduce(0) { $0 + $1.settings.epochs }))
    return epoch * (Double(settings.epochs) + share * Double(max(settings.epochs, best.epochs)))
  }
}

extension SettingsSearch.Settings {
  /// The name of a trial of these settings.
  var name: String { "\(CheckpointStore.trialPrefix)rate-\(learningRate)-epochs-\(epochs)" }
}
