import DibitTestSupport
import Foundation
import FoundationModels
import Testing

@Suite struct SessionTests {
  private let short = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)

  @Test("a session is empty without instructions, and a turn adds its prompt and its answer")
  func turns() async throws {
    let test = try TestModel()
    let empty = LanguageModelSession(model: test.model)
    #expect(empty.transcript.isEmpty && !empty.isResponding)
    let session = LanguageModelSession(model: test.model, instructions: "be calm")
    #expect(session.transcript.count == 1)
    let response = try await session.respond(to: "the goal", options: short)
    #expect(session.transcript.count == 3 && Array(response.transcriptEntries) == Array(session.transcript[1...]))
    guard case .prompt(let prompt) = session.transcript[1], case .response(let said) = session.transcript[2] else {
      Issue.record("a prompt and a response expected")
      return
    }
    #expect(prompt.options == short && prompt.responseFormat == nil)
    #expect(said.segments.count == 1 && response.rawContent.kind == .string(response.content))
    #expect(!session.isResponding)
  }

  @Test("a further turn reads only what is new, and says what a session from the same transcript says")
  func keptKeysAndValues() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model, instructions: "be calm")
    let first = try await session.respond(to: "the goal of the match", options: short)
    let transcript = session.transcript
    let second = try await session.respond(to: "the soup", options: short)
    #expect(first.usage.readTokens == first.usage.promptTokens)
    #expect(second.usage.readTokens < second.usage.promptTokens - first.usage.promptTokens)
    let other = LanguageModelSession(model: test.model, transcript: transcript)
    let again = try await other.respond(to: "the soup", options: short)
    #expect(again.content == second.content && again.usage.readTokens == again.usage.promptTokens)
    #expect(session.usage.responseTokens == first.usage.responseTokens + second.usage.responseTokens)
  }

  @Test("what a session has read ahead it does not read again")
  func prewarms() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model, instructions: "be calm and say nothing of the market or of the bank")
    session.prewarm(promptPrefix: Prompt("the goal of the match"))
    let cold = try await LanguageModelSession(model: test.model, transcript: session.transcript).respond(
      to: "the goal of the match was late", options: short)
    // Behind the same line: what is asked waits for what is read ahead.
    try await Task.sleep(for: .milliseconds(500))
    let warm = try await session.respond(to: "the goal of the match was late", options: short)
    #expect(warm.content == cold.content && warm.usage.readTokens < cold.usage.readTokens / 2)
  }

  @Test("seeds give the same text, and another seed another")
  func seeds() async throws {
    let test = try TestModel()
    func answer(_ sampling: GenerationOptions.SamplingMode, _ temperature: Double? = nil) async throws -> String {
      let options = GenerationOptions(sampling: sampling, temperature: temperature, maximumResponseTokens: 12)
      return try await LanguageModelSession(model: test.model).respond(to: "the goal", options: options).content
    }
    #expect(try await answer(.random(top: 50, seed: 1)) == answer(.random(top: 50, seed: 1)))
    #expect(try await answer(.random(top: 50, seed: 1)) != answer(.random(top: 50, seed: 2)))
    #expect(try await answer(.random(probabilityThreshold: 0.9, seed: 1)) == answer(.random(probabilityThreshold: 0.9, seed: 1)))
    #expect(try await answer(.random(top: 1, seed: 5), 2) == answer(.greedy))
  }

  @Test("a value of a type satisfies its guides, whether or not the model is shown the schema")
  func generates() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let shown = try await session.respond(to: "report", generating: Report.self)
    #expect((10...99).contains(shown.content.count) && shown.content.words.count == 2)
    #expect(shown.content.title.wholeMatch(of: /[a-z]{3,8}/) != nil)
    let hidden = try await session.respond(to: "report", generating: Report.self, includeSchemaInPrompt: false)
    #expect(hidden.usage.promptTokens < 2 * shown.usage.promptTokens)
    guard case .prompt(let first) = session.transcript[0], case .prompt(let second) = session.transcript[2],
      case .response(let said) = session.transcript[1], case .structure(let segment) = said.segments[0]
    else {
      Issue.record("two turns expected")
      return
    }
    #expect(first.responseFormat?.name == "Report" && second.responseFormat == nil && segment.source == "Report")
    #expect(try Report(segment.content) == shown.content)
    let dynamic = DynamicGenerationSchema(name: "Answer", anyOf: ["yes", "no"])
    let schema = try GenerationSchema(root: dynamic, dependencies: [])
    #expect(try await ["yes", "no"].contains(session.respond(to: "is it?", schema: schema).content.value(String.self)))
  }

  @Test("an answer of a form is whole within its tokens, or the error says how many it takes")
  func budget() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let error = await failure {
      try await session.respond(to: "report", generating: Report.self, options: GenerationOptions(maximumResponseTokens: 5))
    }
    #expect(SessionFault(error) == .decodingFailure)
    let needed = try #require(words(of: error).firstMatch(of: /take (\d+) tokens, and only 5/).flatMap { Int($0.1) })
    let report = try await session.respond(to: "report", generating: Report.self, options: GenerationOptions(maximumResponseTokens: needed))
    #expect(report.usage.responseTokens <= needed && session.transcript.count == 2)
  }

  @Test("a guide that cannot be enforced, a prompt beyond the context, and a model that is not there are typed errors; the session goes on")
  func errors() async throws {
    let test = try TestModel(context: 96)
    let session = LanguageModelSession(model: test.model)
    let dynamic = DynamicGenerationSchema(type: Int.self, guides: [.range(5...5), .minimum(9)])
    let schema = try GenerationSchema(root: dynamic, dependencies: [])
    #expect(SessionFault(await failure { try await session.respond(to: "x", schema: schema) }) == .unsupportedGuide)
    let long = String(repeating: "the goal of the match ", count: 40)
    let full = await failure { try await session.respond(to: long) }
    #expect(SessionFault(full) == .contextFull && words(of: full).contains("96"))
    #if FoundationModels27
      guard case .contextSizeExceeded(let facts)? = full as? LanguageModelError else { return }
      #expect(facts.contextSize == 96 && facts.tokenCount > 96)
    #endif
    #expect(session.transcript.isEmpty && !session.isResponding)
    _ = try await session.respond(to: "the goal", options: short)
    let missing = LanguageModelSession(model: SystemLanguageModel(path: test.scratch("nowhere")))
    #expect(SessionFault(await failure { try await missing.respond(to: "x") }) == .assetsUnavailable)
    #expect(missing.transcript.isEmpty)
  }

  @Test("one request at a time; sessions answer side by side what they answer one after the other")
  func concurrency() async throws {
    let test = try TestModel()
    let options = GenerationOptions(sampling: .random(top: 40, seed: 3), maximumResponseTokens: 24)
    let prompts = ["the goal", "the soup", "the moon", "the bank"]
    var alone: [String] = []
    for prompt in prompts { alone.append(try await LanguageModelSession(model: test.model).respond(to: prompt, options: options).content) }
    let together = try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for (index, prompt) in prompts.enumerated() {
        group.addTask { (index, try await LanguageModelSession(model: test.model).respond(to: prompt, options: options).content) }
      }
      return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
    }
    #expect(prompts.indices.map { together[$0] } == alone)
    let session = LanguageModelSession(model: test.model)
    let stream = session.streamResponse(to: "the goal", generating: LongList.self)
    #expect(session.isResponding)
    #expect(SessionFault(await failure { try await session.respond(to: "x") }) == .busy)
    let second = session.streamResponse(to: "x")
    #expect(SessionFault(await failure { for try await _ in second {} }) == .busy)
    #expect(session.isResponding)
    _ = stream
  }

  @Test("a cancelled request is over, and the session free, before the caller goes on")
  func cancels() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model, instructions: "be calm")
    await checkCancellation(of: session, times: 20)
    let fresh = LanguageModelSession(model: test.model, transcript: session.transcript)
    #expect(try await session.respond(to: "the soup", options: short).content == fresh.respond(to: "the soup", options: short).content)
  }
}
