package import DibitJSON
package import DibitKernels

/// The time of a prompt and of decoded tokens, op by op.
package struct Profile: Equatable, Sendable {
  /// A prompt, or some decoded tokens.
  package struct Phase: Equatable, Sendable {
    /// The phase that was run.
    package let name: Profiler.Phase
    /// Each pass through the model.
    package let passes: [Profiler.Event]
    /// The ops of all passes.
    package let ops: [Profiler.Event]

    /// Nanoseconds of all passes.
    package var duration: Int { passes.reduce(0) { $0 + $1.duration } }

    /// Calls of the same op on the same shape put together, the longest first; "between ops" is what no op accounts for.
    package var summary: [OpSummary] {
      var found: [String: OpSummary] = [:]
      for event in ops {
        let key = "\(event.name) [\(event.rows), \(event.columns)]"
        found[key, default: OpSummary(name: key)].add(event)
      }
      var rest = OpSummary(name: "between ops")
      rest.calls = passes.count
      rest.duration = max(0, duration - ops.reduce(0) { $0 + $1.duration })
      return (found.values + [rest]).sorted { ($0.duration, $1.name) > ($1.duration, $0.name) }
    }
  }

  /// The sums of an op over all its calls.
  package struct OpSummary: Equatable, Sendable {
    /// The op and its shape.
    package let name: String
    /// The number of times that it ran.
    package var calls = 0
    /// Nanoseconds of all calls.
    package var duration = 0
    /// Bytes of weights that it read.
    package var bytes = 0

    /// Bytes per second; nil for an op without weights.
    package var bytesPerSecond: Double? { bytes > 0 && duration > 0 ? Double(bytes) / Double(duration) * 1e9 : nil }

    mutating func add(_ event: Profiler.Event) {
      calls += 1
      duration += event.duration
      bytes += event.bytes
    }

    init(name: String) { self.name = name }
  }

  /// In the order in which they ran.
  package let phases: [Phase]

  /// The name that a trace gives its origin, near its start.
  package static let generator = "dibit bench"

  /// A trace for Perfetto or chrome://tracing: the passes on one track, the ops on another.
  package var trace: JSONValue {
    func event(_ event: Profiler.Event, name: String, track: Int) -> JSONValue {
      [
        "name": .string(name), "ph": "X", "pid": 1, "tid": .integer(track), "ts": .number(Double(event.start) / 1000),
        "dur": .number(Double(event.duration) / 1000),
        "args": ["rows": .integer(event.rows), "columns": .integer(event.columns), "weight_bytes": .integer(event.bytes)],
      ]
    }
    func track(_ number: Int, _ name: String) -> JSONValue {
      ["name": "thread_name", "ph": "M", "pid": 1, "tid": .integer(number), "args": ["name": .string(name)]]
    }
    var events = [track(1, "passes"), track(2, "ops")]
    for phase in phases {
      events += phase.passes.map { event($0, name: "\(phase.name.rawValue), \($0.rows) tokens", track: 1) }
      events += phase.ops.map { event($0, name: $0.name, track: 2) }
    }
    return ["otherData": ["generator": .string(Self.generator)], "traceEvents": .array(events), "displayTimeUnit": "ms"]
  }
}
