internal import DibitFailure

/// The messages to a person about a prompt that takes long to read, and about the speed in the end.
struct GenerationProgress {
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant
  private var end: ContinuousClock.Instant?  // of reading
  private var line: ProgressLine?

  /// The time for which nobody needs to be told anything, in seconds.
  private static let patience = 1.0

  init() { start = clock.now }

  /// Seconds since the start.
  var seconds: Double { (clock.now - start).inSeconds }

  /// Seconds from the start until the prompt had been read, or until now.
  var readingSeconds: Double { ((end ?? clock.now) - start).inSeconds }

  /// Tells of the prompt's tokens that have been read.
  mutating func read(_ done: Int, of total: Int) {
    if done < total {
      if line == nil, seconds < Self.patience { return }
      var line = line ?? ProgressLine("reading the prompt")
      line.update(done, of: total, left: seconds * Double(total - done) / Double(max(1, done)), "\(grouped(done)) tokens")
      self.line = line
    } else {
      end = clock.now
      line?.update(done, of: total, "\(grouped(done)) tokens")
      finish()
    }
  }

  /// Ends the line, if there is one: reading may have been interrupted.
  mutating func finish() { line?.finish() }

  /// "123 prompt tokens in 0.1 s (1,560/s), 64 tokens in 0.3 s (213/s)": for whoever watches, and behind progress that was told.
  func showSpeed(read: Int, made: Int) {
    guard end != nil, Terminal.isInteractive || line != nil else { return }
    let making = seconds - readingSeconds
    Terminal.write("\(Self.speed(read, "prompt token", readingSeconds)), \(Self.speed(made, "token", making))\n")
  }

  private static func speed(_ count: Int, _ noun: String, _ seconds: Double) -> String {
    let rate = Double(count) / max(seconds, 1e-9)
    return
      "\(counted(count, noun)) in \(decimal(seconds, seconds < 1 ? 2 : 1)) s (\(rate < 10 ? decimal(rate, 1) : grouped(Int(min(rate, 1e9))))/s)"
  }
}
