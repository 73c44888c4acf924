import Foundation
import Testing

@testable import FoundationModels

/// The JSON of a transcript around some entries.
private func document(_ entries: String, type: String = #""FoundationModels.Transcript""#, version: String = "1") -> String {
  #"{"type": \#(type), "version": \#(version), "transcript": {"entries": [\#(entries)]}}"#
}

private func decoded(_ json: String) throws -> Transcript { try JSONDecoder().decode(Transcript.self, from: Data(json.utf8)) }

/// The only entry of a document with this entry.
private func entry(_ json: String) throws -> Transcript.Entry { try #require(try decoded(document(json)).first) }

private func encoded(_ transcript: Transcript) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return String(decoding: try encoder.encode(transcript), as: UTF8.self)
}

/// The JSON of an entry as it stands in a transcript.
private func encoded(_ entry: Transcript.Entry) throws -> String {
  let text = try encoded(Transcript(entries: [entry]))
  return String(
    text.dropFirst(#"{"transcript":{"entries":["#.count).dropLast(#"]},"type":"FoundationModels.Transcript","version":1}"#.count))
}

/// The description and path of the error that decoding ends with; nil for none or another one.
private func failure(_ json: String) -> (text: String, path: [String])? {
  do { _ = try decoded(json) } catch let error as DecodingError {
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      return (context.debugDescription, context.codingPath.map(\.stringValue))
    case .keyNotFound(let key, let context): return ("\(key.stringValue) missing", context.codingPath.map(\.stringValue))
    @unknown default: return nil
    }
  } catch { return nil }
  return nil
}

private let text = #"{"type": "text", "text": "Hello", "id": "t"}"#
private let segments: [Transcript.Segment] = [.text(Transcript.TextSegment(id: "t", content: "Hello"))]

@Suite struct TranscriptEncodingTests {
  @Test func emptyTranscripts() throws {
    #expect(try encoded(Transcript()) == #"{"transcript":{"entries":[]},"type":"FoundationModels.Transcript","version":1}"#)
  }

  @Test func instructions() throws {
    let plain = Transcript.Instructions(id: "i", segments: segments, toolDefinitions: [])
    #expect(
      try encoded(.instructions(plain)) == #"{"contents":[{"id":"t","text":"Hello","type":"text"}],"id":"i","role":"instructions"}"#)
    let schema = try JSONSerialization.jsonObject(with: JSONEncoder().encode(River.generationSchema)) as? NSDictionary
    let object = try JSONSerialization.jsonObject(with: Data(encoded(conversation[0]).utf8)) as? [String: Any]
    let tools = try #require(object?["tools"] as? [[String: Any]])
    #expect(tools.count == 1)
    #expect(tools[0]["type"] as? String == "function")
    let function = try #require(tools[0]["function"] as? [String: Any])
    #expect(Set(function.keys) == ["name", "description", "parameters"])
    #expect(function["name"] as? String == "search")
    #expect(function["description"] as? String == "Finds rivers.")
    #expect(function["parameters"] as? NSDictionary == schema)
  }

  @Test func prompts() throws {
    let plain = Transcript.Prompt(id: "p", segments: segments)
    #expect(
      try encoded(.prompt(plain)) == #"{"contents":[{"id":"t","text":"Hello","type":"text"}],"id":"p","options":{},"role":"user"}"#)
    let object = try JSONSerialization.jsonObject(with: Data(encoded(conversation[1]).utf8)) as? [String: Any]
    let format = try #require(object?["responseFormat"] as? [String: Any])
    #expect(format["type"] as? String == "jsonSchema")
    let schema = try #require(format["jsonSchema"] as? [String: Any])
    #expect(Set(schema.keys) == ["name", "schema"])
    #expect(schema["name"] as? String == "River")
    #expect((schema["schema"] as? [String: Any])?["title"] as? String == "River")
  }

  @Test(arguments: [
    (GenerationOptions(), "{}"),
    (GenerationOptions(temperature: 0.5, maximumResponseTokens: 9), #"{"maximumResponseTokens":9,"temperature":0.5}"#),
    (GenerationOptions(sampling: .greedy), #"{"greedy":true}"#),
    (GenerationOptions(sampling: .random(top: 40)), #"{"topK":40}"#),
    (GenerationOptions(sampling: .random(top: 40, seed: .max)), #"{"randomSeed":18446744073709551615,"topK":40}"#),
    (GenerationOptions(sampling: .random(probabilityThreshold: 0.9, seed: 3)), #"{"randomSeed":3,"topP":0.9}"#),
    (GenerationOptions(toolCallingMode: .allowed), #"{"toolCallingMode":"allowed"}"#),
    (GenerationOptions(toolCallingMode: .required), #"{"toolCallingMode":"required"}"#),
    (GenerationOptions(toolCallingMode: .disallowed), #"{"toolCallingMode":"disallowed"}"#),
  ])
  func options(options: GenerationOptions, json: String) throws {
    let prompt = Transcript.Prompt(id: "p", segments: [], options: options)
    let expected = #"{"contents":[],"id":"p","options":\#(json),"role":"user"}"#
    #expect(try encoded(.prompt(prompt)) == expected)
    #expect(try entry(expected) == .prompt(prompt))
  }

  @Test func calls() throws {
    #expect(
      try encoded(conversation[2])
        == #"{"id":"c","role":"response","toolCalls":[{"arguments":"{\"name\": \"Elbe\", \"about\": \"length\"}","id":"c0","name":"search"}]}"#
    )
  }

  @Test func outputs() throws {
    #expect(
      try encoded(conversation[3])
        == #"{"contents":[{"id":"o0","text":"1094 km","type":"text"}],"id":"c0","role":"tool","toolCallID":"c0","toolName":"search"}"#)
  }

  @Test func responses() throws {
    #expect(
      try encoded(conversation[4])
        == #"{"assets":["base","adapter"],"contents":[{"id":"r0","structure":{"content":{"length":1094,"name":"Elbe"},"source":"River"},"#
        + #""type":"structure"}],"id":"r","role":"response"}"#)
    let plain = Transcript.Response(id: "r", assetIDs: [], segments: [])
    #expect(try encoded(.response(plain)) == #"{"contents":[],"id":"r","role":"response"}"#)
  }

  @Test func numbersThatJSONCannotExpressAreRefused() {
    let prompt = Transcript.Prompt(segments: [], options: GenerationOptions(temperature: .nan))
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(Transcript(entries: [.prompt(prompt)])) }
  }

  @Test(arguments: [
    "null", "true", "-3", "0.1", "9007199254740993", "12345678901234567890", "1e300", #""a \"b\"\n""#, "[]", "{}",
    #"[1, [2, {"a": null}], "b"]"#, #"{"a": {"b": [true, false]}, "c": "d"}"#,
  ])
  func contents(json: String) throws {
    let content = try GeneratedContent(json: json)
    let segment = Transcript.StructuredSegment(id: "s", source: "Any", content: content)
    let transcript = Transcript(entries: [.response(Transcript.Response(id: "r", assetIDs: [], segments: [.structure(segment)]))])
    let again = try decoded(try encoded(transcript))
    guard case .response(let response) = again.first, case .structure(let found) = response.segments.first else {
      Issue.record("expected a structure")
      return
    }
    #expect(found.content == content.withoutIDs)
    #expect(found.content.jsonString == content.jsonString)
  }
}

@Suite struct TranscriptDecodingTests {
  @Test func conversationsComeBack() throws {
    let transcript = Transcript(entries: conversation)
    let again = try decoded(try encoded(transcript))
    // A decoder does not tell the order of the members of a structure; all else is equal.
    #expect(Array(again.prefix(4)) == Array(conversation.prefix(4)))
    guard case .response(let response) = again.last, case .structure(let segment) = response.segments.first else {
      Issue.record("expected a structure")
      return
    }
    #expect(try River(segment.content) == River(name: "Elbe", length: 1094))
    #expect(response.assetIDs == ["base", "adapter"])
    #expect(try encoded(again) == encoded(transcript))
    #expect(try decoded(try encoded(again)) == again)
  }

  @Test(arguments: ["1", "1.0", #""1.1""#]) func versions(version: String) throws {
    #expect(try decoded(document("", version: version)).isEmpty)
  }

  @Test func instructions() throws {
    let plain = try entry(#"{"role": "instructions", "id": "i", "contents": [\#(text)]}"#)
    #expect(plain == .instructions(Transcript.Instructions(id: "i", segments: segments, toolDefinitions: [])))
    let schema = """
      {"type": "object", "title": "Arguments", "properties": {"term": {"type": "string"}, "limit": {"type": "integer"}},
       "required": ["term", "limit"], "x-order": ["term", "limit"], "additionalProperties": false}
      """
    let tools = try entry(
      """
      {"role": "instructions", "id": "i", "contents": [],
       "tools": [{"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": \(schema)}}]}
      """)
    guard case .instructions(let instructions) = tools, let tool = instructions.toolDefinitions.first else {
      Issue.record("expected a tool")
      return
    }
    #expect(tool.name == "search")
    #expect(tool.description == "Finds.")
    #expect(tool.parameters.isSame(as: try JSONDecoder().decode(GenerationSchema.self, from: Data(schema.utf8))))
  }

  @Test func prompts() throws {
    #expect(try entry(#"{"role": "user", "id": "p", "contents": [\#(text)]}"#) == .prompt(Transcript.Prompt(id: "p", segments: segments)))
    let newer = try entry(
      #"""
      {"role": "user", "id": "p", "contents": [\#(text)], "contextOptions": {"includeSchemaInPrompt": false}, "metadata": {"a": [1]},
       "options": {"temperature": 0.7, "maximumResponseTokens": 256, "topK": 41, "randomSeed": 73, "toolCallingMode": "disallowed"}}
      """#)
    var options = GenerationOptions(sampling: .random(top: 41, seed: 73), temperature: 0.7, maximumResponseTokens: 256)
    options.toolCallingMode = .disallowed
    let context = ContextOptions(includeSchemaInPrompt: false)
    let asked = Transcript.Prompt(id: "p", segments: segments, options: options, contextOptions: context)
    guard case .prompt(var read) = newer else {
      Issue.record("a prompt expected")
      return
    }
    #expect(read.metadata.count == 1 && read.contextOptions == context)
    #expect(
      try Transcript(entries: [newer]) == JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(Transcript(entries: [newer]))))
    read.metadata = [:]
    #expect(read == asked)
    read.metadata = ["run": "a".generatedContent, "try": 3.generatedContent]
    let kept = Transcript(entries: [.prompt(read)])
    #expect(try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(kept)) == kept)
    let schema = #"{"type": "string"}"#
    let guided = try entry(
      #"""
      {"role": "user", "id": "p", "contents": [], "options": {},
       "responseFormat": {"type": "jsonSchema", "jsonSchema": {"name": "Name", "description": "A name", "schema": \#(schema)}}}
      """#)
    guard case .prompt(let prompt) = guided else {
      Issue.record("expected a prompt")
      return
    }
    #expect(prompt.responseFormat?.name == "Name")
    #expect(prompt.responseFormat?.schema.isSame(as: String.generationSchema) == true)
  }

  @Test func seedsAloneAreIgnored() throws {
    let found = try entry(#"{"role": "user", "id": "p", "contents": [], "options": {"randomSeed": 3, "greedy": false, "other": []}}"#)
    #expect(found == .prompt(Transcript.Prompt(id: "p", segments: [])))
  }

  @Test func calls() throws {
    let found = try entry(
      #"{"role": "response", "id": "c", "toolCalls": [{"id": "c0", "name": "search", "arguments": "{\"b\":1,\"a\":[true]}"}]}"#)
    guard case .toolCalls(let calls) = found, let call = calls.first else {
      Issue.record("expected a call")
      return
    }
    #expect(calls.id == "c")
    #expect(calls.count == 1)
    #expect(call.id == "c0")
    #expect(call.toolName == "search")
    #expect(call.arguments.jsonString == #"{"b": 1, "a": [true]}"#)
    let empty = try entry(#"{"role": "response", "id": "c", "toolCalls": [], "contents": []}"#)
    #expect(empty == .toolCalls(Transcript.ToolCalls(id: "c", [])))
  }

  @Test func outputsHaveTheIdentifierOfTheirCall() throws {
    let found = try entry(#"{"role": "tool", "id": "x", "toolCallID": "c0", "toolName": "search", "contents": [\#(text)]}"#)
    #expect(found == .toolOutput(Transcript.ToolOutput(id: "c0", toolName: "search", segments: segments)))
    let alone = try entry(#"{"role": "tool", "id": "x", "toolName": "search", "contents": []}"#)
    #expect(alone.id == "x")
  }

  @Test func responses() throws {
    let plain = try entry(#"{"role": "response", "id": "r", "contents": [\#(text)]}"#)
    #expect(plain == .response(Transcript.Response(id: "r", assetIDs: [], segments: segments)))
    let found = try entry(
      #"""
      {"role": "response", "id": "r", "assets": ["a", "b"], "contents": [
        \#(text), {"type": "structure", "id": "s", "structure": {"source": "River", "content": {"name": "Elbe", "length": 1094}}}]}
      """#)
    guard case .response(let response) = found, case .structure(let segment) = response.segments.last else {
      Issue.record("expected a structure")
      return
    }
    #expect(response.assetIDs == ["a", "b"])
    #expect(response.segments.count == 2)
    #expect(segment.source == "River")
    #expect(try River(segment.content) == River(name: "Elbe", length: 1094))
    #expect(segment.content.jsonString == #"{"length": 1094, "name": "Elbe"}"#)
  }
}

@Suite struct TranscriptFailureTests {
  @Test(arguments: [
    ("2", "Expected version 1 or '1.1' of a transcript, found 2.0."), (#""1""#, "Expected version 1 or '1.1' of a transcript, found '1'."),
    (#""1.2""#, "Expected version 1 or '1.1' of a transcript, found '1.2'."),
    ("1.1", "Expected version 1 or '1.1' of a transcript, found 1.1."),
    ("null", "Expected version 1 or '1.1' of a transcript, found something else."),
    ("[1]", "Expected version 1 or '1.1' of a transcript, found something else."),
  ])
  func versions(version: String, expected: String) throws {
    let found = try #require(failure(document("", version: version)))
    #expect(found.text == expected)
    #expect(found.path == ["version"])
  }

  @Test func documents() throws {
    let wrongType = try #require(failure(document("", type: #""Other""#)))
    #expect(wrongType.text == "Expected the type 'FoundationModels.Transcript', found 'Other'.")
    #expect(wrongType.path == ["type"])
    #expect(failure(#"{"version": 1, "transcript": {"entries": []}}"#)?.text == "type missing")
    #expect(failure(#"{"type": "FoundationModels.Transcript", "transcript": {"entries": []}}"#)?.text == "version missing")
    #expect(failure(#"{"type": "FoundationModels.Transcript", "version": 1}"#)?.text == "transcript missing")
    #expect(failure(#"{"type": "FoundationModels.Transcript", "version": 1, "transcript": {}}"#)?.text == "entries missing")
    for json in ["[]", "null", "3", "{", "", document("1"), document("{}"), #"{"type": 1}"#] { #expect(failure(json) != nil, "\(json)") }
    #expect(failure(#"{"type": "FoundationModels.Transcript", "version": 1, "transcript": {"entries": {}}}"#) != nil)
    #expect(failure(#"{"type": "FoundationModels.Transcript", "version": 1, "transcript": []}"#) != nil)
  }

  @Test func roles() throws {
    let found = try #require(failure(document(#"{"role": "system", "id": "s", "contents": []}"#)))
    #if FoundationModels27
      #expect(found.text == "Expected the role 'instructions', 'user', 'response', 'tool' or 'reasoning', found 'system'.")
    #else
      #expect(found.text == "Expected the role 'instructions', 'user', 'response' or 'tool', found 'system'.")
    #endif
    #expect(found.path == ["transcript", "entries", "Index 0", "role"])
    #expect(failure(document(#"{"id": "s", "contents": []}"#))?.text == "role missing")
  }

  @Test func segmentTypes() throws {
    let found = try #require(failure(document(#"{"role": "user", "id": "p", "contents": [{"type": "image", "id": "s"}]}"#)))
    #if FoundationModels27
      #expect(found.text == "Expected a segment of the type 'text', 'structure' or 'attachment', found 'image'.")
    #else
      #expect(found.text == "Expected a segment of the type 'text' or 'structure', found 'image'.")
    #endif
    #expect(found.path == ["transcript", "entries", "Index 0", "contents", "Index 0", "type"])
  }

  @Test(arguments: [
    (#"{"role": "user", "contents": []}"#, "id"), (#"{"role": "user", "id": "p"}"#, "contents"),
    (#"{"role": "instructions", "id": "p"}"#, "contents"), (#"{"role": "tool", "id": "p", "toolName": "a"}"#, "contents"),
    (#"{"role": "tool", "id": "p", "contents": []}"#, "toolName"), (#"{"role": "response", "id": "p"}"#, "contents"),
    (#"{"role": "user", "id": "p", "contents": [{"type": "text", "id": "t"}]}"#, "text"),
    (#"{"role": "user", "id": "p", "contents": [{"type": "text", "text": "t"}]}"#, "id"),
    (#"{"role": "user", "id": "p", "contents": [{"text": "t", "id": "t"}]}"#, "type"),
    (#"{"role": "user", "id": "p", "contents": [{"type": "structure", "id": "t"}]}"#, "structure"),
    (#"{"role": "user", "id": "p", "contents": [{"type": "structure", "id": "t", "structure": {"content": 1}}]}"#, "source"),
    (#"{"role": "user", "id": "p", "contents": [{"type": "structure", "id": "t", "structure": {"source": "a"}}]}"#, "content"),
    (#"{"role": "response", "id": "p", "toolCalls": [{"id": "a", "name": "b"}]}"#, "arguments"),
    (#"{"role": "response", "id": "p", "toolCalls": [{"id": "a", "arguments": "{}"}]}"#, "name"),
    (#"{"role": "response", "id": "p", "toolCalls": [{"name": "b", "arguments": "{}"}]}"#, "id"),
    (#"{"role": "instructions", "id": "p", "contents": [], "tools": [{"type": "function"}]}"#, "function"),
    (#"{"role": "user", "id": "p", "contents": [], "responseFormat": {"type": "jsonSchema"}}"#, "jsonSchema"),
    (#"{"role": "user", "id": "p", "contents": [], "responseFormat": {"type": "jsonSchema", "jsonSchema": {"name": "a"}}}"#, "schema"),
  ])
  func missingMembers(json: String, key: String) throws { #expect(failure(document(json))?.text == "\(key) missing") }

  @Test(arguments: [
    #"{"role": 1, "id": "p", "contents": []}"#, #"{"role": "user", "id": 1, "contents": []}"#,
    #"{"role": "user", "id": "p", "contents": {}}"#, #"{"role": "user", "id": "p", "contents": ["text"]}"#,
    #"{"role": "user", "id": "p", "contents": [{"type": "text", "text": 1, "id": "t"}]}"#,
    #"{"role": "user", "id": "p", "contents": [{"type": "structure", "structure": [], "id": "t"}]}"#,
    #"{"role": "user", "id": "p", "contents": [], "options": []}"#,
    #"{"role": "user", "id": "p", "contents": [], "options": {"temperature": "hot"}}"#,
    #"{"role": "user", "id": "p", "contents": [], "options": {"topK": 1.5}}"#,
    #"{"role": "user", "id": "p", "contents": [], "options": {"topK": 1, "randomSeed": -1}}"#,
    #"{"role": "user", "id": "p", "contents": [], "options": {"maximumResponseTokens": 1e99}}"#,
    #"{"role": "user", "id": "p", "contents": [], "responseFormat": {"type": "jsonSchema", "jsonSchema": {"name": "a", "schema": 3}}}"#,
    #"{"role": "response", "id": "r", "contents": [], "assets": "a"}"#, #"{"role": "response", "id": "r", "toolCalls": {}}"#,
    #"{"role": "response", "id": "r", "toolCalls": [{"id": "a", "name": "b", "arguments": {}}]}"#,
    #"{"role": "instructions", "id": "i", "contents": [], "tools": {}}"#,
    #"{"role": "instructions", "id": "i", "contents": [], "tools": [{"type": "function", "function": {"name": "a"}}]}"#,
  ])
  func wrongShapes(json: String) throws {
    let found = try #require(failure(document(json)))
    #expect(!found.text.isEmpty)
  }

  @Test func otherTypes() throws {
    let tool = #"{"role": "instructions", "id": "i", "contents": [], "tools": [{"type": "code", "function": {}}]}"#
    #expect(failure(document(tool))?.text == "Expected the type 'function', found 'code'.")
    let format = #"{"role": "user", "id": "i", "contents": [], "responseFormat": {"type": "regex", "jsonSchema": {}}}"#
    #expect(failure(document(format))?.text == "Expected the type 'jsonSchema', found 'regex'.")
    let mode = #"{"role": "user", "id": "i", "contents": [], "options": {"toolCallingMode": "maybe"}}"#
    #expect(failure(document(mode))?.text == "Expected the mode 'allowed', 'required' or 'disallowed', found 'maybe'.")
    let both = #"{"role": "user", "id": "i", "contents": [], "options": {"topK": 1, "topP": 0.5}}"#
    #expect(failure(document(both))?.text == "Expected at most one of 'greedy', 'topK' and 'topP', found several.")
    let mixed = #"{"role": "response", "id": "i", "contents": [\#(text)], "toolCalls": []}"#
    #expect(failure(document(mixed))?.text == "A response has either 'contents' or 'toolCalls', found both.")
  }

  @Test(arguments: ["", "{", "{'a': 1}", #"{\"a\": 1"#, "{} {}", "nul", #"{\"a\": 1, \"a\": 2}"#, "[1,]"])
  func arguments(json: String) throws {
    let found = try #require(
      failure(document(#"{"role": "response", "id": "c", "toolCalls": [{"id": "c0", "name": "search", "arguments": "\#(json)"}]}"#)))
    #expect(found.text.hasPrefix("The arguments of a call of 'search' are not JSON: "), "\(found.text)")
    #expect(found.path == ["transcript", "entries", "Index 0", "toolCalls", "Index 0", "arguments"])
  }

  @Test func depth() throws {
    func structure(_ depth: Int) -> String {
      let content = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      return document(
        #"{"role": "user", "id": "p", "contents": [{"type": "structure", "id": "t", "structure": {"source": "a", "content": \#(content)}}]}"#
      )
    }
    #expect(try decoded(structure(128)).count == 1)
    #expect(failure(structure(200))?.text == "The content is nested too deeply.")
    #expect(failure(structure(100_000)) != nil)
    let deep = String(repeating: "[", count: 100_000)
    #expect(failure(document(#"{"role": "response", "id": "c", "toolCalls": [{"id": "a", "name": "b", "arguments": "\#(deep)"}]}"#)) != nil)
  }
}

@Suite struct TranscriptDocumentTests {
  /// The example of a page of `docs/formats`.
  private func example(_ name: String) throws -> Data {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/formats/\(name).md"), encoding: .utf8)
    let start = try #require(page.range(of: "```json\n")).upperBound
    let end = try #require(page[start...].range(of: "```")).lowerBound
    return Data(page[start..<end].utf8)
  }

  @Test func theExampleOfATranscriptIsOne() throws {
    let data = try example("transcript")
    let transcript = try JSONDecoder().decode(Transcript.self, from: data)
    #expect(
      transcript.map(\.description) == [
        "Instructions: You know rivers. [tools: search]", "Prompt: How long is the Elbe?", #"Tool calls: search({"name": "Elbe"})"#,
        #"Output of search: {"length": 1094, "name": "Elbe"}"#, "Response: 1094 km.",
      ])
    let written = try JSONSerialization.jsonObject(with: JSONEncoder().encode(transcript)) as? NSDictionary
    #expect(try JSONSerialization.jsonObject(with: data) as? NSDictionary == written)
  }

  @Test func theExampleOfFeedbackIsSome() throws {
    let found = try JSONSerialization.jsonObject(with: example("feedback")) as? NSDictionary
    func text(_ id: String, _ content: String) -> [Transcript.Segment] { [.text(Transcript.TextSegment(id: id, content: content))] }
    let attachment = FeedbackAttachment(
      transcript: Transcript(entries: [
        .prompt(Transcript.Prompt(id: "2", segments: text("3", "How long is the Elbe?"))),
        .response(
          Transcript.Response(id: "4", assetIDs: [], segments: text("5", "The Elbe is one of the great rivers of Europe. …"))),
      ]), sentiment: .negative, issues: [LanguageModelFeedback.Issue(category: .tooVerbose, explanation: "A number was asked for.")],
      desiredOutput: .response(Transcript.Response(id: "0", assetIDs: [], segments: text("1", "1094 km."))))
    #expect(try JSONSerialization.jsonObject(with: attachment.data()) as? NSDictionary == found)
  }
}
