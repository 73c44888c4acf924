import DibitTestSupport
import Foundation
import Synchronization
import Testing

@testable import FoundationModels

@Suite struct ExecutorTests {
  private let short = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)
  private struct Broken: Error {}

  @Test("an answer comes through a channel, and the request has what was asked")
  func answers() async throws {
    let model = ScriptedModel.echo()
    let session = LanguageModelSession(model: model, instructions: "be calm")
    let response = try await session.respond(
      to: "the goal of", options: short, contextOptions: ContextOptions(includeSchemaInPrompt: false), metadata: ["run": 7])
    #expect(response.content == "the goal of" && response.usage.output.totalTokenCount == 3)
    #expect(session.transcript.count == 3 && Array(response.transcriptEntries) == Array(session.transcript[1...]))
    let request = try #require(model.log.requests.first)
    #expect(request.instructions == "be calm" && request.transcript.count == 2 && request.schema == nil)
    #expect(request.generationOptions == short && request.metadata["run"] == 7.generatedContent && request.enabledToolDefinitions.isEmpty)
    #expect(request.contextOptions.includeSchemaInPrompt == false)
    #expect(try await session.respond(to: "and now").content == "and now")
    #expect(model.log.executors == 1 && model.log.requests.count == 2 && model.log.requests[1].transcript.count == 4)
    #expect(session.usage.output.totalTokenCount == 5)
  }

  @Test("snapshots grow as text is appended, and begin anew where it is replaced")
  func streams() async throws {
    let model = ScriptedModel { _, channel in
      await channel.send(.response(entryID: "answer", action: .appendText("a wrong", segmentID: "s", tokenCount: 2)))
      await channel.send(.response(entryID: "answer", action: .replaceTextSegment("the", segmentID: "s", tokenCount: 1)))
      await channel.send(.response(entryID: "answer", action: .appendText(" moon", segmentID: "s", tokenCount: 1)))
      await channel.send(.response(entryID: "answer", action: .appendText(" and the soup", segmentID: "t", tokenCount: 3)))
      await channel.send(.response(entryID: "answer", action: .updateMetadata(["by": "me"])))
    }
    let session = LanguageModelSession(model: model)
    var seen: [String] = []
    var counts: [Int] = []
    for try await snapshot in session.streamResponse(to: "x") {
      seen.append(snapshot.content)
      counts.append(snapshot.usage.output.totalTokenCount)
      #expect(snapshot.transcriptEntries.count >= 1)
    }
    #expect(seen == ["a wrong", "the", "the moon", "the moon and the soup"] && counts == [2, 1, 2, 5])
    guard case .response(let said)? = session.transcript.last else {
      Issue.record("a response expected")
      return
    }
    #expect(said.id == "answer" && said.segments.map(\.id) == ["s", "t"] && said.metadata["by"] == "me".generatedContent)
  }

  @Test("a guided answer is JSON of the schema")
  func guides() async throws {
    let model = ScriptedModel { request, channel in
      for piece in [#"{"title": "moon", "#, #""count": 12, "#, #""words": ["moon", "soup"]}"#] {
        await channel.send(.response(action: .appendText(piece, tokenCount: 4)))
      }
    }
    let session = LanguageModelSession(model: model)
    let stream = session.streamResponse(to: "report", generating: Report.self)
    var titles: [String?] = []
    for try await snapshot in stream { titles.append(snapshot.content.title) }
    #expect(titles.last == "moon" && titles.count == 3)
    #expect(try await stream.collect().content.count == 12)
    #expect(model.log.requests.first?.schema?.name == "Report")
    guard case .response(let said)? = session.transcript.last, case .structure(let segment)? = said.segments.first else {
      Issue.record("a structure expected")
      return
    }
    #expect(segment.source == "Report")
    let broken = LanguageModelSession(
      model: ScriptedModel { _, channel in await channel.send(.response(action: .appendText("no JSON", tokenCount: 1))) })
    let error = await failure { try await broken.respond(to: "report", generating: Report.self).content }
    #expect(SessionFault(error) == .decodingFailure)
    #expect(broken.transcript.isEmpty)
  }

  @Test("calls of tools are executed and answered")
  func callsTools() async throws {
    let model = ScriptedModel { request, channel in
      guard request.outputs.isEmpty else {
        await channel.send(.response(action: .appendText(request.outputs.map(\.segments.plainText).joined(separator: "; "), tokenCount: 6)))
        return
      }
      await channel.send(.response(action: .appendText("let me see", tokenCount: 3)))
      for (id, word) in [("a", "moon"), ("b", "soup"), ("c", "none")] {
        await channel.send(
          .toolCalls(entryID: "calls", action: .toolCall(id: id, name: "lookup", action: .appendArguments(#"{"word": "#, tokenCount: 2))))
        await channel.send(
          .toolCalls(entryID: "calls", action: .toolCall(id: id, name: "lookup", action: .appendArguments("\"\(word)\"}", tokenCount: 2))))
      }
      await channel.send(.toolCalls(action: .toolCall(id: "a", name: "lookup", action: .updateMetadata(["sure": true]))))
      await channel.send(.toolCalls(action: .removeToolCall(id: "c")))
    }
    let session = LanguageModelSession(model: model, tools: [Lookup()])
    let stream = session.streamResponse(to: "what is it?")
    var seen: [String] = []
    for try await snapshot in stream { seen.append(snapshot.content) }
    let response = try await stream.collect()
    #expect(response.content == "moon is a word; soup is a word" && seen == ["let me see", response.content])
    let entries = Array(response.transcriptEntries)
    guard entries.count == 6, case .response = entries[1], case .toolCalls(let calls) = entries[2],
      case .toolOutput(let first) = entries[3],
      case .toolOutput(let second) = entries[4], case .response = entries[5]
    else {
      Issue.record("\(entries)")
      return
    }
    #expect(calls.id == "calls" && calls.map(\.id) == ["a", "b"] && calls.first?.metadata["sure"] == true.generatedContent)
    #expect(first.id == "a" && second.id == "b")
    #expect(response.usage.output.totalTokenCount == 3 + 12 + 6)
    #expect(model.log.requests.map(\.enabledToolDefinitions.count) == [1, 1])
  }

  @Test("a tool must be called in the first round alone, rounds have an end, and a call that is not allowed is an error")
  func toolRules() async throws {
    let model = ScriptedModel { request, channel in
      if request.generationOptions.toolCallingMode == .disallowed {
        await channel.send(.response(action: .appendText("enough", tokenCount: 1)))
      } else {
        let id = "call\(request.outputs.count)"
        await channel.send(
          .toolCalls(action: .toolCall(id: id, name: "lookup", action: .appendArguments(#"{"word": "moon"}"#, tokenCount: 1))))
      }
    }
    var options = short
    options.toolCallingMode = .required
    let session = LanguageModelSession(model: model, tools: [Lookup()])
    #expect(try await session.respond(to: "x", options: options).content == "enough")
    let modes = model.log.requests.map { $0.generationOptions.toolCallingMode }
    #expect(modes.first == .required && modes.last == .disallowed && modes.dropFirst().dropLast().allSatisfy { $0 == .allowed })
    #expect(model.log.requests.last?.enabledToolDefinitions.isEmpty == true)
    for (name, arguments) in [("lookup", "{"), ("nobody", "{}"), ("lookup", "{}")] {
      let model = ScriptedModel { _, channel in
        await channel.send(.toolCalls(action: .toolCall(id: "a", name: name, action: .appendArguments(arguments, tokenCount: 1))))
      }
      let session = LanguageModelSession(model: model, tools: [Lookup()])
      let error = await failure { try await session.respond(to: "x").content }
      #expect(SessionFault(error) == .decodingFailure || error is LanguageModelSession.ToolCallError)
      options.toolCallingMode = .disallowed
      #expect(SessionFault(await failure { try await session.respond(to: "x", options: options).content }) == .decodingFailure)
      #expect(session.transcript.count == 1 && !session.isResponding)
    }
  }

  @Test("thoughts count, and are no part of the answer; reports of tokens are taken instead of what was counted")
  func counts() async throws {
    let model = ScriptedModel([.reasoning]) { _, channel in
      await channel.send(.reasoning(entryID: "t", action: .appendText("hmm", tokenCount: 3)))
      await channel.send(.reasoning(entryID: "t", action: .replaceTextSegment("hmm, well", tokenCount: 5)))
      await channel.send(.reasoning(action: .updateSignature(Data([1]), tokenCount: 1)))
      await channel.send(.reasoning(action: .updateMetadata(["a": 1])))
      await channel.send(
        .response(
          action: .updateUsage(
            input: .init(totalTokenCount: 40, cachedTokenCount: 30), output: .init(totalTokenCount: 6, reasoningTokenCount: 6))))
      await channel.send(.response(action: .appendText("yes", tokenCount: 2)))
    }
    let session = LanguageModelSession(model: model)
    let response = try await session.respond(to: "x", contextOptions: ContextOptions(reasoningLevel: .deep))
    #expect(response.content == "yes")
    #if FoundationModels27
      #expect(response.transcriptEntries.count == 3)
    #else
      #expect(response.transcriptEntries.count == 2)
    #endif
    let usage = response.usage
    #expect(usage.input.totalTokenCount == 40 && usage.input.cachedTokenCount == 30)
    #expect(usage.output.totalTokenCount == 8 && usage.output.reasoningTokenCount == 6)
    #expect(session.usage.output.reasoningTokenCount == 6 && model.log.requests.first?.contextOptions.reasoningLevel == .deep)
  }

  @Test("a model is not asked for what it cannot do", arguments: 0..<3)
  func capabilities(_ index: Int) async throws {
    let model = ScriptedModel([]) { _, channel in await channel.send(.response(action: .appendText("yes", tokenCount: 1))) }
    let session = LanguageModelSession(model: model, tools: index == 1 ? [Lookup()] : [])
    let error = await failure {
      switch index {
      case 0: _ = try await session.respond(to: "x", generating: Report.self).content
      case 1: _ = try await session.respond(to: "x").content
      default: _ = try await session.respond(to: "x", contextOptions: ContextOptions(reasoningLevel: .light)).content
      }
    }
    guard case .unsupportedCapability(let facts)? = error as? LanguageModelError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(facts.capability == [.guidedGeneration, .toolCalling, .reasoning][index])
    #expect(model.log.requests.isEmpty && !session.isResponding && session.transcript.count == (index == 1 ? 1 : 0))
    var options = GenerationOptions()
    options.toolCallingMode = .disallowed
    #expect(try await session.respond(to: "x", options: options).content == "yes")
  }

  @Test("an executor that throws, or cannot be made, ends the turn, and the session goes on")
  func fails() async throws {
    let isBroken = Atomic(true)
    let model = ScriptedModel { _, channel in
      await channel.send(.response(action: .appendText("yes", tokenCount: 1)))
      if isBroken.load(ordering: .relaxed) { throw Broken() }
    }
    let session = LanguageModelSession(model: model, instructions: "be calm")
    #expect(await failure { try await session.respond(to: "x").content } is Broken)
    #expect(session.transcript.count == 1 && !session.isResponding)
    let stream = session.streamResponse(to: "x")
    #expect(await failure { for try await _ in stream {} } is Broken)
    session.transcriptErrorHandlingPolicy = .preserveTranscript
    #expect(await failure { try await session.respond(to: "x").content } is Broken)
    #expect(session.transcript.count == 2)
    isBroken.store(false, ordering: .relaxed)
    #expect(try await session.respond(to: "x").content == "yes")
    var unmade = model
    unmade.isBroken = true
    #expect(await failure { try await LanguageModelSession(model: unmade).respond(to: "x").content } is ScriptedModel.Broken)
  }

  @Test("a cancelled turn is over at once, whether or not the executor cares")
  func cancels() async throws {
    for cares in [true, false] {
      let asked = AsyncStream<Void>.makeStream()
      let wasCancelled = Atomic(false)
      let model = ScriptedModel { _, channel in
        await channel.send(.response(action: .appendText("so", tokenCount: 1)))
        asked.continuation.yield()
        while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        wasCancelled.store(true, ordering: .relaxed)
        if cares { try Task.checkCancellation() }
        try? await Task.detached { try await Task.sleep(for: .milliseconds(200)) }.value
      }
      let session = LanguageModelSession(model: model)
      let task = Task { try await session.respond(to: "x").content }
      for await _ in asked.stream { break }
      #expect(session.isResponding)
      task.cancel()
      #expect(await failure { try await task.value } is CancellationError)
      #expect(!session.isResponding && session.transcript.isEmpty)
      for try await snapshot in session.streamResponse(to: "x") {
        #expect(snapshot.content == "so")
        break
      }
      #expect(!session.isResponding && session.transcript.isEmpty)
      for _ in 0..<2000 where !wasCancelled.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
      let heard = wasCancelled.load(ordering: .relaxed)
      #expect(heard)
    }
  }

  @Test("an executor is told that the model is not to be shown the schema")
  func hidesSchemas() async throws {
    let model = ScriptedModel { _, channel in await channel.send(.response(action: .appendText("7", tokenCount: 1))) }
    let session = LanguageModelSession(model: model)
    _ = try await session.respond(to: "x", generating: Int.self).content
    _ = try await session.respond(to: "x", generating: Int.self, includeSchemaInPrompt: false).content
    for try await _ in session.streamResponse(to: "x", generating: Int.self, includeSchemaInPrompt: false) {}
    #expect(model.log.requests.map { $0.contextOptions.includeSchemaInPrompt ?? true } == [true, false, false])
  }

  @Test("counts have the values that an executor tells with them")
  func usageMetadata() async throws {
    let model = ScriptedModel { _, channel in
      let (input, output) = (
        LanguageModelExecutorGenerationChannel.Usage.Input(totalTokenCount: 5, cachedTokenCount: 0),
        LanguageModelExecutorGenerationChannel.Usage.Output(totalTokenCount: 2, reasoningTokenCount: 0)
      )
      await channel.send(.response(action: .appendText("yes", tokenCount: 1)))
      await channel.send(.response(action: .updateUsage(input: input, output: output, metadata: ["tier": "fast"])))
    }
    let session = LanguageModelSession(model: model)
    let usage = try await session.respond(to: "x").usage
    #expect(usage.totalTokenCount == 7 && usage.metadata == ["tier": "fast".generatedContent] && session.usage.metadata == usage.metadata)
  }

  @Test("a session is prewarmed through its executor")
  func prewarms() async throws {
    let model = ScriptedModel.echo()
    let session = LanguageModelSession(model: model, instructions: "be calm")
    session.prewarm(promptPrefix: Prompt("the goal"))
    for _ in 0..<2000 where model.log.prewarmed.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    let transcript = try #require(model.log.prewarmed.first)
    #expect(transcript.count == 2 && session.transcript.count == 1)
  }

  @Test("a model of this machine says through its executor what its session says", arguments: [false, true])
  func systemModel(_ hasTemplate: Bool) async throws {
    let test = try TestModel(hasTemplate ? .template(TestModel.tagged) : .turns)
    var options = short
    let native = LanguageModelSession(model: test.model, tools: [Lookup(), Lookup("other")], instructions: "be calm")
    let wrapped = LanguageModelSession(
      model: WrappedModel(model: test.model), tools: [Lookup(), Lookup("other")], instructions: "be calm")
    for mode in [GenerationOptions.ToolCallingMode.disallowed, .required, .allowed] {
      options.toolCallingMode = mode
      let expected = try await native.respond(to: "what is the moon?", options: options)
      let stream = wrapped.streamResponse(to: "what is the moon?", options: options)
      for try await snapshot in stream { #expect(snapshot.usage.input.totalTokenCount > 0) }
      let response = try await stream.collect()
      #expect(response.content == expected.content && response.transcriptEntries.count == expected.transcriptEntries.count)
      #expect(response.usage.promptTokens == expected.usage.promptTokens && response.usage.readTokens == expected.usage.readTokens)
      #expect(response.usage.responseTokens == expected.usage.responseTokens)
    }
    options.toolCallingMode = .disallowed
    let report = try await native.respond(to: "report", generating: Report.self, options: GenerationOptions(sampling: .greedy))
    #expect(
      try await wrapped.respond(to: "report", generating: Report.self, options: GenerationOptions(sampling: .greedy)).content
        == report.content)
    let missing = WrappedModel(model: SystemLanguageModel(path: test.scratch("nowhere")))
    #expect(SessionFault(await failure { try await LanguageModelSession(model: missing).respond(to: "x") }) == .assetsUnavailable)
    // A session over a model whose type is not known takes the short way.
    func session(_ model: some LanguageModel) -> LanguageModelSession { LanguageModelSession(model: model, instructions: "be calm") }
    let direct = try await LanguageModelSession(model: test.model, instructions: "be calm").respond(to: "the soup", options: short)
    let generic = try await session(test.model).respond(to: "the soup", options: short)
    #expect(generic.content == direct.content)
    guard case .response(let said)? = generic.transcriptEntries.last else { return }
    #expect(said.assetIDs.count == 1)
  }

  @Test("a model behind an executor stops when its turn is cancelled, and then says what another would")
  func cancelsSystemModel() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: WrappedModel(model: test.model), instructions: "be calm")
    await checkCancellation(of: session, times: 8)
    let fresh = LanguageModelSession(model: test.model, transcript: session.transcript)
    #expect(try await session.respond(to: "the soup", options: short).content == fresh.respond(to: "the soup", options: short).content)
  }

  @Test("calls of 26 mean what they meant")
  func oldCalls() throws {
    let (test, tool) = (try TestModel(), Lookup())
    let sessions = [
      LanguageModelSession(), LanguageModelSession(instructions: "x"),
      LanguageModelSession(model: .default, tools: [], instructions: { "x" }),
      LanguageModelSession(tools: [tool]) { "x" }, LanguageModelSession(transcript: Transcript()),
      LanguageModelSession(model: test.model), LanguageModelSession(model: test.model, instructions: nil),
      LanguageModelSession(model: test.model, instructions: "x"), LanguageModelSession(model: test.model) { "x" },
      LanguageModelSession(model: test.model, tools: [tool], transcript: Transcript()),
    ]
    #expect(sessions.map(\.transcript.count) == [0, 1, 1, 1, 0, 0, 0, 1, 1, 0])
    let model = ScriptedModel.echo()
    let text: String? = "x"
    let others = [
      LanguageModelSession(model: model), LanguageModelSession(model: model, instructions: text),
      LanguageModelSession(model: model, instructions: Instructions("x")), LanguageModelSession(model: model) { "x" },
      LanguageModelSession(model: model, transcript: Transcript()),
    ]
    #expect(others.map(\.transcript.count) == [0, 1, 1, 1, 0])
    #expect(throws: Broken.self) { try LanguageModelSession(model: model) { () throws -> Instructions in throw Broken() } }
  }

  @Test("a channel is read by whoever holds it, in the order of what was sent")
  func channels() async throws {
    let channel = LanguageModelExecutorGenerationChannel()
    await channel.send(.response(action: .appendText("a", tokenCount: 1)))
    await channel.send(.toolCalls(action: .removeToolCall(id: "b")))
    var events = channel.makeAsyncIterator()
    guard case .response? = try await events.next()?.content, case .toolCalls? = try await events.next()?.content else {
      Issue.record("an answer and calls expected")
      return
    }
  }
}
