#if FoundationModels27
  import Foundation
  import FoundationModels
  import Testing

  /// What the trait FoundationModels27 adds: thoughts and attachments in transcripts.
  @Suite struct NewestSurfaceTests {
    private let leaf = URL(filePath: "/pictures/leaf.png")
    private let short = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)

    private func expectBlind(_ body: () async throws -> some Any) async {
      let error = await failure { _ = try await body() }
      guard case .unsupportedCapability(let facts)? = error as? LanguageModelError else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(facts.capability == .vision)
    }

    @Test("a model that cannot see refuses images, wherever they are, and the session goes on")
    func blindness() async throws {
      let test = try TestModel()
      let session = LanguageModelSession(model: test.model)
      await expectBlind {
        try await session.respond(options: short) {
          "Which plant is this?"
          Attachment(imageURL: leaf)
        }
      }
      #expect(session.transcript.isEmpty && !session.isResponding)
      await expectBlind { try await test.model.tokenCount(for: Attachment(imageURL: leaf)) }
      await expectBlind { try await test.model.tokenCount(for: Instructions(Attachment(imageURL: leaf))) }
      let told = LanguageModelSession(model: test.model, instructions: Instructions(Attachment(imageURL: leaf)))
      await expectBlind { try await told.respond(to: "what?", options: short) }
      await expectBlind { try await test.model.tokenCount(for: told.transcript) }
      #expect(try await session.respond(to: "the goal", options: short).usage.output.totalTokenCount > 0)
    }

    @Test("a model that sees gets images with their names, and answers that refer to them find them")
    func images() async throws {
      let model = ScriptedModel([.vision, .guidedGeneration]) { request, channel in
        var labels: [String] = []
        for case .prompt(let prompt) in request.transcript {
          for case .attachment(let segment) in prompt.segments { labels.append(segment.label ?? "") }
        }
        await channel.send(.response(action: .appendText(#"{"attachmentLabel": "\#(labels.last ?? "")"}"#, tokenCount: 4)))
      }
      let session = LanguageModelSession(model: model)
      let reference = try await session.respond(generating: ImageReference.self) {
        "Which is the best?"
        Attachment(imageURL: URL(filePath: "/pictures/root.png")).label("root")
        "Or this?"
        Attachment(imageURL: leaf, orientation: .left).label("leaf")
      }.content
      #expect(reference.attachmentLabel == "leaf")
      let image = try #require(reference.resolved(in: session.transcript))
      #expect(image.url == leaf && image.orientation == .left)
      #expect(try ImageReference(GeneratedContent(json: #"{"attachmentLabel": "moon"}"#)).resolved(in: session.transcript.history) == nil)
      guard case .prompt(let prompt)? = session.transcript.first else {
        Issue.record("a prompt expected")
        return
      }
      // Texts between images stay apart.
      #expect(prompt.segments.map(\.description).count == 4 && prompt.segments.plainText == "Which is the best?\n\nOr this?\n")
    }

    @Test("thoughts are an entry before what follows them, with their names, values and signature")
    func thoughts() async throws {
      let model = ScriptedModel([.reasoning, .toolCalling]) { request, channel in
        await channel.send(.reasoning(entryID: "r\(request.outputs.count)", action: .appendText("it is ", tokenCount: 2)))
        await channel.send(.reasoning(action: .appendText("night", tokenCount: 1)))
        await channel.send(.reasoning(action: .updateMetadata(["depth": 2])))
        await channel.send(.reasoning(action: .updateSignature(Data([1, 2]), tokenCount: 0)))
        guard request.outputs.isEmpty else {
          await channel.send(.response(action: .appendText("sleep", tokenCount: 1)))
          return
        }
        await channel.send(
          .toolCalls(action: .toolCall(id: "a", name: "lookup", action: .appendArguments(#"{"word": "moon"}"#, tokenCount: 2))))
      }
      let session = LanguageModelSession(model: model, tools: [Lookup()])
      let response = try await session.respond(to: "what now?", contextOptions: ContextOptions(reasoningLevel: .deep))
      #expect(response.content == "sleep" && response.usage.output.reasoningTokenCount == 6)
      let kinds = response.transcriptEntries.map { entry in
        switch entry {
        case .prompt: "prompt"
        case .reasoning(let reasoning): reasoning.id
        case .toolCalls: "calls"
        case .toolOutput: "output"
        case .response: "response"
        case .instructions: "instructions"
        }
      }
      #expect(kinds == ["prompt", "r0", "calls", "output", "r1", "response"])
      guard case .reasoning(let reasoning)? = session.transcript.first(where: { $0.id == "r1" }) else {
        Issue.record("thoughts expected")
        return
      }
      #expect(reasoning.segments.plainText == "it is night" && reasoning.signature == Data([1, 2]))
      #expect(reasoning.metadata["depth"] == 2.generatedContent && reasoning.description == "Reasoning: it is night")
      // The executor reads its own thoughts again.
      let last = try #require(model.log.requests.last)
      #expect(last.transcript.contains { if case .reasoning = $0 { true } else { false } })
      // A profile is told of them, and what it throws ends the turn.
      struct Tired: Error {}
      let told = Notes()
      let profile = LanguageModelSession.Profile { Lookup() }.model(model)
        .onReasoning { [told] in told.add("thought") }
        .onReasoning { [told] reasoning in
          told.add(reasoning.id)
          if reasoning.id == "r1" { throw Tired() }
        }
      let profiled = LanguageModelSession(profile: profile)
      #expect(await failure { try await profiled.respond(to: "what now?").content } is Tired)
      #expect(told.all == ["thought", "r0", "thought", "r1"] && profiled.transcript.count <= 1)
      // A model of this machine takes the conversation over, and does not read them.
      let test = try TestModel()
      let other = LanguageModelSession(model: test.model, transcript: session.transcript)
      #expect(try await other.respond(to: "the goal", options: short).usage.output.totalTokenCount > 0)
    }

    @Test("an executor puts images into its answer, and takes them back")
    func answers() async throws {
      let leaf = leaf
      let model = ScriptedModel { request, channel in
        await channel.send(.response(action: .appendText(request.schema == nil ? "eat" : #"{"attachmentLabel": "x"}"#, tokenCount: 1)))
        for id in ["a", "b"] {
          let segment = Transcript.AttachmentSegment(id: id, content: .image(.init(imageURL: leaf)))
          await channel.send(.response(action: .addAttachmentSegment(segment)))
        }
        await channel.send(.response(action: .removeAttachmentSegment(id: "a")))
        if request.schema == nil { await channel.send(.response(action: .appendText(" soup", tokenCount: 1))) }
      }
      let session = LanguageModelSession(model: model)
      let response = try await session.respond(to: "what?")
      #expect(response.content == "eat soup")
      guard case .response(let said)? = response.transcriptEntries.last else {
        Issue.record("a response expected")
        return
      }
      #expect(said.segments.count == 2 && said.segments.last?.id == "b")
      let guided = try await LanguageModelSession(model: model).respond(to: "what?", generating: ImageReference.self)
      guard case .response(let object)? = guided.transcriptEntries.last, case .structure? = object.segments.first else {
        Issue.record("a structure expected")
        return
      }
      #expect(guided.content.attachmentLabel == "x" && object.segments.dropFirst().map(\.id) == ["b"])
    }

    @Test("thoughts of several names are entries of their own, also where they are no more than a signature")
    func severalThoughts() async throws {
      let model = ScriptedModel([.reasoning]) { request, channel in
        await channel.send(.reasoning(entryID: "one", action: .appendText("first", tokenCount: 1)))
        await channel.send(.reasoning(action: .updateSignature(Data([1]), tokenCount: 0)))
        await channel.send(.reasoning(entryID: "two", action: .updateSignature(Data([2]), tokenCount: 0)))
        await channel.send(.reasoning(entryID: "two", action: .updateMetadata(["a": 1, "b": 2])))
        await channel.send(.reasoning(entryID: "two", action: .updateMetadata(["b": 3])))
        await channel.send(.response(entryID: "answer", action: .appendText("so", tokenCount: 1)))
      }
      let session = LanguageModelSession(model: model)
      for turn in 0..<2 {
        let entries = try await session.respond(to: "x").transcriptEntries
        let thoughts = entries.compactMap { entry in if case .reasoning(let reasoning) = entry { reasoning } else { nil } }
        #expect(thoughts.map(\.segments.plainText) == ["first", ""] && thoughts.map(\.signature) == [Data([1]), Data([2])])
        #expect(thoughts.last?.metadata == ["b": 3.generatedContent])
        // What an earlier turn has named is there once.
        #expect((thoughts.map(\.id) == ["one", "two"]) == (turn == 0))
      }
      #expect(Set(session.transcript.map(\.id)).count == session.transcript.count && session.transcript.count == 8)
    }

    @Test("entries of a step come in the order in which the model began them, the calls last")
    func order() async throws {
      let model = ScriptedModel([.reasoning, .toolCalling]) { request, channel in
        await channel.send(.reasoning(entryID: "r1", action: .appendText("hm", tokenCount: 1)))
        await channel.send(.response(entryID: "a", action: .updateMetadata(["model": "m"])))
        if request.outputs.isEmpty {
          await channel.send(
            .toolCalls(action: .toolCall(id: "c", name: "lookup", action: .appendArguments(#"{"word": "moon"}"#, tokenCount: 2))))
        } else {
          await channel.send(.response(entryID: "a", action: .appendText("so", tokenCount: 1)))
        }
        await channel.send(.reasoning(entryID: "r2", action: .appendText("well", tokenCount: 1)))
      }
      let response = try await LanguageModelSession(model: model, tools: [Lookup()]).respond(to: "x")
      let kinds = response.transcriptEntries.map { entry in
        switch entry {
        case .prompt: "prompt"
        case .reasoning(let reasoning): reasoning.segments.plainText
        case .toolCalls: "calls"
        case .toolOutput: "output"
        case .response(let said): said.segments.plainText + "!"
        case .instructions: "instructions"
        }
      }
      #expect(kinds == ["prompt", "hm", "!", "well", "calls", "output", "hm", "so!", "well"])
      guard case .response(let said)? = response.transcriptEntries.first(where: { if case .response = $0 { true } else { false } }) else {
        return
      }
      #expect(said.segments.isEmpty && said.metadata == ["model": "m".generatedContent])
    }

    @Test("a transcript with them is JSON of version 1.1, and comes back")
    func coding() throws {
      let transcript = Transcript(entries: [
        .prompt(
          Transcript.Prompt(segments: [
            .attachment(.init(id: "a", content: .image(.init(imageURL: leaf, orientation: .down)), label: "leaf")),
            .attachment(.init(id: "b", content: .image(.init(imageURL: leaf)))),
          ])),
        .reasoning(
          Transcript.Reasoning(
            id: "r", metadata: ["depth": 2], segments: [.text(Transcript.TextSegment(id: "t", content: "hm"))], signature: Data([7]))),
        .response(Transcript.Response(metadata: ["model": "m", "parts": [1.5, 2]], segments: [])),
      ])
      let data = try JSONEncoder().encode(transcript)
      let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      #expect(json["version"] as? String == "1.1")
      let back = try JSONDecoder().decode(Transcript.self, from: data)
      #expect(back == transcript)
      let empty = try JSONSerialization.jsonObject(with: JSONEncoder().encode(Transcript())) as? [String: Any]
      #expect(empty?["version"] as? Int == 1)
    }

    @Test(
      "attachments that are none are refused with their place",
      arguments: [#"{"imageURL":"file:///a","orientation":9}"#, #"{"orientation":1}"#, "7"])
    func faults(attachment: String) throws {
      let json = """
        {"type":"FoundationModels.Transcript","version":"1.1","transcript":{"entries":[\
        {"role":"user","id":"p","contents":[{"type":"attachment","id":"a","attachment":\(attachment)}],"options":{}}]}}
        """
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(Transcript.self, from: Data(json.utf8)) }
    }
  }
#endif
