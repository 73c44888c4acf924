internal import Synchronization

/// Collects how long each op takes. A ``Compute`` that was made with one reports every op to it; without one an op pays one branch.
package final class Profiler: Sendable {
  /// One call of an op.
  package struct Event: Equatable, Sendable {
    /// The op.
    package let name: String
    /// Rows and columns of its weight, or of its result.
    package let rows: Int
    /// As ``rows``.
    package let columns: Int
    /// Bytes of weights that it reads.
    package let bytes: Int
    /// Nanoseconds from ``Profiler/init()`` to its begin.
    package let start: Int
    /// Nanoseconds that it took.
    package let duration: Int
  }

  private let origin = ContinuousClock.now
  private let recorded = Mutex<[Event]>([])

  /// A profiler without events.
  package init() {}

  /// The calls so far, in the order in which they ended.
  package var events: [Event] { recorded.withLock { $0 } }

  /// Forgets all calls and returns them.
  package func takeEvents() -> [Event] {
    recorded.withLock { events in
      defer { events.removeAll(keepingCapacity: true) }
      return events
    }
  }

  /// Adds a call that began at `begin` and ends now.
  package func record(_ name: StaticString, since begin: ContinuousClock.Instant, rows: Int = 0, columns: Int = 0, bytes: Int = 0) {
    let end = ContinuousClock.now
    let event = Event(
      name: "\(name)", rows: rows, columns: columns, bytes: bytes, start: Self.nanoseconds(begin - origin),
      duration: Self.nanoseconds(end - begin))
    recorded.withLock { $0.append(event) }
  }

  private static func nanoseconds(_ duration: Duration) -> Int {
    Int(duration.components.seconds) * 1_000_000_000 + Int(duration.components.attoseconds / 1_000_000_000)
  }
}

extension Compute {
  /// When an op begins; nil when nobody measures. Goes with a `defer` that calls ``end(_:_:rows:columns:bytes:)``.
  @inline(__always)
  func begin() -> ContinuousClock.Instant? { profiler == nil ? nil : .now }

  /// Reports the op that began at `begin`.
  @inline(__always)
  func end(
    _ name: StaticString, _ begin: ContinuousClock.Instant?, rows: @autoclosure () -> Int, columns: @autoclosure () -> Int,
    bytes: @autoclosure () -> Int = 0
  ) {
    guard let begin else { return }
    profiler?.record(name, since: begin, rows: rows(), columns: columns(), bytes: bytes())
  }
}
