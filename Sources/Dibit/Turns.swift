internal import Dispatch
internal import Synchronization

/// A lock for which callers wait in the order in which they came, so that texts that are written side by side all go on.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [DispatchSemaphore] = []
  }

  private let state = Mutex(State())

  /// Waits for the turn, calls `body` and hands the turn on.
  func take<Value>(_ body: () throws -> Value) rethrows -> Value {
    wait()
    defer { leave() }
    return try body()
  }

  /// Lets those go first who wait; for the holder of the turn.
  func yield() {
    guard state.withLock({ !$0.waiting.isEmpty }) else { return }
    leave()
    wait()
  }

  private func wait() {
    let semaphore = state.withLock { state -> DispatchSemaphore? in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      let semaphore = DispatchSemaphore(value: 0)
      state.waiting.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }

  private func leave() {
    state.withLock { state in
      // Handed over while it is taken: nobody who comes later gets between.
      if state.waiting.isEmpty { state.isTaken = false } else { state.waiting.removeFirst().signal() }
    }
  }
}
