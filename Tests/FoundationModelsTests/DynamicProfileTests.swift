import FoundationModels
import Observation
import Synchronization
import Testing

private enum Phase: Sendable { case draft, review }

private struct PhaseKey: SessionPropertyKey { static var defaultValue: Phase { .draft } }
private struct NotesKey: SessionPropertyKey { static var defaultValue: Notes { Notes() } }

/// Lines that somebody writes down.
final class Notes: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func add(_ line: String) { lines.withLock { $0.append(line) } }
}

extension SessionPropertyValues {
  fileprivate var phase: Phase {
    get { self[PhaseKey.self] }
    set { self[PhaseKey.self] = newValue }
  }
  fileprivate var notes: Notes {
    get { self[NotesKey.self] }
    set { self[NotesKey.self] = newValue }
  }
}

/// A tool that ends the draft.
private struct EndDraft: Tool {
  let name = "endDraft"
  let description = "Ends the draft."
  @SessionProperty(\.phase) var phase
  let parameters = GenerationSchema(type: String.self, properties: [])
  func call(arguments: GeneratedContent) async throws -> String {
    phase = .review
    return "ended"
  }
}

private struct Guide: DynamicInstructions {
  @SessionProperty(\.phase) var phase
  var body: some DynamicInstructions {
    Instructions("You write.")
    if phase == .draft {
      Instructions("Write freely.")
      EndDraft()
    } else {
      Instructions("Correct mistakes.")
      [Lookup(), Lookup("other")] as [any Tool]
    }
    if phase == .review { Instructions("Be strict.") }
  }
}

private struct Writing: LanguageModelSession.DynamicProfile {
  let draft: ScriptedModel
  let review: ScriptedModel
  @SessionProperty(\.phase) var phase
  @SessionProperty(\.notes) var notes

  var body: some DynamicProfile {
    if phase == .draft {
      Profile { Guide() }
        .model(draft).temperature(1.5).maximumResponseTokens(20)
        .onActivate { [notes] in notes.add("draft begins") }
        .onDeactivate { [notes] in notes.add("draft ends") }
    } else {
      Profile { Guide() }
        .model(review).samplingMode(.greedy).reasoningLevel(.light).toolCallingMode(.disallowed)
        .onActivate { [notes] in notes.add("review begins") }
        .onDeactivate { [notes] in notes.add("review ends") }
    }
  }
}

/// Notes all that happens.
private struct Noting: LanguageModelSession.DynamicProfileModifier {
  let notes: Notes
  func body(content: Content) -> some DynamicProfile {
    content
      .onPrompt { [notes] in notes.add("prompt") }
      .onPrompt { [notes] prompt in notes.add("prompt \(prompt.segments.plainText)") }
      .onToolCall { [notes] in notes.add("call") }
      .onToolCall { [notes] call in notes.add("call \(call.id)") }
      .onToolOutput { [notes] in notes.add("output") }
      .onToolOutput { [notes] call, output in notes.add("output \(call.id) \(output.segments.plainText)") }
      .onResponse { [notes] in notes.add("response") }
      .onResponse { [notes] response in notes.add("response \(response.segments.plainText)") }
  }
}

private struct Fixed: LanguageModelSession.DynamicProfile {
  let model: ScriptedModel
  var instructions = "be calm"
  var body: some DynamicProfile { Profile { Instructions(instructions) }.model(model).temperature(0.5) }
}

@Suite struct DynamicProfileTests {
  private struct Broken: Error {}

  private static func calling(_ calls: [(name: String, arguments: String)]) -> ScriptedModel {
    ScriptedModel { request, channel in
      guard request.outputs.isEmpty else {
        await channel.send(.response(action: .appendText("after " + request.outputs[0].segments.plainText, tokenCount: 2)))
        return
      }
      for (index, call) in calls.enumerated() {
        await channel.send(
          .toolCalls(action: .toolCall(id: "\(index)", name: call.name, action: .appendArguments(call.arguments, tokenCount: 1))))
      }
    }
  }

  @Test("instructions, tools, model and options are those that the profile says at each turn")
  func turns() async throws {
    let (draft, review) = (
      ScriptedModel.echo("draft: "),
      ScriptedModel(
        [.toolCalling, .reasoning],
        { request, channel in
          await channel.send(.response(action: .appendText("review: " + request.lastPrompt, tokenCount: 2)))
        })
    )
    let session = LanguageModelSession(profile: Writing(draft: draft, review: review))
    let notes = session.properties.notes
    #expect(session.transcript.isEmpty && session.properties.phase == .draft)
    #expect(try await session.respond(to: "one").content == "draft: one")
    #expect(session.transcript.count == 3)
    let first = session.transcript[0]
    _ = try await session.respond(to: "two", options: GenerationOptions(temperature: 0.25))
    #expect(session.transcript[0] == first)
    session.properties.phase = .review
    let third = try await session.respond(to: "three")
    #expect(third.content == "review: three" && session.transcript.count == 7 && third.transcriptEntries.count == 2)
    session.properties.phase = .draft
    _ = try await session.respond(to: "four")
    #expect(notes.all == ["draft begins", "draft ends", "review begins", "review ends", "draft begins"])

    let asked = draft.log.requests
    #expect(asked.map(\.instructions) == Array(repeating: "You write.\nWrite freely.", count: 3))
    #expect(asked.map { $0.enabledToolDefinitions.map(\.name) } == Array(repeating: ["endDraft"], count: 3))
    #expect(asked.map(\.generationOptions.temperature) == [1.5, 0.25, 1.5])
    #expect(asked.allSatisfy { $0.generationOptions.maximumResponseTokens == 20 } && asked.map(\.transcript.count) == [2, 4, 8])
    let reviewed = try #require(review.log.requests.first)
    #expect(reviewed.instructions == "You write.\nCorrect mistakes.\nBe strict." && reviewed.enabledToolDefinitions.isEmpty)
    #expect(reviewed.generationOptions.samplingMode == .greedy && reviewed.contextOptions.reasoningLevel == .light)
    guard case .instructions(let said)? = reviewed.transcript.first else { return }
    #expect(said.toolDefinitions.map(\.name) == ["lookup", "other"])
    #expect(draft.log.executors == 1 && review.log.executors == 1)
  }

  @Test("a tool that changes a property changes the next request of the same turn")
  func toolsChangeProfiles() async throws {
    let draft = Self.calling([("endDraft", "{}")])
    let review = ScriptedModel([.toolCalling, .reasoning]) { request, channel in
      await channel.send(.response(action: .appendText("reviewed " + request.outputs[0].segments.plainText, tokenCount: 2)))
    }
    let session = LanguageModelSession(profile: Writing(draft: draft, review: review))
    let response = try await session.respond(to: "write")
    #expect(response.content == "reviewed ended" && response.transcriptEntries.count == 4 && session.properties.phase == .review)
    #expect(session.transcript.count == 5)
    #expect(session.properties.notes.all == ["draft begins", "draft ends", "review begins"])
  }

  @Test("actions are done in order, from the profile outwards")
  func actions() async throws {
    let notes = Notes()
    let model = Self.calling([("lookup", #"{"word": "moon"}"#), ("lookup", #"{"word": "soup"}"#)])
    struct Looking: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      let notes: Notes
      var body: some DynamicProfile {
        Profile { Lookup() }.model(model).onActivate { [notes] in notes.add("begin") }.modifier(Noting(notes: notes))
      }
    }
    let session = LanguageModelSession(profile: Looking(model: model, notes: notes))
    _ = try await session.respond(to: "x")
    #expect(
      notes.all == [
        "begin", "prompt", "prompt x", "call", "call 0", "call", "call 1", "output", "output 0 moon is a word", "output",
        "output 1 soup is a word", "response", "response after moon is a word",
      ])
    #expect(session.transcript.count == 6)
  }

  @Test("an action that throws ends the turn, and its entries go the way that the profile or the session says", arguments: 0..<4)
  func failingActions(_ index: Int) async throws {
    let model = Self.calling([("lookup", #"{"word": "moon"}"#)])
    struct Failing: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      let index: Int
      var policy: TranscriptErrorHandlingPolicy?
      func fail(_ here: Int) throws { if here == index { throw Broken() } }
      var body: some DynamicProfile {
        let profile = Profile { Lookup() }.model(model).transcriptErrorHandlingPolicy(policy)
        let index = index
        @Sendable func fail(_ here: Int) throws { if here == index { throw Broken() } }
        return profile.onPrompt { try fail(0) }.onToolCall { _ in try fail(1) }.onToolOutput { _, _ in try fail(2) }.onResponse {
          try fail(3)
        }
      }
    }
    let session = LanguageModelSession(profile: Failing(model: model, index: index))
    #expect(await failure { try await session.respond(to: "x").content } is Broken)
    #expect(session.transcript.isEmpty && !session.isResponding)
    let keeping = LanguageModelSession(profile: Failing(model: model, index: index, policy: .preserveTranscript))
    #expect(await failure { try await keeping.respond(to: "x").content } is Broken)
    #expect(keeping.transcript.count == [2, 3, 4, 5][index])
    keeping.transcriptErrorHandlingPolicy = .revertTranscript
    #expect(await failure { try await keeping.respond(to: "x").content } is Broken)
    #expect(keeping.transcript.count == [2, 3, 4, 5][index])
  }

  @Test("a model is shown a history that is transformed, and the transcript stays as it is")
  func transforms() async throws {
    let model = ScriptedModel.echo()
    struct Short: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      var body: some DynamicProfile {
        Fixed(model: model).historyTransform { $0.filter { if case .prompt = $0 { true } else { false } } }.historyTransform {
          $0.suffix(2)
        }
      }
    }
    let session = LanguageModelSession(profile: Short(model: model), history: [.prompt(.init(segments: [.text(.init(content: "zero"))]))])
    for prompt in ["one", "two"] { _ = try await session.respond(to: prompt) }
    #expect(model.log.requests.map(\.transcript.count) == [3, 3] && model.log.requests.last?.instructions == "be calm")
    #expect(model.log.requests.map(\.lastPrompt) == ["one", "two"] && session.transcript.count == 6)
  }

  @Test("actions and holders of a session edit its history")
  func history() async throws {
    let model = ScriptedModel.echo()
    struct Compacting: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      @SessionProperty(\.history) var history
      var body: some DynamicProfile {
        Fixed(model: model).onResponse { if history.count > 4 { history = history.suffix(2) } }
      }
    }
    let session = LanguageModelSession(profile: Compacting(model: model))
    var counts: [Int] = []
    for prompt in ["a", "b", "c", "d"] {
      #expect(try await session.respond(to: prompt).transcriptEntries.count == 2)
      counts.append(session.transcript.count)
    }
    #expect(counts == [3, 5, 3, 5] && session.properties.history.count == 4)
    session.properties.history = []
    #expect(session.transcript.count == 1)
    #expect(try await session.respond(to: "e").content == "e")
    let plain = LanguageModelSession(model: model, instructions: "x")
    plain.properties.history = session.properties.history
    #expect(plain.transcript.count == 3)
  }

  @Test("a history without the prompt that is being answered ends the turn, and the session goes on")
  func lostPrompt() async throws {
    struct Forgetful: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      @SessionProperty(\.history) var history
      var body: some DynamicProfile {
        Fixed(model: model).onPrompt { prompt in if prompt.segments.plainText == "forget" { history = [] } }
      }
    }
    let session = LanguageModelSession(profile: Forgetful(model: ScriptedModel.echo()))
    #expect(try await session.respond(to: "a").content == "a")
    let error = await failure { try await session.respond(to: "forget").content } as? LanguageModelSession.Error
    #expect(error == .transcriptMutationWhileResponding && error?.errorDescription?.contains("transcript") == true)
    #expect(!session.isResponding && session.transcript.count == 3)
    #expect(try await session.respond(to: "b").content == "b")
  }

  @Test("a summary may take the place of the prompt that is being answered")
  func summaries() async throws {
    struct Summing: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      @SessionProperty(\.history) var history
      var body: some DynamicProfile {
        Fixed(model: model).onPrompt { prompt in
          guard history.count > 2 else { return }
          let text = "before: \(history.count); now: \(prompt.segments.plainText)"
          history = [.prompt(Transcript.Prompt(segments: [.text(Transcript.TextSegment(content: text))]))]
        }
      }
    }
    let session = LanguageModelSession(profile: Summing(model: ScriptedModel.echo()))
    _ = try await session.respond(to: "a").content
    let response = try await session.respond(to: "b")
    #expect(response.content == "before: 3; now: b" && response.transcriptEntries.count == 2 && session.transcript.count == 3)
    // One that was said before is no summary.
    let old = session.transcript.history
    struct Rewinding: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      let old: Transcript.HistoryView
      @SessionProperty(\.history) var history
      var body: some DynamicProfile { Fixed(model: model).onPrompt { [old] in history = old } }
    }
    let rewinding = LanguageModelSession(profile: Rewinding(model: ScriptedModel.echo(), old: old), history: old)
    #expect(
      await failure { try await rewinding.respond(to: "c").content } as? LanguageModelSession.Error == .transcriptMutationWhileResponding)
  }

  @Test("the type of a profile can be hidden, and any model named")
  func erased() async throws {
    struct Either: LanguageModelSession.DynamicProfile {
      let model: any LanguageModel
      let isPlain: Bool
      var body: some DynamicProfile {
        if isPlain {
          Profile { Instructions("plain") }.model(model)
        } else if #available(macOS 27, *) {
          LanguageModelSession.AnyDynamicProfile(Profile { Instructions("hidden") }.model(model))
        } else {
          Profile {}
        }
      }
    }
    let model = ScriptedModel.echo()
    for isPlain in [true, false] {
      _ = try await LanguageModelSession(profile: Either(model: model, isPlain: isPlain)).respond(to: "a").content
    }
    #expect(model.log.requests.map(\.instructions) == ["plain", "hidden"])
  }

  @Test("instructions for each element of a collection are said one under the other, with their tools")
  func elements() async throws {
    struct Shelf: Identifiable {
      let id: String
      var goods: [String]
    }
    struct Pantry: DynamicInstructions {
      @SessionProperty(\.phase) var phase
      let shelves = [Shelf(id: "top", goods: ["salt"]), Shelf(id: "low", goods: ["oil", "rice"])]
      var body: some DynamicInstructions {
        Instructions("You know the shelves.")
        ForEach(phase == .draft ? shelves : []) { shelf in
          Instructions("\(shelf.id):")
          ForEach(shelf.goods, id: \.self) { good in
            Instructions(good)
            if good == "rice" { Lookup(good) }
          }
        }
      }
    }
    let model = ScriptedModel.echo()
    let session = LanguageModelSession(model: model, dynamicInstructions: Pantry())
    _ = try await session.respond(to: "a").content
    session.properties.phase = .review
    _ = try await session.respond(to: "b").content
    #expect(model.log.requests.map(\.instructions) == ["You know the shelves.\ntop:\nsalt\nlow:\noil\nrice", "You know the shelves."])
    #expect(model.log.requests.map { $0.enabledToolDefinitions.map(\.name) } == [["rice"], []])
  }

  @Test("the modifier next to the profile decides, and what a request names comes before")
  func precedence() async throws {
    let (model, other) = (ScriptedModel.echo(), ScriptedModel.echo("other "))
    struct Outer: LanguageModelSession.DynamicProfile {
      let model: ScriptedModel
      let other: ScriptedModel
      var body: some DynamicProfile {
        Fixed(model: model).model(other).temperature(2).temperature(nil).maximumResponseTokens(9).toolCallingMode(.allowed)
      }
    }
    let session = LanguageModelSession(profile: Outer(model: model, other: other))
    #expect(try await session.respond(to: "x", options: GenerationOptions(sampling: .greedy, maximumResponseTokens: 3)).content == "x")
    let options = try #require(model.log.requests.first).generationOptions
    #expect(options.temperature == 0.5 && options.maximumResponseTokens == 3 && options.samplingMode == .greedy)
    #expect(options.toolCallingMode == .allowed && other.log.requests.isEmpty)
  }

  @Test("dynamic instructions of all kinds say what they hold, and can be set")
  func instructions() async throws {
    struct Parts: DynamicInstructions {
      var body: some DynamicInstructions {
        AnyDynamicInstructions(erasing: Instructions("a"))
        AnyDynamicInstructions(Optional(Instructions("b")) as any DynamicInstructions)
        EmptyDynamicInstructions()
        TupleDynamicInstructions(Instructions("c"), Lookup.said)
        ConditionalDynamicInstructions<Instructions, EmptyDynamicInstructions>(
          .trueContent(
            Instructions {
              "d"; "e"
            }))
        Instructions?.none
      }
    }
    let model = ScriptedModel.echo()
    let session = LanguageModelSession(model: model, dynamicInstructions: Parts())
    #expect(session.properties.rootDynamicInstructions is Parts)
    _ = try await session.respond(to: "x")
    #expect(model.log.requests[0].instructions == "a\nb\nc\nd\ne")
    #expect(model.log.requests[0].enabledToolDefinitions.map(\.name) == ["lookup"])
    session.properties.rootDynamicInstructions = Instructions("new")
    _ = try await session.respond(to: "x")
    #expect(model.log.requests[1].instructions == "new" && model.log.requests[1].enabledToolDefinitions.isEmpty)
    session.properties.rootDynamicInstructions = EmptyDynamicInstructions()
    _ = try await session.respond(to: "x")
    #expect(model.log.requests[2].instructions == nil && session.transcript.count == 6)
    // A session without a profile has instructions too.
    let plain = LanguageModelSession(model: model, tools: [Lookup()], instructions: "plain")
    let other = LanguageModelSession(model: model, dynamicInstructions: AnyDynamicInstructions(plain.properties.rootDynamicInstructions))
    _ = try await other.respond(to: "x")
    #expect(model.log.requests[3].instructions == "plain" && model.log.requests[3].enabledToolDefinitions.count == 1)
    plain.properties.rootDynamicInstructions = Instructions("other")
    _ = try await plain.respond(to: "x")
    #expect(model.log.requests[4].instructions == "other" && model.log.requests[4].enabledToolDefinitions.isEmpty)
  }

  @Test("a model of this machine follows a profile, and reads no more than what is new")
  func systemModel() async throws {
    let test = try TestModel()
    struct Calm: LanguageModelSession.DynamicProfile {
      let model: SystemLanguageModel
      @SessionProperty(\.phase) var phase
      var body: some DynamicProfile {
        Profile { Instructions(phase == .draft ? "be calm" : "be strict") }.model(model).samplingMode(.greedy).maximumResponseTokens(8)
      }
    }
    let session = LanguageModelSession(profile: Calm(model: test.model))
    session.prewarm(promptPrefix: Prompt("the goal"))
    let options = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)
    let plain = LanguageModelSession(model: test.model, instructions: "be calm")
    let first = try await session.respond(to: "the goal of the match")
    #expect(try await plain.respond(to: "the goal of the match", options: options).content == first.content)
    let second = try await session.respond(to: "the soup")
    let expected = try await plain.respond(to: "the soup", options: options)
    #expect(second.content == expected.content && second.usage.readTokens == expected.usage.readTokens)
    session.properties.phase = .review
    let stream = session.streamResponse(
      to: "report", generating: Report.self, options: GenerationOptions(maximumResponseTokens: 200))
    for try await snapshot in stream { #expect(snapshot.transcriptEntries.count >= 1) }
    #expect(try await stream.collect().usage.readTokens > second.usage.readTokens)
    session.properties.phase = .draft
    let error = await failure { try await session.respond(to: "x", contextOptions: ContextOptions(reasoningLevel: .deep)).content }
    #expect(error is LanguageModelError && session.transcript.count == 7)
  }

  @Test("properties are kept for each session, and can be observed")
  func properties() async throws {
    let model = ScriptedModel.echo()
    let (one, two) = (LanguageModelSession(model: model), LanguageModelSession(model: model))
    let isTold = Mutex(false)
    withObservationTracking {
      _ = one.properties.phase
    } onChange: {
      isTold.withLock { $0 = true }
    }
    one.properties.phase = .review
    #expect(one.properties.phase == .review && two.properties.phase == .draft && isTold.withLock { $0 })
    #expect(one.properties.notes === one.properties.notes && one.properties.notes !== two.properties.notes)
    #expect(Guide().phase == .draft)
  }
}

extension Lookup {
  /// Instructions that have the tool.
  @DynamicInstructionsBuilder fileprivate static var said: some DynamicInstructions { Lookup() }
}
