import Testing

@testable import FoundationModels

/// A type that a model can make, written out by hand.
struct River: Generable, Equatable {
  var name: String
  var length: Int

  static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: River.self,
      properties: [
        GenerationSchema.Property(name: "name", description: "The name", type: String.self),
        GenerationSchema.Property(name: "length", type: Int.self),
      ])
  }

  init(name: String, length: Int) { (self.name, self.length) = (name, length) }

  init(_ content: GeneratedContent) throws {
    name = try content.value(forProperty: "name")
    length = try content.value(forProperty: "length")
  }

  var generatedContent: GeneratedContent { GeneratedContent(properties: ["name": name, "length": length]) }
}

/// A conversation with one entry of each kind.
let conversation: [Transcript.Entry] = [
  .instructions(
    Transcript.Instructions(
      id: "i", segments: [.text(Transcript.TextSegment(id: "i0", content: "Be brief."))],
      toolDefinitions: [Transcript.ToolDefinition(name: "search", description: "Finds rivers.", parameters: River.generationSchema)])),
  .prompt(
    Transcript.Prompt(
      id: "p", segments: [.text(Transcript.TextSegment(id: "p0", content: "Which river?\nThe longest."))],
      options: GenerationOptions(sampling: .random(top: 5, seed: 7), temperature: 0.5, maximumResponseTokens: 100),
      responseFormat: Transcript.ResponseFormat(type: River.self))),
  .toolCalls(
    Transcript.ToolCalls(
      id: "c",
      [
        Transcript.ToolCall(
          id: "c0", toolName: "search",
          arguments: GeneratedContent(properties: ["name": "Elbe", "about": "length"]))
      ])),
  .toolOutput(
    Transcript.ToolOutput(id: "c0", toolName: "search", segments: [.text(Transcript.TextSegment(id: "o0", content: "1094 km"))])),
  .response(
    Transcript.Response(
      id: "r", assetIDs: ["base", "adapter"],
      segments: [
        .structure(Transcript.StructuredSegment(id: "r0", source: "River", content: River(name: "Elbe", length: 1094).generatedContent))
      ])),
]

@Suite struct TranscriptTests {
  @Test func entriesAreACollection() {
    var transcript = Transcript(entries: conversation)
    #expect(transcript.count == 5)
    #expect(transcript.map(\.id) == ["i", "p", "c", "c0", "r"])
    #expect(transcript[1] == conversation[1])
    #expect(transcript.last?.id == "r")
    #expect(transcript[2...].map(\.id) == ["c", "c0", "r"])
    #expect(Array(transcript) == conversation)
    transcript[0] = conversation[4]
    #expect(transcript.first?.id == "r")
    #expect(transcript != Transcript(entries: conversation))
    #expect(Transcript().isEmpty)
    #expect(Transcript(entries: conversation.lazy.filter { $0.id != "c" }).count == 4)
  }

  @Test func identifiersAreNewWhereNoneIsGiven() {
    let ids = [
      Transcript.TextSegment(content: "").id, Transcript.StructuredSegment(source: "", content: GeneratedContent("")).id,
      Transcript.Instructions(segments: [], toolDefinitions: []).id, Transcript.Prompt(segments: []).id, Transcript.ToolCalls([]).id,
      Transcript.Response(assetIDs: [], segments: []).id,
    ]
    #expect(Set(ids).count == ids.count)
    #expect(ids.allSatisfy { !$0.isEmpty })
  }

  @Test func segmentsHaveTheIdentifiersOfTheirContent() {
    #expect(Transcript.Segment.text(Transcript.TextSegment(id: "a", content: "")).id == "a")
    #expect(Transcript.Segment.structure(Transcript.StructuredSegment(id: "b", source: "", content: GeneratedContent(""))).id == "b")
  }

  @Test func bothNamesOfTheSourceAreOneStorage() {
    var segment = Transcript.StructuredSegment(id: "a", schemaName: "River", content: GeneratedContent("x"))
    #expect(segment.source == "River")
    segment.schemaName = "Lake"
    #expect(segment == Transcript.StructuredSegment(id: "a", source: "Lake", content: GeneratedContent("x")))
  }

  @Test func callsAreACollection() {
    let calls = Transcript.ToolCalls(
      id: "c", ["a", "b"].map { Transcript.ToolCall(id: $0, toolName: "search", arguments: GeneratedContent($0)) })
    #expect(calls.count == 2)
    #expect(calls.map(\.id) == ["a", "b"])
    #expect(calls[1].toolName == "search")
    #expect(calls.first?.arguments.jsonString == "\"a\"")
    #expect(calls.id == "c")
  }

  @Test func definitionsCompareTheirSchemas() {
    let definition = Transcript.ToolDefinition(name: "a", description: "b", parameters: River.generationSchema)
    #expect(definition == Transcript.ToolDefinition(name: "a", description: "b", parameters: River.generationSchema))
    #expect(definition != Transcript.ToolDefinition(name: "a", description: "b", parameters: String.generationSchema))
    #expect(definition != Transcript.ToolDefinition(name: "a", description: "c", parameters: River.generationSchema))
    #expect(definition.parameters.isSame(as: River.generationSchema))
  }

  @Test func definitionsAreMadeOfTools() {
    struct Search: Tool {
      let description = "Finds rivers."
      func call(arguments: River) async throws -> String { "" }
    }
    #expect(
      Transcript.ToolDefinition(tool: Search())
        == Transcript.ToolDefinition(name: "Search", description: "Finds rivers.", parameters: River.generationSchema))
  }

  @Test func responseFormatsHaveNames() {
    let format = Transcript.ResponseFormat(type: River.self)
    #expect(format.name == "River")
    #expect(format == Transcript.ResponseFormat(type: River.self))
    #expect(format == Transcript.ResponseFormat(schema: River.generationSchema))
    #expect(format != Transcript.ResponseFormat(type: String.self))
    #expect(Transcript.ResponseFormat(type: String.self).name == "String")
  }

  @Test func descriptionsAreOneLine() {
    #expect(
      conversation.map(\.description) == [
        "Instructions: Be brief. [tools: search]", "Prompt: Which river? The longest. [response format: River]",
        #"Tool calls: search({"name": "Elbe", "about": "length"})"#, "Output of search: 1094 km",
        #"Response: {"name": "Elbe", "length": 1094}"#,
      ])
    #expect(Transcript.Segment.text(Transcript.TextSegment(content: "a\r\nb\u{2028}c")).description == "a b c")
    let structure = Transcript.StructuredSegment(source: "String", content: GeneratedContent("x"))
    #expect(Transcript.Segment.structure(structure).description == #"String "x""#)
    #expect(Transcript.Prompt(segments: []).description == "Prompt: ")
  }

  @Test func segmentsAreText() {
    let segments: [Transcript.Segment] = [
      .text(Transcript.TextSegment(content: "a")),
      .structure(Transcript.StructuredSegment(source: "River", content: River(name: "Elbe", length: 1094).generatedContent)),
    ]
    let text = "a\n" + #"{"name": "Elbe", "length": 1094}"#
    #expect(Transcript.Instructions(segments: segments, toolDefinitions: []).text == text)
    #expect(Transcript.Prompt(segments: segments).text == text)
    #expect(Transcript.ToolOutput(id: "", toolName: "", segments: segments).text == text)
    #expect(Transcript.Response(assetIDs: [], segments: segments).text == text)
  }

  @Test func outputsBecomeSegments() {
    func source(_ output: some PromptRepresentable) -> String? {
      let segments = Transcript.segments(of: output)
      guard segments.count == 1, case .structure(let segment) = segments[0] else { return nil }
      return segment.source
    }
    #expect(source(River(name: "Elbe", length: 1094)) == "River")
    #expect(source(3) == "Int")
    #expect(source([1, 2]) == "Array<Int>")
    #expect(source("text") == nil)
    #expect(source(Prompt("text")) == nil)
    #expect(Transcript.segments(of: "text").text == "text")
    #expect(Transcript.segments(of: ["a", "b"]).text == #"["a", "b"]"#)
    #expect(Transcript.segments(of: Prompt("text")).text == "text")
    #expect(Transcript.segments(of: Prompt {}).isEmpty)
    #expect(Transcript.segments(of: [Prompt("a"), Prompt("b")]).text == "a\nb")
  }
}
