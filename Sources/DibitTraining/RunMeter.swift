internal import DibitFailure
internal import DibitFiles

/// Rate, memory and time left of a run: what its events measure.
struct RunMeter {
  private let totalSteps: Int
  private let start = ContinuousClock.now
  private var first: (step: Int, tokens: Int) = (0, 0)
  private var now: (step: Int, tokens: Int) = (0, 0)
  /// A moment some seconds ago and the tokens until then.
  private var mark: (time: Double, tokens: Int) = (0, 0)
  private var memory: (time: Double, bytes: Int?) = (-1, nil)
  /// The measurements of the last event.
  private(set) var measured = TrainingEvent.Measured(time: 0, seconds: 0, tokensPerSecond: 0, memoryBytes: nil, secondsLeft: 0)

  /// Seconds over which the rate is taken.
  private static let window = 10.0

  init(totalSteps: Int) { self.totalSteps = totalSteps }

  /// The run is at this step.
  mutating func begin(step: Int, tokens: Int) {
    (first, now, mark) = ((step, tokens), (step, tokens), (0, tokens))
    update()
  }

  /// The meter after the steps of `state`.
  mutating func counted(_ state: RunState) -> RunMeter {
    now = (state.step, state.tokens)
    update()
    return self
  }

  private mutating func update() {
    let elapsed = ContinuousClock.now - start
    let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
    // Reading the memory takes longer than a step of a tiny model.
    if memory.time < 0 || seconds - memory.time > 1 { memory = (seconds, ProcessMemory.peak) }
    let done = now.step - first.step
    measured = TrainingEvent.Measured(
      time: WallClock.now, seconds: seconds, tokensPerSecond: Double(now.tokens - mark.tokens) / max(seconds - mark.time, 1e-6),
      memoryBytes: memory.bytes, secondsLeft: done > 0 ? seconds / Double(done) * Double(totalSteps - now.step) : 0)
    if seconds - mark.time > Self.window { mark = (seconds, now.tokens) }
  }
}
