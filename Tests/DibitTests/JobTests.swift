import Dibit
import DibitTestSupport
import Synchronization
import Testing

@Suite struct JobTests {
  @Test("no call blocks a cooperative thread: others go on while more calls are under way than there are threads")
  func cooperativeThreads() async throws {
    let places = try await [Workplace(context: 2_048), Workplace(context: 2_048)]
    var options = Response.Options(maximumTokens: 400)
    options.temperature = 1
    let (running, turns) = (Atomic(0), Atomic(0))
    try await withThrowingTaskGroup { group in
      for number in 0..<64 {
        group.addTask { [options] in
          running.add(1, ordering: .relaxed)
          defer { running.subtract(1, ordering: .relaxed) }
          let response = try await places[number % 2].model.generate("the goal", options: options).value
          #expect(response.tokens.count == 400)
        }
      }
      group.addTask {
        while running.load(ordering: .relaxed) == 0 { await Task.yield() }
        // Were the threads of the pool blocked, no turn would come before the first generation is over.
        while running.load(ordering: .relaxed) == 64, turns.load(ordering: .relaxed) < 1_000 {
          turns.add(1, ordering: .relaxed)
          await Task.yield()
        }
      }
      try await group.waitForAll()
    }
    #expect(turns.load(ordering: .relaxed) > 0)
  }

  @Test("a cancelled task cancels the job that it waits for, or iterates over")
  func cancellation() async throws {
    let model = try await Workplace(context: 2_048).model
    let endless = Response.Options(maximumTokens: 1_900)
    let waiting = Task { await failure { () throws(DibitError) in try await model.generate("the goal", options: endless).value } }
    waiting.cancel()
    #expect(await waiting.value?.kind == .cancelled)
    let iterating = Task { () -> (Int, DibitError?) in
      let seen = Atomic(0)
      let fault = await failure { () throws(DibitError) in
        for try await _ in model.generate("the goal", options: endless) { seen.add(1, ordering: .relaxed) }
      }
      return (seen.load(ordering: .relaxed), fault)
    }
    try await Task.sleep(for: .milliseconds(20))
    iterating.cancel()
    let (seen, fault) = await iterating.value
    #expect(fault?.kind == .cancelled && seen < 1_900)
    // The model is free again.
    #expect(try await model.generate("the goal", options: .init(maximumTokens: 2)).value.tokens.count == 2)
  }

  @Test("a job ends when its events are left early and nobody holds it")
  func leaving() async throws {
    let model = try await Workplace(context: 2_048).model
    for try await _ in model.generate("the goal", options: .init(maximumTokens: 1_900)) { break }
    let clock = ContinuousClock()
    let held = model.generate("the goal", options: .init(maximumTokens: 1_900))
    let whole = try await clock.measure { _ = try await held.value }
    // What was left early does not stand in the way of the next job for as long as a whole one takes.
    for try await _ in model.generate("the goal", options: .init(maximumTokens: 1_900)) { break }
    let next = try await clock.measure { _ = try await model.generate("the goal", options: .init(maximumTokens: 1)).value }
    #expect(next < whole / 2)
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
