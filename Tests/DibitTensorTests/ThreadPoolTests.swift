import CAllocationCount
import DibitTensor
import Dispatch
import FoundationEssentials
import Glibc
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

  /// A closure that captures something would be copied to the heap if the pool kept it.
  @Test("a loop allocates nothing, in any thread", .enabled(if: allocation_count_of_thread() >= 0), arguments: [1, 2, 3])
  func aLoopAllocatesNothing(threads: Int) {
    let pool = ThreadPool(threads: threads)
    var sums = Buffer<Int>(count: 8)
    var counts = Buffer<Int>(count: threads)
    // SAFETY: each task writes its own element, and each worker one of its own.
    let (sum, count) = unsafe (sums.mutablePointer, counts.mutablePointer)
    /// What each worker's thread has allocated so far; each has one task, because it waits for the others.
    func countAllocations() -> [Int] {
      let met = Counter()
      pool.forEach(threads) { _, worker in
        unsafe count[worker] = allocation_count_of_thread()
        met.add()
        while met.now < threads { sched_yield() }
      }
      return (0..<threads).map { counts[$0] }
    }
    let before = countAllocations()
    let caller = allocation_count_of_thread()
    for repeated in 0..<1000 { pool.forEach(8) { task, worker in unsafe sum[task] += repeated + min(worker, 0) } }
    #expect(allocation_count_of_thread() - caller == 0)
    #expect(countAllocations().dropFirst() == before.dropFirst())
    for task in 0..<8 { #expect(sums[task] == 499_500) }
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

  /// The caller stays in its first task until all others are done, so another thread must take those of the caller's part too.
  @Test(arguments: [2, 3, 8])
  func aSlowTaskHoldsUpNoOther(threads: Int) {
    let pool = ThreadPool(threads: threads)
    for tasks in [threads, 40] {
      let (slow, done) = (Counter(), Counter())
      pool.forEach(tasks) { task, _ in
        if task == 0 { while done.now < tasks - 1 { sched_yield() } }
        if task == 0 { slow.add() } else { done.add() }
      }
      #expect(slow.now == 1 && done.now == tasks - 1)
    }
  }

  /// Long enough for the caller to fall asleep while it waits.
  @Test func theCallerSleepsAndWakes() {
    let pool = ThreadPool(threads: 3)
    let done = Counter()
    for _ in 0..<40 {
      pool.forEach(3) { _, worker in
        if worker != 0 { usleep(1500) }
        done.add()
      }
    }
    #expect(done.now == 120)
  }

  /// Loops of random sizes with hardly anything to do: whatever can go wrong between two loops has many chances to.
  @Test(arguments: [(1, 20_000), (2, 200_000), (3, 20_000), (8, 10_000)])
  func stress(threads: Int, loops: Int) {
    let pool = ThreadPool(threads: threads)
    var random = SplitMix64(seed: UInt64(threads))
    var runs = [Int](repeating: 0, count: 64)
    var wrong = 0
    for _ in 0..<loops {
      let tasks = Int(random.next() % 24)
      // SAFETY: each task writes its own element.
      unsafe runs.withUnsafeMutableBufferPointer { runs in
        let base = unsafe runs.baseAddress.unsafelyUnwrapped
        pool.forEach(tasks) { task, _ in unsafe base[task] += 1 }
      }
      for task in runs.indices where runs[task] != (task < tasks ? 1 : 0) { wrong += 1 }
      for task in 0..<tasks { runs[task] = 0 }
    }
    #expect(wrong == 0)
  }

  @Test(arguments: [2, 3, 8])
  func manyTasks(threads: Int) {
    let pool = ThreadPool(threads: threads)
    for tasks in [1_000, 10_007] {
      let (runs, sum) = (Counter(), Counter())
      pool.forEach(tasks) { task, _ in
        runs.add()
        sum.add(task)
      }
      #expect(runs.now == tasks && sum.now == tasks * (tasks - 1) / 2)
    }
  }

  /// Threads of the process, as the kernel lists them.
  static var threadCount: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }

  @Test(arguments: [0, 20])
  func aPoolThatGoesTakesItsThreadsAlong(milliseconds: Int) async throws {
    let extra = 100
    do {
      let pool = ThreadPool(threads: extra + 1)
      let sum = Counter()
      pool.forEach(1000) { task, _ in sum.add(task) }
      #expect(sum.now == 499_500)
      // After a while they sleep, and must be woken to go.
      try await Task.sleep(for: .milliseconds(milliseconds))
      #expect(Self.threadCount > extra)
    }
    // Other tests run beside this one and have a few threads of their own.
    for _ in 0..<6000 where Self.threadCount >= extra { try await Task.sleep(for: .milliseconds(10)) }
    #expect(Self.threadCount < extra)
  }

  @Test func poolsComeAndGo() {
    let done = Counter()
    for repeated in 0..<300 {
      let pool = ThreadPool(threads: 1 + repeated % 4)
      if repeated % 3 > 0 { pool.forEach(5) { _, _ in done.add() } }
    }
    #expect(done.now == 1000)
  }

  /// Sanitizers need address space themselves.
  static let isSanitized = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  /// Room for a few stacks only: the system refuses the other threads.
  @Test(.disabled(if: isSanitized))
  func aPoolRunsWithTheThreadsItGets() async {
    await #expect(processExitsWith: .success) {
      let pages = try #require(Int(String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[0]))
      var limit = rlimit(rlim_cur: rlim_t(pages * sysconf(Int32(_SC_PAGESIZE)) + 64 << 20), rlim_max: .max)
      let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
      try #require(result == 0)
      let pool = ThreadPool(threads: 200)
      #expect(1 < pool.threads && pool.threads < 200)
      let runs = Self.counters(1000)
      pool.forEach(1000) { task, worker in
        runs[task].add()
        if worker >= pool.threads { Issue.record("worker \(worker) of \(pool.threads)") }
      }
      #expect(runs.allSatisfy { $0.now == 1 })
    }
  }

  /// Whether all threads but the calling one fall asleep, however busy the machine is.
  static func othersFallAsleep() -> Bool {
    for _ in 0..<10_000 {
      let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
      let running = threads.filter { thread in
        // "123 (name) R 1 ...": the state follows the name.
        let line = (try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)) ?? ""
        return line.split(separator: ")").last?.hasPrefix(" R") ?? false
      }
      if running.count == 1 { return true }
      usleep(1000)
    }
    return false
  }

  /// In a process of its own, without the threads of other tests.
  @Test func whoWaitsFallsAsleep() async {
    await #expect(processExitsWith: .success) {
      for threads in [2, 3] {
        let pool = ThreadPool(threads: threads)
        pool.forEach(50) { _, _ in }
        #expect(Self.othersFallAsleep(), "workers without a loop")
        let asleep = Self.counters(2)
        for slow in 0...1 {
          // One task is slow: of a worker, or of the caller.
          while asleep[slow].now == 0 {
            let taken = Counter()
            pool.forEach(threads) { task, worker in
              if (worker == 0 ? 0 : 1) == slow, taken.add() == 1 { asleep[slow].add(Self.othersFallAsleep() ? 1 : 100) }
            }
          }
          #expect(asleep[slow].now == 1, "threads that wait for \(slow == 0 ? "the caller" : "a worker")")
        }
      }
    }
  }

  @Test func aPoolNeedsAThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = ThreadPool(threads: 0) }
    expectTrap("ThreadPool: 0 threads; at least 1 is needed", result)
  }
}
