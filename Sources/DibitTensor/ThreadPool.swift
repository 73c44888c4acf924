internal import CDibitThreads
internal import Glibc
internal import Synchronization

/// Threads that wait for short parallel loops: fork and join cost about a microsecond while the pool is busy, nothing when it is idle.
///
/// Work is split into numbered tasks; which thread runs a task is not determined, so a task must own all it writes. Give tasks a
/// size that does not depend on ``threads`` and the results will not depend on it either.
package final class ThreadPool: Sendable {
  /// The number of threads that work on a loop, the caller's included.
  package let threads: Int
  private let shared: Shared
  /// One loop at a time; a second caller waits.
  private let callers = Mutex(())

  /// A pool of `threads` threads, the caller's included; of fewer where the system refuses to start so many.
  ///
  /// More threads than CPUs are allowed: they help nobody, and sleep whenever there is no work.
  package init(threads: Int) {
    require(threads >= 1, "ThreadPool: \(threads) threads; at least 1 is needed")
    let shared = Shared(threads: threads, patience: threads <= Processors.schedulable ? .worker : .none)
    var started = 1
    while started < threads {
      let worker = started
      guard startThread({ shared.work(as: worker) }) else { break }
      started += 1
    }
    self.threads = started
    shared.threads.store(started, ordering: .relaxed)
    self.shared = shared
  }

  deinit { shared.stop() }

  /// Calls `body(task, worker)` once for each task in `0..<tasks`, on several threads, and returns when all are done.
  ///
  /// `worker` is in `0..<threads` and differs between threads that run at the same time: index scratch memory by it. Each worker
  /// begins with its own part of `0..<tasks`, the same in each loop of as many tasks, so that its cache may still hold what the
  /// loop before left there. Do not call this from inside a task. At most 2²⁴ - 1 tasks.
  package func forEach(_ tasks: Int, _ body: (_ task: Int, _ worker: Int) -> Void) {
    callers.withLock { _ in
      // The caller is worker 0 here too, so even a loop that needs no other thread must wait its turn.
      if tasks <= 1 || threads == 1 {
        for task in 0..<max(tasks, 0) { body(task, 0) }
        return
      }
      let loop = Loop(shared: shared, tasks: tasks)
      unsafe withUnsafePointer(to: loop) { loop in
        // SAFETY: `loop` outlives the call; `run` returns only after the last task has, so no thread reads the closure after this scope.
        unsafe lend(body, UnsafeMutableRawPointer(mutating: loop)) { body, loop in
          let loop = unsafe loop.assumingMemoryBound(to: Loop.self)
          unsafe loop.pointee.shared.run(loop.pointee.tasks, body)
        }
      }
    }
  }
}

/// The data that the caller's part of a loop needs.
private struct Loop {
  let shared: Shared
  let tasks: Int
}

/// Calls `borrow` with `body`, whose two words C can write where other threads find them: nothing is allocated, no reference counted.
@_silgen_name("dibit_body_lend")
private func lend(
  _ body: (_ task: Int, _ worker: Int) -> Void, _ argument: UnsafeMutableRawPointer,
  _ borrow: @convention(c) (UnsafePointer<dibit_body>, UnsafeMutableRawPointer) -> Void)

/// A number that threads share, with nothing else in its cache line, nor in the next, which some CPUs fetch along with it.
private struct Line: ~Copyable, Sendable {
  let number = Atomic<UInt64>(0)
  /// In the header's line: the address of the loop's body, which whoever has read the header needs next.
  let body = Atomic<UInt>(0)
  let padding = InlineArray<14, UInt64>(repeating: 0)
}

/// The state that caller and workers share.
///
/// `header` names the loop: its number in the lower 40 bits, its count of tasks in the upper 24. Each worker owns a range of the tasks,
/// and has a slot with the loop's number and, above it, the next task of this range. Whoever raises the slot by one task in a
/// compare-and-exchange runs this task; threads that are through with their own range look into the other slots. The exchange fails
/// when another loop has begun, so a thread that slept through the end of a loop does no harm, and nobody waits for it.
@safe private final class Shared: @unchecked Sendable {
  // SAFETY: of everything below. The pointers stay valid until `deinit`, and every thread that uses them holds this object.
  private let header: UnsafeMutablePointer<Line>
  /// Tasks that are not done, and `callerSleeps`.
  private let remaining: UnsafeMutablePointer<Line>
  /// Workers that sleep until `header` changes.
  private let asleep: UnsafeMutablePointer<Line>
  private let slots: UnsafeMutablePointer<Line>
  private let lines: UnsafeMutableBufferPointer<Line>
  private let patience: Patience
  /// The threads that were started, and the caller. Set before the first loop.
  let threads = Atomic<Int>(1)

  private static let oneTask: UInt64 = 1 << 40
  private static let loopNumber = oneTask - 1
  private static let stopped: UInt64 = 0xFF_FFFF
  private static let callerSleeps: UInt64 = 1 << 31

  init(threads: Int, patience: Patience) {
    unsafe lines = .allocate(capacity: 3 + threads)
    for index in unsafe lines.indices { unsafe lines.initializeElement(at: index, to: Line()) }
    let first = unsafe lines.baseAddress.unsafelyUnwrapped
    unsafe (header, remaining, asleep, slots) = (first, first + 1, first + 2, first + 3)
    self.patience = patience
  }

  deinit { unsafe lines.deinitialize().deallocate() }

  // MARK: The caller

  func run(_ count: Int, _ body: UnsafePointer<dibit_body>) {
    require(count < Int(Self.stopped), "ThreadPool: \(count) tasks are too many")
    let (name, threads) = (nextName(UInt64(count)), threads.load(ordering: .relaxed))
    let ranges = Ranges(count, threads)
    for slot in 0..<threads {
      unsafe slots[slot].number.store(ranges.start(slot) << 40 | name & Self.loopNumber, ordering: .relaxed)
    }
    unsafe remaining.pointee.number.store(UInt64(count), ordering: .relaxed)
    unsafe header.pointee.body.store(UInt(bitPattern: body), ordering: .relaxed)
    // Sequentially consistent, as in `sleep`: a worker that does not see the new name is one that is seen asleep here.
    unsafe header.pointee.number.store(name, ordering: .sequentiallyConsistent)
    let awake = unsafe threads - 1 - Int(asleep.pointee.number.load(ordering: .sequentiallyConsistent))
    let missing = min(count, threads) - 1 - awake
    if missing > 0 { unsafe dibit_futex_wake(header, Int32(missing)) }
    _ = takeTasks(name, worker: 0)
    awaitOthers()
  }

  private func awaitOthers() {
    var patience = Patience.caller
    while unsafe remaining.pointee.number.load(ordering: .acquiring) != 0 {
      if patience.look() { continue }
      var left = unsafe remaining.pointee.number.bitwiseOr(Self.callerSleeps, ordering: .acquiringAndReleasing).newValue
      while left != Self.callerSleeps {
        unsafe dibit_futex_wait(remaining, UInt32(truncatingIfNeeded: left))
        left = unsafe remaining.pointee.number.load(ordering: .acquiring)
      }
      return
    }
  }

  func stop() {
    unsafe header.pointee.number.store(nextName(Self.stopped), ordering: .sequentiallyConsistent)
    unsafe dibit_futex_wake(header, .max)
  }

  private func nextName(_ count: UInt64) -> UInt64 {
    unsafe count << 40 | (header.pointee.number.load(ordering: .relaxed) &+ 1) & Self.loopNumber
  }

  // MARK: The workers

  func work(as worker: Int) {
    var (seen, patience) = (UInt64(0), patience)
    while true {
      let name = unsafe header.pointee.number.load(ordering: .acquiring)
      if name != seen {
        seen = name
        if name >> 40 == Self.stopped { return }
        // A worker that finds nothing to do in loop after loop may sleep: the loops are too short for so many threads.
        if takeTasks(name, worker: worker) { patience = self.patience }
      } else if !patience.look() {
        sleep(while: name)
        patience = self.patience
      }
    }
  }

  private func sleep(while name: UInt64) {
    unsafe asleep.pointee.number.add(1, ordering: .sequentiallyConsistent)
    while unsafe header.pointee.number.load(ordering: .sequentiallyConsistent) == name {
      unsafe dibit_futex_wait(header, UInt32(truncatingIfNeeded: name))
    }
    unsafe asleep.pointee.number.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Runs the tasks of `worker`'s range, then those that others have not begun; false when there were none.
  private func takeTasks(_ name: UInt64, worker: Int) -> Bool {
    let threads = threads.load(ordering: .relaxed)
    let ranges = Ranges(Int(name >> 40), threads)
    // Before any exchange: one that succeeds proves that the loop still runs, so this was the address of its body.
    guard let body = unsafe UnsafePointer<dibit_body>(bitPattern: header.pointee.body.load(ordering: .relaxed)) else { return false }
    var tookAny = false
    var slot = worker
    repeat {
      let end = ranges.start(slot + 1)
      var done: UInt64 = 0
      var seen = unsafe slots[slot].number.load(ordering: .relaxed)
      while (seen ^ name) & Self.loopNumber == 0, seen >> 40 < end {
        let (won, now) = unsafe slots[slot].number.compareExchange(expected: seen, desired: seen + Self.oneTask, ordering: .relaxed)
        if won {
          // SAFETY: the caller waits until `remaining` is zero, so the closure lives.
          unsafe dibit_body_run(body, Int(seen >> 40), worker)
          done += 1
          seen += Self.oneTask
        } else {
          seen = now
        }
      }
      if done > 0 {
        tookAny = true
        let left = unsafe remaining.pointee.number.subtract(done, ordering: .releasing).newValue
        if left == Self.callerSleeps { unsafe dibit_futex_wake(remaining, 1) }
      }
      slot = slot + 1 == threads ? 0 : slot + 1
    } while slot != worker
    return tookAny
  }
}

/// Each worker's part of a loop: contiguous, and of equal size but for one task.
private struct Ranges {
  private let size: Int
  private let larger: Int

  init(_ count: Int, _ threads: Int) { (size, larger) = count.quotientAndRemainder(dividingBy: threads) }

  func start(_ worker: Int) -> UInt64 { UInt64(worker * size + min(worker, larger)) }
}

/// Starts a detached thread; false when the system refuses it.
package func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
  let box = unsafe Unmanaged.passRetained(Box(body))
  var id = pthread_t()
  // SAFETY: the thread takes over the retained box.
  let result = unsafe pthread_create(
    &id, nil,
    { argument in
      guard let argument = unsafe argument else { return nil }
      unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
      return nil
    }, box.toOpaque())
  guard result == 0 else {
    unsafe box.release()
    return false
  }
  pthread_detach(id)
  return true
}

private final class Box: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
