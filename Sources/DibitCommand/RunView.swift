internal import DibitFiles
internal import DibitTraining

/// The views of a training run that a person sees and that TensorBoard reads: both are of the same events.
struct RunView: ~Copyable {
  private var line: ProgressLine
  private var tensorboard: TensorBoardLog?
  private var seconds = 0.0
  private var resumedAt = 0
  private var hasLabels = true

  init(_ title: String) { line = ProgressLine(title) }

  init(_ title: String, tensorboard directory: String?, inputs: JobInputs) throws {
    self.init(title)
    tensorboard = try directory.map { try TensorBoardLog(directory: $0, inputs: inputs) }
  }

  mutating func show(_ event: TrainingEvent) {
    seconds = event.measured.seconds
    switch event.kind {
    case .start(let start):
      (resumedAt, hasLabels) = (start.step, start.mode == .adapter)
      if start.step > 0 { line.note("going on after step \(start.step) of \(start.totalSteps)") }
    case .step(let step):
      let rate = "\(Int(event.measured.tokensPerSecond)) tokens/s"
      line.update(
        step.step, of: step.totalSteps, left: event.measured.secondsLeft,
        "step \(step.step)/\(step.totalSteps)  loss \(decimal(Double(step.loss), 3))  \(rate)")
    case .validation(let validation):
      let loss = decimal(Double(validation.loss), 4)
      line.note(
        hasLabels
          ? "epoch \(validation.epoch), step \(validation.step): validation loss \(loss), "
            + "on the labels alone \(decimal(Double(validation.contentLoss), 4)) nats/token"
          : "step \(validation.step): held-out loss \(loss) nats/token")
    case .checkpoint: break
    case .end(let end):
      if end.reason == .stoppedEarly { line.note("validation gets no better: ended after step \(end.step)") }
      if end.keptStep != end.step, end.reason != .diverged { line.note("kept the parameters of step \(end.keptStep), the best validation") }
    }
    do { try tensorboard?.add(event) } catch {
      line.note("note: no more events for TensorBoard: \(error)")
      tensorboard = nil
    }
  }

  /// " in 5 s: 800 tokens/s"; only the time for a run that was taken up again.
  func summary(_ result: TrainingResult) -> String {
    let time = " in \(duration(seconds))"
    return resumedAt > 0
      ? time + " since step \(resumedAt)" : time + ": \(Int(Double(result.tokens) / max(seconds, 1e-9))) tokens/s"
  }

  mutating func finish() { line.finish() }
}
