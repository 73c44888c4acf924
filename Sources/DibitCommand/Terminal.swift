internal import DibitFailure
internal import DibitFiles

/// The error stream: progress and failures go there, results to standard output.
enum Terminal {
  /// True where a person watches.
  static let isInteractive = StandardError.isTerminal

  static func write(_ text: String) { StandardError.write(text) }

  /// Tells what a person should know, with options as they are typed.
  static func note(_ text: String) { write("note: \(Advice.options(in: text))\n") }

  /// Says that an output is there, whatever form the result has.
  static func wrote(_ path: String) { write("wrote \(path)\n") }
}

/// A line that shows how far a job is: redrawn in place for a person, a plain line now and then for a log.
struct ProgressLine {
  private let title: String
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant
  private var last: ContinuousClock.Instant
  private var isShown = false
  /// The time at which the work itself began, and the amount done by then: a model is opened before.
  private var begun: (time: ContinuousClock.Instant, done: Int)?

  init(_ title: String) {
    self.title = title
    start = clock.now
    last = start - .seconds(60)
  }

  /// Seconds since the start.
  var elapsed: Double { (clock.now - start).inSeconds }

  /// Shows `done` of `total`, a detail, and the time left; at most ten times a second, every ten seconds in a log.
  ///
  /// What was done before the first call says nothing of the rate. `left` are seconds, where somebody knows better than the share that is done.
  mutating func update(_ done: Int, of total: Int, left known: Double? = nil, _ detail: @autoclosure () -> String = "") {
    let now = clock.now
    let begun = begun ?? (now, done)
    self.begun = begun
    guard done >= total || (now - last).inSeconds >= (Terminal.isInteractive ? 0.1 : 10) else { return }
    last = now
    let fraction = total > 0 ? min(1, Double(done) / Double(total)) : 1
    let (spent, made) = ((now - begun.time).inSeconds, done - begun.done)
    let left = known ?? (made > 0 ? spent * Double(total - done) / Double(made) : 0)
    let share = "\(Int(fraction * 100)) %"
    // What the first moments foretell is far off.
    let time = done >= total ? duration(elapsed) : (spent < 1 || made <= 0) && known == nil ? "" : "\(duration(left)) left"
    if Terminal.isInteractive {
      let parts = ProgressBar(title: title, fraction: fraction, share: share, detail: detail(), time: time)
      Terminal.write("\r\u{1B}[K" + parts.text(columns: StandardError.columns ?? HelpText.usualWidth))
      isShown = true
    } else {
      Terminal.write("\(title): \([share, detail(), time].filter { !$0.isEmpty }.joined(separator: "  "))\n")
    }
  }

  /// Prints a line that stays above the bar.
  mutating func note(_ text: String) {
    Terminal.write((isShown ? "\r\u{1B}[K" : "") + text + "\n")
    isShown = false
  }

  /// Ends the line.
  mutating func finish() {
    if isShown { Terminal.write("\n") }
    isShown = false
  }
}

/// The text that a ``ProgressLine`` shows a person: a line that is never wrapped, because a wrapped one cannot be drawn over.
struct ProgressBar {
  let title: String
  /// From 0 to 1.
  let fraction: Double
  /// The fraction in per cent.
  let share: String
  let detail: String
  let time: String

  private static let longest = 24
  private static let shortest = 4

  /// The line in less than `columns`: the bar gives way first, then the detail, then the end of the line.
  func text(columns: Int) -> String {
    // Some terminals go to the next line behind a full one.
    let width = max(1, columns - 1)
    let whole = [share, detail, time].filter { !$0.isEmpty }.joined(separator: "  ")
    for text in [whole, [share, time].filter { !$0.isEmpty }.joined(separator: "  ")] {
      let left = width - title.count - text.count - 4
      guard left < Self.shortest else { return "\(title) [\(bar(min(left, Self.longest)))] \(text)" }
      if title.count + text.count + 1 <= width { return "\(title) \(text)" }
    }
    return String("\(title) \(share)".prefix(width))
  }

  private func bar(_ width: Int) -> String {
    let filled = Int(fraction * Double(width))
    return String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
  }
}

/// A ``ProgressLine`` for each of several things that are done one after the other.
struct ProgressLines {
  private var title = ""
  private var line: ProgressLine?

  mutating func update(_ title: String, _ done: Int, of total: Int) {
    if title != self.title {
      finish()
      (self.title, line) = (title, ProgressLine(title))
    }
    line?.update(done, of: total, "\(grouped(done))/\(counted(total))")
  }

  mutating func finish() { line?.finish() }
}

/// "4 s", "3 min 20 s", "2 h 5 min".
func duration(_ seconds: Double) -> String {
  let whole = Int(seconds.rounded())
  if seconds < 10 { return "\(decimal(seconds, 1)) s" }
  if whole < 60 { return "\(whole) s" }
  if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
  return "\(whole / 3600) h \(whole % 3600 / 60) min"
}

/// A number with a fixed count of decimals.
func decimal(_ value: Double, _ places: Int) -> String {
  guard value.isFinite else { return value.isNaN ? "nan" : "inf" }
  var scale = 1.0
  for _ in 0..<places { scale *= 10 }
  let scaled = (abs(value) * scale).rounded()
  guard scaled < 1e15 else { return "\(value)" }
  let digits = String(Int(scaled))
  let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
  let sign = value < 0 && scaled > 0 ? "-" : ""
  return sign + (places == 0 ? padded : padded.dropLast(places) + "." + padded.suffix(places))
}

/// "13.2 %".
func percent(_ share: Double) -> String { decimal(share * 100, 1) + " %" }

/// "1.5 MB", in powers of ten.
func size(_ bytes: Int) -> String {
  for (unit, scale) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] where Double(bytes) >= scale {
    return "\(decimal(Double(bytes) / scale, 1)) \(unit)"
  }
  return "\(bytes) B"
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

/// A difference of shares in percentage points, with its sign: "+7.1".
func points(_ difference: Double) -> String { (difference > 0 ? "+" : "") + decimal(difference * 100, 1) }
