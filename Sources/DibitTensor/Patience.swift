internal import CDibitThreads
internal import Glibc

/// The wait of a thread before it sleeps: it looks again and again, later it offers its CPU to others between looks.
struct Patience {
  private let limit: Duration
  private var looks = 0
  private var began: ContinuousClock.Instant?
  private var yields = false

  static let none = Patience(limit: .zero)
  /// Of a worker between loops: what a program does there, such as choosing a token, seldom takes longer. Waking costs about 20 µs.
  static let worker = Patience(limit: .microseconds(500))
  /// Of a caller whose workers are not done: one of them may be waiting for a CPU, and could have this one.
  static let caller = Patience(limit: .microseconds(100))
  private static let politeness = Duration.microseconds(20)

  private init(limit: Duration) { self.limit = limit }

  /// Waits a moment; false when it is time to sleep.
  mutating func look() -> Bool {
    looks += 1
    if yields { sched_yield() } else { dibit_pause() }
    // Short waits end before the clock is read.
    guard looks % 64 == 0 else { return true }
    let now = ContinuousClock.now
    let waited = (began ?? now).duration(to: now)
    if began == nil { began = now }
    yields = waited >= Self.politeness
    return waited < limit
  }
}
