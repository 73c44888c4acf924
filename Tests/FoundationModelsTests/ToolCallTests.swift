import FoundationModels
import Synchronization
import Testing

@Suite struct ToolCallTests {
  private var required: GenerationOptions {
    var options = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)
    options.toolCallingMode = .required
    return options
  }

  private static let speeches: [TestModel.Speech] = [.turns, .template(TestModel.tagged)]

  @Test("a tool is called with arguments of its schema, and the answer comes behind what it gave", arguments: speeches.indices)
  func calls(_ index: Int) async throws {
    let test = try TestModel(Self.speeches[index])
    let asked = Mutex<[String]>([])
    let tool = Lookup { word in
      asked.withLock { $0.append(word) }
      return "\(word) is found"
    }
    let session = LanguageModelSession(model: test.model, tools: [tool, Lookup("other")], instructions: "be calm")
    let response = try await session.respond(to: "what is the moon?", options: required)
    let entries = Array(response.transcriptEntries)
    guard entries.count >= 4, case .toolCalls(let calls) = entries[1], case .toolOutput(let output) = entries[2],
      case .response = entries.last
    else {
      Issue.record("\(entries)")
      return
    }
    let call = try #require(calls.first)
    #expect(["moon", "soup"].contains(try call.arguments.value(String.self, forProperty: "word")) && output.id == call.id)
    #expect(["lookup", "other"].contains(call.toolName) && output.toolName == call.toolName)
    #expect(asked.withLock { $0.allSatisfy { ["moon", "soup"].contains($0) } })
    // What was said is said again to a model that goes on from the transcript.
    let later = try await LanguageModelSession(model: test.model, tools: [tool], transcript: session.transcript).respond(
      to: "and now?", options: required)
    #expect(later.usage.input.totalTokenCount > response.usage.input.totalTokenCount / 2)
  }

  @Test("a tool that may not be called is not, and an answer has its form beside tools", arguments: speeches.indices)
  func answers(_ index: Int) async throws {
    let test = try TestModel(Self.speeches[index])
    let session = LanguageModelSession(model: test.model, tools: [Lookup()])
    var options = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)
    options.toolCallingMode = .disallowed
    #expect(try await session.respond(to: "what is the moon?", options: options).transcriptEntries.count == 2)
    let report = try await session.respond(to: "report", generating: Report.self).content
    #expect((10...99).contains(report.count))
  }

  @Test("a tool that fails ends the turn with its error; the next turn goes on", arguments: speeches.indices)
  func fails(_ index: Int) async throws {
    struct Broken: Error {}
    let test = try TestModel(Self.speeches[index])
    let session = LanguageModelSession(model: test.model, tools: [Lookup { _ in throw Broken() }])
    let error = await failure { try await session.respond(to: "what is the moon?", options: required).content }
    let failed = try #require(error as? LanguageModelSession.ToolCallError)
    #expect(failed.tool.name == "lookup" && failed.underlyingError is Broken && failed.errorDescription?.contains("lookup") == true)
    #expect(session.transcript.count == 1 && !session.isResponding)  // the tool's definition
    var options = required
    options.toolCallingMode = .disallowed
    _ = try await session.respond(to: "the soup", options: options)
  }

  @Test("nobody waits for a tool that never returns")
  func hangs() async throws {
    let test = try TestModel()
    let kept = Mutex<[CheckedContinuation<Void, Never>]>([])
    let isCalled = AsyncStream<Void>.makeStream()
    // A lock of nobody's: it hears of no cancellation.
    let never = Task.detached {
      await withCheckedContinuation { (waiting: CheckedContinuation<Void, Never>) in kept.withLock { $0.append(waiting) } }
    }
    let session = LanguageModelSession(
      model: test.model,
      tools: [
        Lookup { _ in
          isCalled.continuation.yield()
          await never.value
          return ""
        }
      ])
    let task = Task { [required] in try await session.respond(to: "what is the moon?", options: required).content }
    for await _ in isCalled.stream { break }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(!session.isResponding)
    for waiting in kept.withLock({ $0 }) { waiting.resume() }
  }

  @Test("rounds of tools have an end")
  func rounds() async throws {
    let test = try TestModel()
    let calls = Mutex(0)
    let session = LanguageModelSession(
      model: test.model,
      tools: [
        Lookup { _ in
          calls.withLock { $0 += 1 }
          return "again"
        }
      ])
    _ = try await session.respond(to: "what is the moon?", options: required)
    // The same call is made once, and there are two words.
    #expect((1...2).contains(calls.withLock { $0 }))
  }
}
