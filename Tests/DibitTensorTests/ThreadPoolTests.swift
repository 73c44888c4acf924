import DibitTensor
import Dispatch
import FoundationEssentials
import Synchronization
import Testing

@Suite struct ThreadPoolTests {
  /// A number that threads share; arrays cannot hold atomics themselves.
  final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    /// Adds and returns the new value.
    @discardableResult func add(_ by: Int = 1) -> Int { value.add(by, ordering: .sequentiallyConsistent).newValue }
    var now: Int { value.load(ordering: .sequentiallyConsistent) }
  }

  static func counters(_ count: Int) -> [Counter] { (0..<count).map { _ in Counter() } }

  @Test(arguments: [1, 2, 3, 5, 8])
  func everyTaskRunsExactlyOnce(threads: Int) {
    let pool = ThreadPool(threads: threads)
    for repeated in 0..<400 {
      let tasks = repeated % 23
      let runs = Self.counters(tasks)
      pool.forEach(tasks) { task, worker in
        runs[task].add()
        if worker < 0 || worker >= threads { Issue.record("worker \(worker) of \(threads)") }
      }
      #expect(runs.allSatisfy { $0.now == 1 }, "\(tasks) tasks")
    }
  }

  /// Pauses let the workers fall asleep between loops.
  @Test func sleepingWorkersWakeUp() async throws {
    let pool = ThreadPool(threads: 3)
    for _ in 0..<20 {
      try await Task.sleep(for: .milliseconds(3))
      let runs = Self.counters(50)
      pool.forEach(50) { task, _ in runs[task].add() }
      #expect(runs.allSatisfy { $0.now == 1 })
    }
  }

  @Test func manySmallLoopsInARow() {
    let pool = ThreadPool(threads: 2)
    let sum = Counter()
    for _ in 0..<20_000 { pool.forEach(2) { task, _ in sum.add(task + 1) } }
    #expect(sum.now == 60_000)
  }

  @Test func resultsAreVisibleToTheCaller() {
    let pool = ThreadPool(threads: 3)
    var matrix = Matrix(rows: 64, columns: 16)
    for repeated in 1...200 {
      // SAFETY: each task writes its own row.
      let base = unsafe matrix.mutablePointer
      pool.forEach(64) { task, _ in for column in 0..<16 { unsafe base[task * 16 + column] = Float(task * repeated) } }
      #expect((0..<64).allSatisfy { matrix[$0, 15] == Float($0 * repeated) })
    }
  }

  /// Scratch memory is indexed by the worker: no two tasks of one pool may have the same at a time, whoever called.
  @Test(arguments: [1, 2, 4])
  func workersAreDistinctAmongConcurrentCallers(threads: Int) {
    let pool = ThreadPool(threads: threads)
    let busy = Self.counters(threads)
    let (collisions, done) = (Counter(), Counter())
    DispatchQueue.concurrentPerform(iterations: 4) { caller in
      for repeated in 0..<150 {
        let tasks = (repeated + caller) % 4  // 0 and 1 too: such loops need no other thread
        pool.forEach(tasks) { _, worker in
          if busy[worker].add() != 1 { collisions.add() }
          for _ in 0..<2_000 { done.add(0) }
          busy[worker].add(-1)
          done.add()
        }
      }
    }
    #expect(collisions.now == 0)
    #expect(done.now == (0..<4).reduce(0) { sum, caller in sum + (0..<150).reduce(0) { $0 + ($1 + caller) % 4 } })
  }

  @Test func severalThreadsTakePart() {
    let pool = ThreadPool(threads: 2)
    let byWorker = Self.counters(2)
    // Each of two tasks waits for the other, so one thread alone would never finish.
    pool.forEach(2) { _, worker in
      byWorker[worker].add()
      while byWorker[0].now + byWorker[1].now < 2 {}
    }
    #expect(byWorker.map(\.now) == [1, 1])
  }

  /// Threads of the process, as the kernel lists them.
  static var threadCount: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }

  @Test func aPoolThatGoesTakesItsThreadsAlong() async throws {
    let extra = 100
    do {
      let pool = ThreadPool(threads: extra + 1)
      let sum = Counter()
      pool.forEach(1000) { task, _ in sum.add(task) }
      #expect(sum.now == 499_500)
      #expect(Self.threadCount > extra)
    }
    // Other tests run beside this one and have a few threads of their own.
    for _ in 0..<500 where Self.threadCount >= extra { try await Task.sleep(for: .milliseconds(10)) }
    #expect(Self.threadCount < extra)
  }

  @Test func aPoolNeedsAThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = ThreadPool(threads: 0) }
    expectTrap("ThreadPool: 0 threads; at least 1 is needed", result)
  }
}
