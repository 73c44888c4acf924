internal import Dispatch
internal import Glibc
internal import Synchronization

/// Threads that wait for short parallel loops: fork and join cost about a microsecond while the pool is busy, nothing when idle.
///
/// Work is split into numbered tasks; which thread runs a task is not determined, so a task must own all it writes. Give tasks a
/// size that does not depend on ``threads`` and the results will not depend on it either.
public final class ThreadPool: Sendable {
  /// The number of threads that work on a loop, the caller's included.
  public let threads: Int
  private let shared: Shared
  /// One loop at a time; a second caller waits.
  private let callers = Mutex(())

  /// A pool of `threads` threads, the caller's included.
  public init(threads: Int) {
    require(threads >= 1, "ThreadPool: \(threads) threads; at least 1 is needed")
    self.threads = threads
    shared = Shared(workers: threads - 1)
    for worker in 1..<max(threads, 1) {
      let shared = shared
      let thread = Thread { shared.work(worker: worker) }
      thread.start()
    }
  }

  deinit { shared.stop() }

  /// Calls `body(task, worker)` once for each task in `0..<tasks`, on several threads, and returns when all are done.
  ///
  /// `worker` is in `0..<threads` and differs between threads that run at the same time: index scratch memory by it.
  /// Do not call it from inside a task.
  public func forEach(_ tasks: Int, _ body: (_ task: Int, _ worker: Int) -> Void) {
    callers.withLock { _ in
      // The caller is worker 0 here too, so even a loop that needs no other thread must wait its turn.
      if tasks <= 1 || threads == 1 {
        for task in 0..<max(tasks, 0) { body(task, 0) }
        return
      }
      withoutActuallyEscaping(body) { body in
        // SAFETY: `run` returns only after the last task has returned, so no thread reads the closure after this scope.
        unsafe withUnsafePointer(to: body) { unsafe shared.run(tasks, UnsafeRawPointer($0)) }
      }
    }
  }
}

/// What caller and workers share.
///
/// `ticket` holds the loop's generation in its upper half and the next task in its lower; a thread owns a task when its
/// compare-and-exchange on the ticket succeeds. While a loop is being set up the lower half says "nothing left".
private final class Shared: Sendable {
  typealias Body = (Int, Int) -> Void

  private let ticket = Atomic<UInt64>(closed)
  private let body = Atomic<UInt>(0)
  private let tasks = Atomic<Int>(0)
  private let completed = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  private let sleepers: [Sleeper]

  /// How often a waiting thread looks again before it sleeps: roughly 50 microseconds.
  private static let patience = 4_000
  private static let closed: UInt64 = 0xFFFF_FFFF

  init(workers: Int) { sleepers = (0..<workers).map { _ in Sleeper() } }

  func run(_ count: Int, _ closure: UnsafeRawPointer) {
    require(count < Int(Self.closed), "ThreadPool: \(count) tasks are too many")
    let generation = (ticket.load(ordering: .relaxed) >> 32) &+ 1
    ticket.store(generation << 32 | Self.closed, ordering: .sequentiallyConsistent)
    // Releasing: a worker that sees the new loop's values also sees that the ticket was closed, and its exchange fails.
    body.store(UInt(bitPattern: closure), ordering: .releasing)
    tasks.store(count, ordering: .releasing)
    completed.store(0, ordering: .relaxed)
    ticket.store((generation &+ 1) << 32, ordering: .sequentiallyConsistent)
    for sleeper in sleepers { sleeper.wake() }
    while takeTask(worker: 0) {}
    var looks = 0
    while completed.load(ordering: .acquiring) < count {
      looks += 1
      if looks > Self.patience { sched_yield() }
    }
  }

  /// Runs one task if there is one left.
  private func takeTask(worker: Int) -> Bool {
    let seen = ticket.load(ordering: .acquiring)
    let next = Int(seen & 0xFFFF_FFFF)
    let address = body.load(ordering: .acquiring)
    guard next < tasks.load(ordering: .acquiring) else { return false }
    // The exchange fails when another loop has begun since `seen`, so `address` and the count belong to this loop.
    guard ticket.compareExchange(expected: seen, desired: seen &+ 1, ordering: .acquiringAndReleasing).exchanged else { return true }
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return false }
    // SAFETY: the loop's caller waits for `completed`, which counts this task only after the body has returned.
    unsafe pointer.assumingMemoryBound(to: Body.self).pointee(next, worker)
    completed.add(1, ordering: .releasing)
    return true
  }

  func work(worker: Int) {
    var looks = 0
    while !isStopped.load(ordering: .relaxed) {
      if takeTask(worker: worker) {
        looks = 0
      } else if looks < Self.patience {
        looks += 1
      } else {
        looks = 0
        sleepers[worker - 1].sleep { hasNoTask && !isStopped.load(ordering: .sequentiallyConsistent) }
      }
    }
  }

  private var hasNoTask: Bool {
    Int(ticket.load(ordering: .sequentiallyConsistent) & 0xFFFF_FFFF) >= tasks.load(ordering: .sequentiallyConsistent)
  }

  func stop() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    for sleeper in sleepers { sleeper.wake() }
  }
}

/// One worker's bed: whoever turns `isAsleep` off owes the semaphore a signal.
private final class Sleeper: Sendable {
  private let isAsleep = Atomic<Bool>(false)
  private let semaphore = DispatchSemaphore(value: 0)

  func sleep(while condition: () -> Bool) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    if condition() || !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { semaphore.wait() }
  }

  func wake() {
    if isAsleep.load(ordering: .sequentiallyConsistent), isAsleep.exchange(false, ordering: .sequentiallyConsistent) { semaphore.signal() }
  }
}

/// A detached POSIX thread.
private struct Thread {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func start() {
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
    require(result == 0, "ThreadPool: the system refused a thread (error \(result))")
    pthread_detach(id)
  }

  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
