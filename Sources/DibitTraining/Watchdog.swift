/// The conditions under which a run is given up.
package struct WatchdogOptions: Equatable, Sendable {
  /// A step is suspicious when its loss is more than this many times the median of the steps before.
  package var factor: Float = 3
  /// Suspicious steps in a row after which the run ends; 0 for never. A loss that is no number ends it at once.
  package var steps = 25

  /// Three times the median, for 25 steps.
  package init() {}
}

/// Watches the losses of a run for divergence.
struct Watchdog: Equatable, Sendable {
  /// The last losses that were not suspicious, the oldest first.
  private(set) var recent: [Float] = []
  /// Suspicious steps in a row.
  private(set) var suspicious = 0

  /// Steps that the median is taken over.
  private static let window = 101
  /// Fewer losses make no median.
  private static let least = 10
  /// Losses below this many nats are learnt by heart, and may jump.
  private static let floor: Float = 0.05

  init() {}

  init(recent: [Float], suspicious: Int) {
    self.recent = recent
    self.suspicious = suspicious
  }

  /// True when the last steps are as they should be: only then is their state worth keeping.
  var isCalm: Bool { suspicious == 0 }

  /// Takes in the loss of a step; returns the median that it is too far above, when the run should end.
  mutating func hasDiverged(_ loss: Float, _ options: WatchdogOptions) -> Float? {
    guard options.steps > 0 else { return nil }
    let median = recent.count < Self.least ? nil : recent.sorted()[recent.count / 2]
    if let median, loss > options.factor * max(median, Self.floor) {
      suspicious += 1
      return suspicious >= options.steps ? median : nil
    }
    suspicious = 0
    recent.append(loss)
    if recent.count > Self.window { recent.removeFirst() }
    return nil
  }
}
