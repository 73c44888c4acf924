internal import Dispatch
internal import Synchronization

/// A thread of its own for what takes long, one thing after the other, so that Swift's cooperative threads stay free.
///
/// A serial queue brings up a thread beyond those of the cooperative pool while there is work.
final class Worker: Sendable {
  private let queue: DispatchQueue
  /// Whoever uses the same kernels and threads takes turns with this worker.
  let turns: Turns

  /// A worker; one that takes turns with others, where `turns` says with whom.
  init(_ name: String, turns: Turns = Turns()) {
    queue = DispatchQueue(label: "dibit." + name)
    self.turns = turns
  }

  /// Begins `body` when all that was begun here before is done, and it is its turn.
  func begin(_ body: @escaping @Sendable () -> Void) { queue.async { [turns] in turns.take(body) } }

  /// The value of `body`, which may ask whether the calling task was cancelled.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable (_ isCancelled: () -> Bool) throws -> Value
  ) async throws(DibitError) -> Value {
    try await Job<Never, Value>(on: self) { job in try body { job.isCancelled } }.value
  }
}

/// A flag that is raised once, from any thread.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isRequested: Bool { flag.load(ordering: .relaxed) }

  func request() { flag.store(true, ordering: .relaxed) }
}

/// A value that comes once, for any number of tasks that wait.
final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiting: [CheckedContinuation<Value, Never>] = []
  }

  private let state = Mutex(State())

  /// Keeps the value and wakes who waits.
  func fulfil(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = value
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }

  /// The value, once it is there.
  var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state in
          if state.value == nil { state.waiting.append(continuation) }
          return state.value
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
