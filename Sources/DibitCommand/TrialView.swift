internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitTraining

/// The view that a person has of a trial: a line while the adapter is trained, and one for each of those who are asked.
struct TrialView: ~Copyable {
  private let title: String
  private var training: RunView
  private var isTraining = true
  private var line: ProgressLine?
  private var name = ""

  init(_ title: String) {
    self.title = title
    training = RunView("\(title), training")
  }

  /// Shows what happens; false when the user wants to stop.
  mutating func show(_ event: AdapterTrial.Event) -> Bool {
    switch event {
    case .training(let event): training.show(event)
    case .evaluating(let name, let done, let total):
      if isTraining { training.finish() }
      isTraining = false
      if name != self.name {
        line?.finish()
        (self.name, line) = (name, ProgressLine("\(title), evaluating \(name)"))
      }
      line?.update(done, of: total, "\(grouped(done))/\(counted(total))")
    }
    return !Interrupt.isRequested
  }

  mutating func finish() {
    if isTraining { training.finish() }
    line?.finish()
  }
}

extension AdapterTrial {
  /// Runs the trial before a person's eyes; nil when the user stops it.
  func run(
    _ title: String, training texts: [LabelledExample], validation: [LabelledExample], heldOut: [LabelledExample],
    options: TrainingOptions, includesBase: Bool
  ) throws -> TrialOutcome? {
    var view = TrialView(title)
    let outcome = try Failure.context(title) {
      try run(training: texts, validation: validation, heldOut: heldOut, options: options, includesBase: includesBase) { view.show($0) }
    }
    view.finish()
    return outcome
  }
}
