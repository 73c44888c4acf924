import Foundation
import FoundationModels
import Testing

/// What 27 has beyond 26.
@Suite struct NewerSurfaceTests {
  private let short = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)

  @Test("requests carry context options and metadata, which the transcript keeps")
  func contextOptions() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let hidden = ContextOptions(includeSchemaInPrompt: false)
    let first = try await session.respond(to: "report", generating: Report.self, contextOptions: hidden, metadata: ["run": 7])
    let second = try await session.respond(to: Prompt("report"), options: short, contextOptions: ContextOptions(), metadata: [:])
    let dynamic = try GenerationSchema(root: DynamicGenerationSchema(name: "Answer", anyOf: ["yes", "no"]), dependencies: [])
    for try await snapshot in session.streamResponse(schema: dynamic, contextOptions: hidden, prompt: { "is it?" }) {
      #expect(snapshot.usage.input.totalTokenCount > 0)
    }
    guard case .prompt(let prompt)? = first.transcriptEntries.first, case .prompt(let plain)? = second.transcriptEntries.first else {
      Issue.record("prompts expected")
      return
    }
    #expect(prompt.contextOptions == hidden && prompt.metadata["run"] == 7.generatedContent && prompt.responseFormat == nil)
    #expect(plain.contextOptions == ContextOptions() && plain.metadata.isEmpty)
    // Without context options a call means what it meant before.
    let shown = try await LanguageModelSession(model: test.model).respond(to: "report", generating: Report.self)
    #expect(shown.usage.input.totalTokenCount > first.usage.input.totalTokenCount)
  }

  @Test("thoughts are a typed error, and the session goes on")
  func reasoning() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let error = await failure {
      try await session.respond(to: "a", options: short, contextOptions: ContextOptions(reasoningLevel: .deep))
    }
    guard case .unsupportedCapability(let facts)? = error as? LanguageModelError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(facts.capability == .reasoning && !test.model.capabilities.contains(.reasoning))
    #expect(test.model.capabilities.contains(.toolCalling) && test.model.capabilities.contains(.guidedGeneration))
    #expect(session.transcript.isEmpty)
    #expect(try await session.respond(to: "a", options: short).transcriptEntries.count == 2)
  }

  @Test("snapshots tell the tokens and the entries so far, the last those of the answer")
  func usage() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    var (made, entries, read) = ([Int](), [Int](), 0)
    for try await snapshot in session.streamResponse(to: "report", generating: Report.self) {
      made.append(snapshot.usage.output.totalTokenCount)
      entries.append(snapshot.transcriptEntries.count)
      read = snapshot.usage.input.totalTokenCount
      #expect(snapshot.usage.input.cachedTokenCount == 0 && snapshot.usage.output.reasoningTokenCount == 0)
    }
    #expect(made.count > 1 && made == made.sorted() && made.first ?? 0 >= 1)
    #expect(entries.allSatisfy { (1...2).contains($0) })
    let whole = session.usage
    #expect(whole.input.totalTokenCount == read && abs(whole.output.totalTokenCount - (made.last ?? 0)) <= 1)
    #expect(whole.totalTokenCount == whole.input.totalTokenCount + whole.output.totalTokenCount)
  }

  @Test func failedTurnsMayStay() async throws {
    struct Broken: Error {}
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model, tools: [Lookup { _ in throw Broken() }])
    var options = short
    options.toolCallingMode = .required
    _ = await failure { try await session.respond(to: "what is the moon?", options: options).content }
    #expect(session.transcript.count == 1)
    session.transcriptErrorHandlingPolicy = .preserveTranscript
    _ = await failure { try await session.respond(to: "what is the moon?", options: options).content }
    #expect(session.transcript.count == 3 && !session.isResponding)
    session.transcriptErrorHandlingPolicy = .revertTranscript
    _ = await failure { try await session.respond(to: "what is the moon?", options: options).content }
    #expect(session.transcript.count == 3)
  }

  @Test func transcriptsAreEdited() {
    let instructions = Transcript.Entry.instructions(.init(segments: [], toolDefinitions: []))
    let prompt = Transcript.Entry.prompt(.init(segments: [.text(.init(content: "a"))]))
    let response = Transcript.Entry.response(.init(metadata: ["by": "me"], segments: []))
    var transcript = Transcript(entries: [instructions, prompt])
    transcript.append(response)
    #expect(transcript.count == 3 && transcript.history.count == 2)
    transcript.history = [prompt]
    #expect(transcript == Transcript(entries: [instructions, prompt]))
    transcript.removeFirst()
    #expect(transcript.history.count == 1)
    transcript.swapAt(0, 0)
    func count(_ entries: [Transcript.Entry]) -> Int { entries.count }
    let kept = transcript.filter { $0 == prompt }
    #expect(count(kept) == 1)
    transcript += [response, response]
    #expect(transcript.count == 3 && Transcript().isEmpty)
    if case .response(let said) = transcript[1] { #expect(said.metadata["by"] == "me".generatedContent) }
  }

  @Test("the model of Apple's servers is not available, and says so")
  func privateCloud() async throws {
    let model = PrivateCloudComputeLanguageModel()
    #expect(model.availability == .unavailable(.deviceNotEligible) && !model.isAvailable && !model.quotaUsage.isLimitReached)
    #expect(model.supportedLanguages.isEmpty)
    let session = LanguageModelSession(model: model, tools: [Lookup()], instructions: "be calm")
    session.prewarm()
    let errors = [
      await failure { try await session.respond(to: "a", contextOptions: ContextOptions(reasoningLevel: .deep)).content },
      await failure { try await session.respond(to: "a", generating: Report.self).content },
      await failure { try await model.contextSize }, await failure { try model.supportsLocale() },
    ]
    for error in errors {
      guard case .serviceUnavailable(let facts)? = error as? PrivateCloudComputeLanguageModel.Error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(facts.debugDescription == error?.localizedDescription && facts.debugDescription.contains("Apple"))
    }
    #expect(session.transcript.count == 1 && !session.isResponding)
  }

  @Test("a refusal says why, whoever throws it")
  func refusals() async throws {
    let model = ScriptedModel { _, _ in throw LanguageModelError.refusal(.init(explanation: "I do not cook.", debugDescription: "soup")) }
    guard
      case .refusal(let refusal)? = await failure({ try await LanguageModelSession(model: model).respond(to: "x") }) as? LanguageModelError
    else {
      Issue.record("a refusal expected")
      return
    }
    #expect(try await refusal.explanation.content == "I do not cook." && refusal.debugDescription == "soup")
  }

  @Test("a model of this machine is a kind of its own")
  func variants() throws {
    let test = try TestModel()
    #expect(
      test.model.variant.displayName == "model" && test.model.variant != .core3 && SystemLanguageModel.Variant.core3 != .coreAdvanced3)
  }

  @Test("the transcript of a session can be set")
  func settableTranscript() async throws {
    let session = LanguageModelSession(model: ScriptedModel.echo(), instructions: "be calm")
    for prompt in ["a", "b"] { _ = try await session.respond(to: prompt).content }
    session.transcript.history = session.transcript.history.suffix(2)
    #expect(session.transcript.count == 3 && session.properties.history.map(\.id) == session.transcript.dropFirst().map(\.id))
    session.transcript.append(.response(.init(segments: [.text(.init(content: "c"))])))
    #expect(session.transcript.count == 4)
    session.transcript = Transcript()
    #expect(try await session.respond(to: "d").transcriptEntries.count == 2 && session.transcript.count == 2)
  }

  @Test("a form of an answer says its schema")
  func formats() {
    let format = Transcript.ResponseFormat(type: Report.self)
    switch format.kind {
    case .schema(let schema): #expect(schema.name == "Report")
    }
    #expect(format.kind == Transcript.ResponseFormat(type: Report.self).kind)
    #expect(format.kind != Transcript.ResponseFormat(type: LongList.self).kind)
  }

  @Test("a tool without its type does what it does")
  func anyTool() async throws {
    let tool = AnyTool(Lookup())
    #expect(tool.name == "lookup" && tool.description == "Looks a word up." && tool.includesSchemaInInstructions)
    #expect(String(describing: tool.parameters) == String(describing: Lookup().parameters))
    let test = try TestModel()
    var options = short
    options.toolCallingMode = .required
    let session = LanguageModelSession(model: test.model, tools: [tool])
    let response = try await session.respond(to: "what is the moon?", options: options)
    #expect(response.transcriptEntries.contains { if case .toolOutput = $0 { true } else { false } })
  }
}
