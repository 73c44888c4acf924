import DibitJSON
import Testing

@testable import FoundationModels

@Suite struct PartialContentTests {
  @Test(arguments: [
    ("", "null"), ("  ", "null"), ("{", "{}"), (#"{"a"#, "{}"), (#"{"a""#, "{}"), (#"{"a":"#, "{}"), (#"{"a": ""#, #"{"a": ""}"#),
    (#"{"a": "x\"#, #"{"a": "x"}"#), (#"{"a": "x\u00"#, #"{"a": "x"}"#), (#"{"a": "x\ud83d"#, #"{"a": "x"}"#),
    (#"{"a": "x\ud83d\u"#, #"{"a": "x"}"#), (#"{"a": "x\ud83d\ude00"#, #"{"a": "x😀"}"#), (#"{"a": 12"#, "{}"),
    (#"{"a": 12,"#, #"{"a": 12}"#),
    (#"{"a": tru"#, "{}"), (#"{"a": true"#, #"{"a": true}"#), ("[1, [2, 3", "[1, [2]]"), ("[1, -", "[1]"), ("-", "null"), ("1.", "null"),
    ("[1.5e", "[]"), ("nul", "null"), (#"[{"a":1},{"b"#, #"[{"a": 1}, {}]"#),
  ])
  func beginnings(_ text: String, _ expected: String) throws {
    let content = try GeneratedContent(json: text)
    #expect(content.jsonString == expected)
    #expect(!content.isComplete)
  }

  @Test func wholeNumbersAreComplete() throws {
    for text in ["1", "12", "-3", "1.5", "1e5", "0", " 7 "] {
      let content = try GeneratedContent(json: text)
      #expect(content.isComplete)
      #expect(try content.value(Double.self) == Double(text.filter { $0 != " " }))
    }
  }

  @Test func completenessIsToldForEachPart() throws {
    let content = try GeneratedContent(json: #"{"a": [1], "b": {"c": "x"#)
    guard case .structure(let properties, let keys) = content.kind else {
      Issue.record("no structure")
      return
    }
    #expect(keys == ["a", "b"])
    #expect(properties["a"]?.isComplete == true)
    #expect(properties["b"]?.isComplete == false)
    #expect(content.debugDescription.hasSuffix("(incomplete)"))
  }

  @Test func undecidedValuesAreNil() throws {
    let half = try GeneratedContent(json: #"{"label": "a", "direction": "nor"#)
    #expect(try Tree.PartiallyGenerated(half).direction == nil)
    // The name of a case, and the beginning of another's.
    let short = try GeneratedContent(json: #"{"label": "a", "direction": "north"#)
    #expect(try Tree.PartiallyGenerated(short).direction == nil)
    let whole = try GeneratedContent(json: #"{"label": "a", "direction": "north""#)
    #expect(try Tree.PartiallyGenerated(whole).direction == .north)
    let wrong = try GeneratedContent(json: #"{"label": "a", "direction": "nor""#)
    let error = #expect(throws: GeneratedContent.ParsingError.self) { try Tree.PartiallyGenerated(wrong) }
    #expect(error?.debugDescription == #"Property 'direction': Unexpected value "nor" for Direction"#)
    let list = try GeneratedContent(json: #"["south", "northE"#)
    #expect(try list.value([Direction].self) == [.south])
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: #"["sou", "n"#).value([Direction].self) }
    let trees = try GeneratedContent(json: #"[{"label": "a", "direction": "south", "children": []}, {"label": "b"#)
    #expect(try trees.value([Tree].self).count == 1)
    #expect(try trees.value([Tree.PartiallyGenerated].self).map(\.label) == ["a", "b"])
  }

  @Test func nothingYetHasNilProperties() throws {
    let content = try GeneratedContent(json: "")
    #expect(try Waterway.PartiallyGenerated(content).name == nil)
    #expect(try [String](content).isEmpty)
    #expect(throws: GeneratedContent.ParsingError.self) { try Waterway(content) }
    #expect(throws: GeneratedContent.ParsingError.self) { try Int(content) }
  }

  @Test func namesStayTheSame() throws {
    let text = #"{"label":"a","direction":"south","children":[{"label":"b","children":[{"label":"c"}]},{"label":"d"}]}"#
    var stream = StreamedContent(id: GenerationID())
    var paths: [String: GenerationID] = [:]
    for count in 0...text.utf8.count {
      let content = try stream.update(String(decoding: text.utf8.prefix(count), as: UTF8.self))
      for (path, id) in Self.ids(content) {
        #expect(paths[path, default: id] == id)
        paths[path] = id
      }
    }
    #expect(Set(paths.values).count == paths.count)
    #expect(paths.count == 4)
    var other = StreamedContent(id: GenerationID())
    #expect(try other.update(text).id != stream.update(text).id)
  }

  @Test func streamsMayBeginAnew() throws {
    var stream = StreamedContent(id: GenerationID())
    let first = try stream.update("{\"a\": \"x\u{FFFD}")
    #expect(try stream.update(#"{"b": 1}"#).jsonString == #"{"b": 1}"#)
    #expect(try stream.update("").id == first.id)
    #expect(throws: GeneratedContent.ParsingError.self) { try stream.update("}") }
    #expect(throws: GeneratedContent.ParsingError.self) { try stream.update("}") }
    #expect(try stream.update("{}").isComplete)
  }

  @Test func everyBeginningOfRandomTextsIsRead() throws {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<40 {
      let value = Self.value(depth: 3, &generator)
      let bytes = Array(value.serialized(pretty: Bool.random(using: &generator)).utf8)
      let id = GenerationID()
      var stream = StreamedContent(id: id)
      var names: [String: GenerationID] = [:]
      for count in 0...bytes.count {
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let content = try stream.update(text)
        var whole = StreamedContent(id: id)
        #expect(try whole.update(text) == content)
        #expect(content.id == id)
        for (path, id) in Self.ids(content) {
          #expect(names[path, default: id] == id)
          names[path] = id
        }
      }
      let last = try stream.update(String(decoding: bytes, as: UTF8.self))
      #expect(last.isComplete)
      #expect(try JSONValue(parsing: last.jsonString) == value)
    }
  }

  @Test func snapshotsOfLongTexts() throws {
    var stream = StreamedContent(id: GenerationID())
    var text = "["
    for index in 0..<300 {
      text += index == 0 ? "" : ","
      text += #"{"name":"number \#(index)","list":[1,2,3]}"#
      _ = try stream.update(text)
    }
    #expect(try stream.update(text + "]").isComplete)
  }

  /// The names of structures by their paths.
  private static func ids(_ content: GeneratedContent, path: String = "") -> [(String, GenerationID)] {
    switch content.kind {
    case .structure(let properties, let keys):
      (content.id.map { [(path, $0)] } ?? [])
        + keys.flatMap { key in properties[key].map { ids($0, path: path + "." + key) } ?? [] }
    case .array(let elements): elements.enumerated().flatMap { ids($0.element, path: path + "[\($0.offset)]") }
    default: []
    }
  }

  private static func value(depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
    let texts = ["", "plain", "é😀\u{301}", "quote\"back\\slash/", "\u{1}\n\t", "ключ", "a\u{0}b"]
    switch Int.random(in: 0..<(depth == 0 ? 6 : 9), using: &generator) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2: return .integer(Int.random(in: -1000...1000, using: &generator))
    case 3: return .integer(Int(truncatingIfNeeded: generator.next()))
    case 4: return .number(Double.random(in: -1e6...1e6, using: &generator))
    case 5: return .string(texts[Int.random(in: 0..<texts.count, using: &generator)])
    case 6, 7:
      var object = JSONObject()
      for index in 0..<Int.random(in: 0...4, using: &generator) {
        object[texts[index] + "\(index)"] = value(depth: depth - 1, &generator)
      }
      return .object(object)
    default: return .array((0..<Int.random(in: 0...4, using: &generator)).map { _ in value(depth: depth - 1, &generator) })
    }
  }
}
