import DibitJSON
import Foundation
import Testing

@testable import FoundationModels

@Suite struct GeneratedContentTests {
  @Test func wholeNumbersKeepTheirDigits() throws {
    for number in [0, 1, -1, 9_007_199_254_740_993, .max, .min, .max - 1, 1 << 60 | 1] {
      let content = GeneratedContent(number)
      #expect(content.jsonString == "\(number)")
      #expect(try content.value(Int.self) == number)
      #expect(try GeneratedContent(json: content.jsonString).value(Int.self) == number)
    }
  }

  @Test func decimalsKeepTheirDigits() throws {
    let texts = ["0.1", "12345678901234567890.123456789", "-0.00000000000000000000000000000001234", "1e100", "3", "99999999999999999999"]
    for text in texts {
      let number = try #require(Decimal(string: text))
      let content = GeneratedContent(number)
      #expect(try content.value(Decimal.self) == number)
      #expect(try GeneratedContent(json: content.jsonString).value(Decimal.self) == number, "\(content.jsonString)")
    }
    #expect(try GeneratedContent(json: "0.30000000000000000001").value(Decimal.self) == Decimal(string: "0.30000000000000000001"))
    #expect(try GeneratedContent(json: "1.50").value(Decimal.self) == Decimal(string: "1.5"))
  }

  @Test func doublesKeepTheirBits() throws {
    var generator = SeededGenerator(seed: 4)
    for _ in 0..<2000 {
      let number = Double(bitPattern: generator.next())
      guard number.isFinite else { continue }
      let content = try GeneratedContent(json: GeneratedContent(number).jsonString)
      #expect(try content.value(Double.self).bitPattern == number.bitPattern)
    }
    #expect(try GeneratedContent(json: GeneratedContent(-0.0).jsonString).value(Double.self).sign == .minus)
    #expect(GeneratedContent(Float(0.1)).jsonString == "0.1")
  }

  @Test func numbersThatAreNotFiniteAreNullInJSON() throws {
    let content = GeneratedContent(Double.nan)
    #expect(try content.value(Double.self).isNaN)
    #expect(content.jsonString == "null")
    #expect(GeneratedContent(Double.infinity).jsonString == "null")
    #expect(GeneratedContent(Decimal.nan).jsonString == "null")
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(Double.nan).value(Int.self) }
  }

  @Test func numbersOutOfRangeAreErrors() throws {
    let fraction = try GeneratedContent(json: "1.5")
    let error = #expect(throws: GeneratedContent.ParsingError.self) { try fraction.value(Int.self) }
    #expect(error?.debugDescription == "Expected a whole number of 64 bits, found the number 1.5.")
    #expect(error?.rawContent == "1.5")
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: "9223372036854775808").value(Int.self) }
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: "1e300").value(Float.self) }
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: "1e300").value(Decimal.self) }
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: "1e999") }
    #expect(try GeneratedContent(json: "2.0").value(Int.self) == 2)
    #expect(try GeneratedContent(json: "9223372036854775807.0").value(Int.self) == .max)
  }

  @Test func structuresComeBack() throws {
    let river = Waterway(name: "Elbe \"\\\n\u{1}é", length: 1094, depth: nil, tags: ["long"])
    let content = river.generatedContent
    #expect(content.jsonString == #"{"name": "Elbe \"\\\n\u0001é", "length": 1094, "tags": ["long"]}"#)
    #expect(try Waterway(content) == river)
    #expect(try Waterway(GeneratedContent(json: content.jsonString)) == river)
    let partial = river.asPartiallyGenerated()
    #expect(partial.length == 1094)
    #expect(partial.depth == nil)
  }

  @Test func errorsNameTheProperty() throws {
    let missing = try GeneratedContent(json: #"{"name": "Elbe"}"#)
    let error = #expect(throws: GeneratedContent.ParsingError.self) { try Waterway(missing) }
    #expect(error?.debugDescription == "GeneratedContent does not contain a property 'length'.")
    #expect(error?.rawContent == #"{"name": "Elbe"}"#)
    let wrong = try GeneratedContent(json: #"{"name": 1}"#)
    let other = #expect(throws: GeneratedContent.ParsingError.self) { try Waterway(wrong) }
    #expect(other?.debugDescription == "Property 'name': Expected a string, found the number 1.")
    let nested = try GeneratedContent(json: #"{"label": "", "direction": "south", "children": [{"label": null}]}"#)
    let inner = #expect(throws: GeneratedContent.ParsingError.self) { try Tree(nested) }
    #expect(inner?.debugDescription == "Property 'children': Element 0: Property 'label': Expected a string, found null.")
    #expect(inner?.localizedDescription == inner?.debugDescription)
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: "[]").value(String?.self, forProperty: "a") }
  }

  @Test func optionalPropertiesMayBeMissingOrNull() throws {
    let content = try GeneratedContent(json: #"{"a": null, "b": "x"}"#)
    #expect(try content.value(String?.self, forProperty: "a") == nil)
    #expect(try content.value(String?.self, forProperty: "c") == nil)
    #expect(try content.value(String?.self, forProperty: "b") == "x")
    #expect(throws: GeneratedContent.ParsingError.self) { try content.value(Int?.self, forProperty: "b") }
    #expect(throws: GeneratedContent.ParsingError.self) { try content.value(String.self, forProperty: "a") }
  }

  @Test func laterValuesReplaceEarlierOnes() throws {
    let content = GeneratedContent(properties: ["a": 1, "b": true, "a": 2])
    #expect(content.jsonString == #"{"a": 2, "b": true}"#)
    let pairs: [(String, any ConvertibleToGeneratedContent)] = [("a", 1), ("a", 2)]
    let sum = try GeneratedContent(properties: pairs) { try $0.value(Int.self) + $1.value(Int.self) }
    #expect(sum.jsonString == #"{"a": 3}"#)
    let mixed: [any ConvertibleToGeneratedContent] = [1, "x", Optional<Int>.none, [true]]
    #expect(GeneratedContent(elements: mixed).jsonString == #"[1, "x", null, [true]]"#)
  }

  @Test func keysThatTheOrderLacksAreWritten() {
    let one = GeneratedContent(1)
    let kind = GeneratedContent.Kind.structure(properties: ["a": one, "b": one, "c": one], orderedKeys: ["c", "x", "c"])
    #expect(GeneratedContent(kind: kind).jsonString == #"{"c": 1, "a": 1, "b": 1}"#)
  }

  @Test func equalityKnowsNames() throws {
    let id = GenerationID()
    #expect(GeneratedContent("a") == GeneratedContent("a"))
    #expect(GeneratedContent("a", id: id) == GeneratedContent("a", id: id))
    #expect(GeneratedContent("a", id: id) != GeneratedContent("a"))
    #expect(try GeneratedContent(json: "1") != GeneratedContent(json: "1"))
    #expect(GeneratedContent(Int.max) != GeneratedContent(Int.max - 1))
  }

  @Test func contentAllowsAnything() throws {
    #expect(try GeneratedContent.generationSchema.constraintSchema()["type"]?.array?.count == 6)
    let content = try GeneratedContent(json: #"{"a": [1, {"b": null}]}"#)
    #expect(try content.value(GeneratedContent.self, forProperty: "a").jsonString == #"[1, {"b": null}]"#)
  }

  @Test func faultyTextsAreErrors() {
    let texts = [
      "{]", "[1,]", #"{"a":1,}"#, #"{"a" 1}"#, "{a", "01", "-x", "1.x", "1ex", "tRue", "nulL", "nullx", "1 2", "[1 2]", "[1}", "\"\u{1}\"",
      "+1",
      #""\x""#, #""\u12g4""#, #""\udc00""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#, #"{"a":1,"a":2}"#, #"{"e\u0301":1,"é":2}"#,
      "]",
      ",", ":", "{,", "[,", "\u{FEFF}1", "NaN", "'a'", "// a", "{}}", "[][",
    ]
    for text in texts {
      let error = #expect(throws: GeneratedContent.ParsingError.self, "\(text)") { try GeneratedContent(json: text) }
      #expect(error?.rawContent == text)
      #expect(error?.debugDescription.hasPrefix("JSON at byte ") == true)
    }
  }

  @Test func depthIsLimited() throws {
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: String(repeating: "[", count: 10_000)) }
    #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: String(repeating: #"{"a":"#, count: 10_000)) }
    #expect(try GeneratedContent(json: String(repeating: "[", count: 128)).isComplete == false)
    let many = try GeneratedContent(json: "[" + String(repeating: "1,", count: 100_000) + "1]")
    #expect(try many.value([Int].self).count == 100_001)
  }

  @Test func promptsHoldStructures() {
    guard case .structure(let segment)? = Waterway(name: "", length: 1, depth: nil, tags: []).promptRepresentation.segments.first else {
      Issue.record("no structure")
      return
    }
    #expect(segment.source == "Waterway")
    guard case .text(let text)? = "abc".promptRepresentation.segments.first else {
      Issue.record("no text")
      return
    }
    #expect(text.content == "abc")
  }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
