internal import Synchronization

/// Collects how long each op takes. A ``Compute`` that was made with one reports every op to it; without one an op pays one branch.
package final class Profiler: Sendable {
  /// The purpose of a pass of many ops.
  package enum Phase: String, CaseIterable, Sendable {
    /// A prompt is read.
    case prefill
    /// Tokens are made one by one.
    case decode
    /// The forward pass of a training step.
    case forward = "forward pass"
    /// The head and the loss of a training step, forward and backward.
    case loss
    /// The backward pass of a training step.
    case backward = "backward pass"
  }

  /// One call of an op, or a pass.
  package struct Event: Equatable, Sendable {
    /// The op; of a pass, its phase.
    package let name: String
    /// The phase of a pass; nil for an op.
    package let phase: Phase?
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

  /// Adds a pass that began at `begin` and ends now.
  package func record(_ phase: Phase, since begin: ContinuousClock.Instant, rows: Int) {
    record(phase.rawValue, phase, since: begin, rows: rows, columns: 0, bytes: 0)
  }

  fileprivate func record(_ name: String, _ phase: Phase?, since begin: ContinuousClock.Instant, rows: Int, columns: Int, bytes: Int) {
    let end = ContinuousClock.now
    let event = Event(
      name: name, phase: phase, rows: rows, columns: columns, bytes: bytes, start: Self.nanoseconds(begin - origin),
      duration: Self.nanoseconds(end - begin))
    recorded.withLock { $0.append(event) }
  }

  private static func nanoseconds(_ duration: Duration) -> Int {
    Int(duration.components.seconds) * 1_000_000_000 + Int(duration.components.attoseconds / 1_000_000_000)
  }
}

extension Compute {
  /// Returns the time at which an op begins; nil when nobody measures. Goes with a `defer` that calls ``end(_:_:rows:columns:bytes:)``.
  @inline(__always)
  func begin() -> ContinuousClock.Instant? { profiler == nil ? nil : .now }

  /// Reports the op that began at `begin`.
  @inline(__always)
  func end(
    _ name: StaticString, _ begin: ContinuousClock.Instant?, rows: @autoclosure () -> Int, columns: @autoclosure () -> Int,
    bytes: @autoclosure () -> Int = 0
  ) {
    guard let begin else { return }
    profiler?.record("\(name)", nil, since: begin, rows: rows(), columns: columns(), bytes: bytes())
  }
}
