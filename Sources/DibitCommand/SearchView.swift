internal import Dibit
internal import DibitFailure

/// The view that a person has of a search for settings: a line while a trial is made, and one that stays when it is done.
struct SearchView: ~Copyable {
  private var view: TrialView?
  private var number = 0
  private var words: ProgressLine?

  /// Shows what happens; false when the user wants to stop.
  mutating func show(_ event: SettingsSearch.Event) -> Bool {
    switch event {
    case .learningWords(let done, let folds):
      if words == nil { words = ProgressLine("a classifier of words learns") }
      words?.update(done, of: folds, "fold \(done + 1) of \(folds)")
      return !Interrupt.isRequested
    case .trying(let number, let settings, let event):
      if number != self.number {
        finish()
        self.number = number
        view = TrialView("trial \(number), \(Self.text(settings))")
      }
      return view?.show(event) ?? true
    case .tried(let trial, let isBest):
      finish()
      let found =
        trial.hasFailed
        ? "the losses ran away"
        : "\(decimal(trial.accuracy * 100, 1)) % of \(counted(trial.distances.count)) held out right, Brier score \(decimal(trial.score, 3))"
      Terminal.write("\(Self.text(trial.settings)): \(found), in \(duration(trial.seconds))\(isBest ? "; the best so far" : "")\n")
      return !Interrupt.isRequested
    }
  }

  private mutating func finish() {
    words?.finish()
    view?.finish()
    words = nil
    view = nil
  }

  private static func text(_ settings: SettingsSearch.Settings) -> String {
    "learning_rate \(settings.learningRate), \(counted(settings.epochs, "epoch"))"
  }
}
