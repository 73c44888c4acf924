import DibitConstraint
import DibitJSON
import Testing

@Suite struct ErrorTests {
  private static let types = "one of null, boolean, integer, number, string, object, array, or an array of them"

  static let cases: [(schema: String, message: String)] = [
    (#"{"#, "the schema is not JSON: JSON at byte 1: expected a key in quotes, found the end of the text"),
    (#"[]"#, "a schema (an object, true or false) expected, an array found"),
    (#"{"properties":{"x":{"if":{}}}}"#, "unsupported keyword 'if' at #/properties/x; remove it"),
    (#"{"properties":{"a/b":{"not":{}}},"type":"object"}"#, "unsupported keyword 'not' at #/properties/a~1b; remove it"),
    (#"{"type":"strin"}"#, "keyword 'type' at #: \(types) expected, \"strin\" found"),
    (#"{"type":["null","strin"]}"#, "keyword 'type' at #: \(types) expected, an array with \"strin\" found"),
    (#"{"type":[]}"#, "keyword 'type' at #: \(types) expected, an empty array found"),
    (#"{"items":{"minLength":-1}}"#, "keyword 'minLength' at #/items: a whole number from 0 to 1000000000 expected, -1 found"),
    (#"{"minimum":"1"}"#, "keyword 'minimum' at #: a number expected, \"1\" found"),
    (#"{"properties":[]}"#, "keyword 'properties' at #: an object expected, an empty array found"),
    (#"{"required":[1]}"#, "keyword 'required' at #: an array of strings expected, an array with 1 found"),
    (#"{"items":3}"#, "keyword 'items' at #: a schema expected, 3 found"),
    (#"{"anyOf":[1]}"#, "keyword 'anyOf' at #: an array of schemas expected, an array with 1 found"),
    (#"{"anyOf":[]}"#, "the schema at # contradicts itself: 'anyOf' is empty"),
    (#"{"enum":[]}"#, "the schema at # contradicts itself: 'enum' or 'const' leaves no value"),
    (#"{"enum":[1,2],"const":3}"#, "the schema at # contradicts itself: 'enum' or 'const' leaves no value"),
    (#"{"minItems":3,"maxItems":2}"#, "the schema at # contradicts itself: minItems 3 is more than maxItems 2"),
    (#"{"minLength":3,"maxLength":2}"#, "the schema at # contradicts itself: minLength 3 is more than maxLength 2"),
    (#"{"uniqueItems":true}"#, "keyword 'uniqueItems' at #: 'items' with an enum of at most 64 values expected beside it"),
    (#"{"format":"uri"}"#, "keyword 'format' at #: one of date, date-time, email, ipv4, time, uuid expected, 'uri' found"),
    (#"{"multipleOf":0.3}"#, "keyword 'multipleOf' at #: a whole number above 0, or one of 0.1, 0.01, … expected"),
    (#"{"multipleOf":0}"#, "keyword 'multipleOf' at #: a whole number above 0, or one of 0.1, 0.01, … expected"),
    (##"{"$ref":"#/$defs/x"}"##, "reference '#/$defs/x' at #: a place in this schema (#/$defs/name) expected, nothing found there"),
    (#"{"$ref":"other.json"}"#, "reference 'other.json' at #: a place in this schema (#/$defs/name) expected, nothing found there"),
    (##"{"$ref":"#"}"##, "reference '#' at # leads back to itself without an object or array between"),
    (
      ##"{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
      "reference '#/$defs/a' at #/$defs/b leads back to itself without an object or array between"
    ),
    (#"false"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (#"{"type":"string","enum":[1]}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (#"{"minimum":3,"maximum":2}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (#"{"type":"integer","minimum":1e18}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (#"{"type":"integer","minimum":1,"maximum":6,"multipleOf":7}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (#"{"allOf":[{"type":"string"},{"type":"null"}]}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (
      #"{"type":"object","properties":{"a":{"type":"object","properties":{},"required":["z"],"additionalProperties":false}},"required":["a"]}"#,
      "no value satisfies the schema at #/properties/a: 'required' names 'z', which 'properties' lacks and 'additionalProperties' forbids"
    ),
    (#"{"pattern":"^a$","minLength":2}"#, "no value satisfies the schema at #: its keywords exclude each other"),
    (
      ##"{"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]}"##,
      "no value satisfies the schema at #: each has more than 16 objects and arrays inside each other, or is longer than any text may be"
    ),
    (#"{"pattern":"(?=a)"}"#, "unsupported pattern '(?=a)' at #: look-around is not supported, at character 3"),
    (#"{"pattern":"(a)\\1"}"#, "unsupported pattern '(a)\\1' at #: back-references are not supported, at character 5"),
    (#"{"pattern":"a\\b"}"#, "unsupported pattern 'a\\b' at #: word boundaries are not supported, at character 3"),
    (#"{"pattern":"[b-a]"}"#, "unsupported pattern '[b-a]' at #: a range in a class is malformed, at character 4"),
    (#"{"pattern":"(a"}"#, "unsupported pattern '(a' at #: a '(' is not closed, at character 2"),
    (#"{"pattern":"a**"}"#, "unsupported pattern 'a**' at #: a quantifier follows a quantifier, at character 3"),
    (#"{"pattern":"a{3,2}"}"#, "unsupported pattern 'a{3,2}' at #: a quantifier's limits are reversed, at character 6"),
    (
      #"{"pattern":"(?:(?:a{1000}){1000}){1000}"}"#,
      "unsupported pattern '(?:(?:a{1000}){1000}){1000}' at #: it needs more than 20000 steps"
    ),
    (
      #"{"pattern":"(?:(?:(?:(?:){1000}){1000}){1000}){1000}"}"#,
      "unsupported pattern '(?:(?:(?:(?:){1000}){1000}){1000}){1000}' at #: it needs more than 20000 steps"
    ),
    (#"{"pattern":"a.{15}b"}"#, "unsupported pattern 'a.{15}b' at #: it needs more than 5000 states"),
    (#"{"nullable":true}"#, "keyword 'nullable' at #: 'type' expected beside it"),
    (#"{"enum":[{"a":1}],"properties":{}}"#, "keyword 'enum' at #: an object cannot stand beside other keywords"),
    (
      #"{"minProperties":1000000000,"type":"object"}"#,
      "the schema at # is too large: at most 100000 as 'minProperties' times the properties expected"
    ),
  ]

  @Test("each fault says what and where", arguments: cases.indices)
  func messages(index: Int) throws {
    let (schema, message) = Self.cases[index]
    let error = try #require(throws: ConstraintError.self) { try Constraint(schema: schema) }
    #expect(error.description == message)
    #expect(error.description.utf8.count < 600 && !error.description.contains("\n"))
  }

  @Test func otherFaults() {
    #expect(throws: ConstraintError.noChoices) { try Constraint(choices: []) }
    #expect(throws: ConstraintError.duplicateChoice("a")) { try Constraint(choices: ["a", "b", "a"]) }
    #expect(throws: ConstraintError.badDepth(0, allowed: 1...64)) { try Constraint(schema: true, maximumDepth: 0) }
    #expect(throws: ConstraintError.badDepth(65, allowed: 1...64)) { try Constraint(schema: true, maximumDepth: 65) }
    #expect(throws: ConstraintError.unknownEndToken(3, vocabulary: 2)) { try TokenVocabulary(tokens: [[1], [2]], endTokens: [3]) }
    #expect(throws: ConstraintError.unspeakable) {
      try TokenConstraint(Constraint(choices: ["b"]), vocabulary: TokenVocabulary(tokens: [[0x61]], endTokens: []))
    }
  }

  @Test func largeSchemasAreBounded() throws {
    // A hundred nested alternatives, a chain of references, a wide product.
    var nested = #"{"type":"null"}"#
    for _ in 0..<100 { nested = #"{"anyOf":["# + nested + "]}" }
    #expect(throws: ConstraintError.self) { try Constraint(schema: nested) }
    let chain = (0..<100).map { ##""d\##($0)":{"$ref":"#/$defs/d\##($0 + 1)"}"## }.joined(separator: ",")
    let text = ##"{"$defs":{\##(chain),"d100":{"type":"null"}},"$ref":"#/$defs/d0"}"##
    #expect(throws: ConstraintError.tooLarge(what: "levels of references and alternatives", limit: 64, pointer: "#/$defs/d63")) {
      try Constraint(schema: text)
    }
    let wide = "{\"anyOf\":[" + (0..<30).map { "{\"minimum\":\($0)}" }.joined(separator: ",") + "]}"
    #expect(throws: ConstraintError.tooLarge(what: "combined alternatives", limit: 256, pointer: "#")) {
      try Constraint(schema: "{\"allOf\":[\(wide),\(wide)]}")
    }
    // Ten thousand choices are no trouble.
    let choices = try Constraint(choices: (0..<10_000).map { "choice number \($0)" })
    let start = try TokenConstraint(choices, vocabulary: TestVocabulary.shared).start()
    #expect(start.accepts("choice number 9999") && !start.accepts("choice number 10000"))
  }
}
