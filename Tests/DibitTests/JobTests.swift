import Dibit
import DibitTestSupport
import Glibc
import Synchronization
import Testing

/// A number that tasks share.
private final class Counter: Sendable {
  private let number = Atomic(0)

  var value: Int { number.load(ordering: .relaxed) }

  func add(_ step: Int) { number.add(step, ordering: .relaxed) }
}

@Suite struct JobTests {
  /// A model that knows nothing may end its answer anywhere, but not before so many characters.
  private func long(_ characters: Int) -> Response.Options {
    Response.Options(
      maximumTokens: characters + characters / 4 + 20,
      format: .schema(#"{"type":"string","minLength":\#(characters),"maxLength":\#(characters + 10)}"#))
  }

  @Test("no call blocks a cooperative thread: others go on while more calls are under way than there are threads")
  func cooperativeThreads() async throws {
    let places = try await [Workplace(context: 2_048), Workplace(context: 2_048)]
    let options = long(200)
    // The pool has as many threads as there are processors.
    let threads = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    let calls = 16 * threads
    let (running, over, turns) = (Counter(), Counter(), Counter())
    try await withThrowingTaskGroup { group in
      for number in 0..<calls {
        group.addTask { [options] in
          running.add(1)
          defer {
            running.add(-1)
            over.add(1)
          }
          let response = try await places[number % 2].model.generate("the goal", options: options).value
          #expect(response.text.count > 200)
        }
      }
      group.addTask {
        while over.value < calls {
          // Were the threads of the pool blocked, no more calls than threads would ever be under way.
          if running.value > threads { turns.add(1) }
          await Task.yield()
        }
      }
      try await group.waitForAll()
    }
    #expect(turns.value > 0)
  }

  @Test("a cancelled task cancels the job that it waits for, or iterates over")
  func cancellation() async throws {
    // Longer than whoever cancels waits for a processor, on a busy machine too.
    let model = try await Workplace(context: 16_384).model
    let endless = long(16_000)
    let waiting = Task { await failure { () throws(DibitError) in try await model.generate("the goal", options: endless).value } }
    waiting.cancel()
    #expect(await waiting.value?.kind == .cancelled)
    let seen = Counter()
    let iterating = Task {
      await failure { () throws(DibitError) in
        for try await _ in model.generate("the goal", options: endless) { seen.add(1) }
      }
    }
    while seen.value == 0 { await Task.yield() }
    iterating.cancel()
    #expect(await iterating.value?.kind == .cancelled && seen.value < 16_000)
    // The model is free again.
    #expect(try await model.generate("the goal", options: long(4)).value.text.count > 4)
  }

  @Test("a job ends when its events are left early and nobody holds it")
  func leaving() async throws {
    let model = try await Workplace(context: 2_048).model
    for try await _ in model.generate("the goal", options: long(1_500)) { break }
    let clock = ContinuousClock()
    let whole = try await clock.measure {
      for _ in 0..<16 { _ = try await model.generate("the goal", options: long(1_500)).value }
    }
    // Each begins when the one before it is over.
    let left = try await clock.measure {
      for _ in 0..<16 { for try await _ in model.generate("the goal", options: long(1_500)) { break } }
      _ = try await model.generate("the goal", options: .init(maximumTokens: 1)).value
    }
    #expect(left < whole / 2)
  }

  @Test("several tasks get the value of one job")
  func sharing() async throws {
    let job = try await Workplace().model.generate("the goal", options: .init(maximumTokens: 8))
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<4 { group.addTask { try await job.value.text } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts.count == 1)
  }
}
