import DibitJSON
import Foundation
import RegexBuilder
import Testing

@testable import FoundationModels

@Suite struct GuideTests {
  private func property<Value: Generable>(_ type: Value.Type, _ guides: GenerationGuide<Value>...) throws -> JSONValue? {
    let schema = GenerationSchema(type: Waterway.self, properties: [.init(name: "p", type: type, guides: guides)])
    return try schema.constraintSchema()["properties"]?["p"]
  }

  private func fault<Value: Generable>(_ type: Value.Type, _ guides: GenerationGuide<Value>...) -> UnsupportedGuide? {
    let schema = GenerationSchema(type: Waterway.self, properties: [.init(name: "p", type: type, guides: guides)])
    #expect(throws: UnsupportedGuide.self) { try schema.jsonSchema() }
    #expect(throws: UnsupportedGuide.self) { try schema.promptText() }
    return #expect(throws: UnsupportedGuide.self) { try schema.constraintSchema() }
  }

  @Test func numbers() throws {
    #expect(try property(Int.self, .minimum(1), .maximum(5)) == ["type": "integer", "minimum": 1, "maximum": 5])
    #expect(try property(Int.self, .range(1...9), .minimum(3)) == ["type": "integer", "minimum": 3, "maximum": 9])
    #expect(try property(Double.self, .range(0.5...1)) == ["type": "number", "minimum": 0.5, "maximum": 1])
    #expect(try property(Float.self, .minimum(0.1)) == ["type": "number", "minimum": 0.1])
    let limit = try #require(Decimal(string: "12.25"))
    #expect(try property(Decimal.self, .maximum(limit)) == ["type": "number", "maximum": 12.25])
    #expect(try property(Int.self, .minimum(.max - 1), .minimum(.max))?["minimum"] == .integer(.max))
  }

  @Test func texts() throws {
    #expect(try property(String.self, .constant("a")) == ["type": "string", "enum": ["a"]])
    #expect(try property(String.self, .anyOf(["a", "b"]), .anyOf(["b", "c"])) == ["type": "string", "enum": ["b"]])
    #expect(try property(String.self, .pattern(/a|b/)) == ["type": "string", "pattern": "^(?:a|b)$"])
  }

  @Test func arrays() throws {
    let integers: JSONValue = ["type": "array", "items": ["type": "integer"], "minItems": 2, "maxItems": 2]
    #expect(try property([Int].self, .count(2)) == integers)
    let nested = try property([[Int]].self, .count(1...3), .element(.minimumCount(1)), .element(.element(.maximum(9))))
    let inner: JSONValue = ["type": "array", "items": ["type": "integer", "maximum": 9], "minItems": 1]
    #expect(nested == ["type": "array", "items": inner, "minItems": 1, "maxItems": 3])
    #expect(try property([Waterway].self, .maximumCount(4))?["maxItems"] == 4)
  }

  @Test func optionalPropertiesHaveGuides() throws {
    let schema = GenerationSchema(
      type: Waterway.self,
      properties: [
        .init(name: "a", type: Int?.self, guides: [.minimum(1)]), .init(name: "b", type: String?.self, guides: [/x+/]),
        .init(name: "c", type: [String]?.self, guides: [.element(.anyOf(["q"]))]),
      ])
    let json = try schema.constraintSchema()
    #expect(json["properties"]?["a"]?["minimum"] == 1)
    #expect(json["properties"]?["b"]?["pattern"] == "^(?:x+)$")
    #expect(json["properties"]?["c"]?["items"]?["enum"] == ["q"])
    #expect(json["required"] == [])
  }

  @Test func guidesThatDoNotApplyAreErrors() throws {
    let guides: [(any Generable.Type, GuideRule)] = [
      (String.self, .minimum(.init(1))), (String.self, .minimumCount(1)), (Int.self, .anyOf(["a"])), (Int.self, .pattern(.init("a"))),
      (Double.self, .maximumCount(1)), (Bool.self, .constant("a")), (Bool.self, .minimum(.init(1))), ([Int].self, .minimum(.init(1))),
      ([Double].self, .pattern(.init("a"))), ([String].self, .pattern(.init("a"))), ([Waterway].self, .anyOf(["a"])),
      (Waterway.self, .minimumCount(1)), (Direction.self, .anyOf(["north"])), ([Int].self, .element(.anyOf(["a"]))),
      (GeneratedContent.self, .constant("a")),
    ]
    for (type, rule) in guides {
      let property = SchemaProperty(name: "p", description: nil, node: .guided(.type(type), [rule]), isOptional: false)
      let schema = GenerationSchema(
        node: .named(NamedSchema(name: "S", description: nil, body: .object([property], isNilExplicit: false, isOpen: false))))
      #expect(throws: UnsupportedGuide.self, "\(type) \(rule)") { try schema.constraintSchema() }
    }
    let error = fault(Bool.self, GenerationGuide(.minimum(.init(1))))
    #expect(
      error?.description == "Property 'p' of Waterway has the guide .minimum(1), which is not supported: it does not apply to Bool.")
  }

  @Test func contradictionsAreErrors() throws {
    #expect(fault(Int.self, .minimum(5), .maximum(4))?.reason == "the minimum 5 is over the maximum 4")
    #expect(fault(Double.self, .maximum(1), .minimum(1.5)) != nil)
    #expect(fault(Double.self, .minimum(.nan))?.reason == "JSON cannot express the limit exactly")
    #expect(fault(Double.self, .maximum(.infinity)) != nil)
    #expect(fault(String.self, .anyOf([]))?.reason == "it leaves no choice")
    #expect(fault(String.self, .anyOf(["a"]), .constant("b")) != nil)
    #expect(fault([Int].self, .minimumCount(3), .maximumCount(2)) != nil)
    #expect(fault([Int].self, .count(-1))?.reason == "a count is not negative")
    #expect(fault(String.self, .pattern(/a/), .pattern(/b/))?.reason == "there is another pattern beside it")
    let digits = try #require(Decimal(string: "0.12345678901234567890123"))
    #expect(fault(Decimal.self, .minimum(digits)) != nil)
  }

  @Test func patternsWithCodeAreErrors() throws {
    let regex = Regex {
      TryCapture {
        OneOrMore(.digit)
      } transform: {
        Int($0)
      }
    }
    #expect(fault(String.self, .pattern(regex))?.reason == "the expression has no pattern, because there is code in it")
    let schema = GenerationSchema(type: Waterway.self, properties: [.init(name: "p", type: String.self, guides: [/a(?=b)/])])
    #expect(try schema.jsonSchema()["properties"]?["p"]?["pattern"] == "a(?=b)")
    let error = #expect(throws: UnsupportedGuide.self) { try schema.constraintSchema() }
    #expect(error?.property == "p")
  }

  @Test(arguments: [
    ("a(?<name>b+)\\.", "a(?:b+)\\."), ("\\Qa.b\\E", "a\\.b"), ("(?i:ab)c", "(?:[Aa][Bb])c"), ("(?i)[a-c]", "[A-Ca-c]"),
    ("x{2,3}?", "x{2,3}"),
    ("[[a-c][x]--[b]]", "[acx]"), ("[a-z&&[aeiou]]", "[aeiou]"), ("(?x) a b # c", "ab"), ("[0-9]", "[0-9]"), ("a{,3}", "a{0,3}"),
    ("\\d", "[0-9]"), ("\\x41\\u{42}", "AB"), ("(?m:$)", "(?:$)"), ("[(?s:.)]*", "[\\u{0}-퟿\\u{e000}-\\u{10ffff}]*"), ("{", "\\{"),
    ("[]a]", "[\\]a]"), ("(?i)ß", "ß"), ("[\\-\\]\\^]", "[\\-\\]\\^]"),
  ])
  func translation(_ pattern: String, _ expected: String) throws {
    #expect(try PatternTranslator.translate(pattern) == "^(?:\(expected))$")
  }

  @Test(arguments: [
    "a\\b", "(?!a)", "(?<=a)b", "(a)\\1", "\\p{Xyz}", "\\p{L", "a*+", "(?>a)", "(", "[a", "a)", "\\", "[a~~b]", "\\k<a>", "\\K", "[z-a]",
  ])
  func untranslatable(_ pattern: String) {
    #expect(throws: PatternTranslator.Fault.self) { try PatternTranslator.translate(pattern) }
  }

  @Test func builderExpressions() throws {
    let regex = Regex {
      "a.b"
      OneOrMore(.digit)
      Capture {
        ChoiceOf {
          "x"; "yy+"
        }
      }
      Repeat(1...3) { CharacterClass("a"..."c", .anyOf("-]")) }
    }
    #expect(try property(String.self, .pattern(regex))?["pattern"] == "^(?:a\\.b[0-9]+(?:x|yy\\+)[\\-\\]a-c]{1,3})$")
  }

  @Test func hostilePatternsAreBounded() {
    for text in [
      String(repeating: "(", count: 5000), String(repeating: "[", count: 5000), String(repeating: "a", count: 20_000),
      String(repeating: "\\Q", count: 3000), String(repeating: "[^", count: 3000),
    ] {
      _ = try? PatternTranslator.translate(text)
    }
  }
}
