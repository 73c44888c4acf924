import DibitJSON
import Foundation
import Testing

@testable import FoundationModels

@Suite struct SchemaCodingTests {
  private func decode(_ json: String) throws -> GenerationSchema { try JSONDecoder().decode(GenerationSchema.self, from: Data(json.utf8)) }

  @Test func schemasComeBack() throws {
    let pattern = GenerationSchema(type: Waterway.self, properties: [.init(name: "p", type: String.self, guides: [/a\d/])])
    let schemas = [
      Waterway.generationSchema, Tree.generationSchema, [Tree].generationSchema, Pair<Int, Tree>.generationSchema, Int.generationSchema,
      GeneratedContent.generationSchema, Direction.generationSchema, pattern,
      GenerationSchema(type: Tree.self, description: "d", anyOf: [Waterway.self, Direction.self, Int.self]),
      GenerationSchema(
        type: Waterway.self, properties: [.init(name: "a/b~c%", description: "text", type: Tree.self), .init(name: "z", type: Tree?.self)]),
    ]
    for schema in schemas {
      let decoded = try JSONDecoder().decode(GenerationSchema.self, from: JSONEncoder().encode(schema))
      #expect(try decoded.jsonSchema() == schema.jsonSchema())
      #expect(decoded.name == schema.name)
    }
  }

  @Test func dataIsJSONSchema() throws {
    let json = try JSONValue(parsing: String(decoding: JSONEncoder().encode(Waterway.generationSchema), as: UTF8.self))
    #expect(json["properties"]?["length"]?["maximum"] == 7000)
    #expect(json["additionalProperties"] == false)
  }

  @Test func limitsThatNoGuideMakesAreKept() throws {
    let schema = try decode(
      #"""
      {"type":"object","title":"T","properties":{"s":{"type":"string","minLength":1,"maxLength":3,"format":"date","description":"x"},
      "n":{"type":"number","exclusiveMinimum":0,"multipleOf":0.5},"u":{"type":"string","format":"uri"},"c":{"const":"k"},
      "l":{"type":"array","items":{"type":"string","enum":["a"]},"uniqueItems":true,"minItems":1}},
      "required":["s"],"additionalProperties":false,"x-order":["s","n","u","c","l"],"x-unknown":1}
      """#)
    let json = try schema.constraintSchema()
    #expect(
      json["properties"]?["s"] == ["type": "string", "description": "x", "minLength": 1, "maxLength": 3, "format": "date"])
    #expect(json["properties"]?["n"] == ["type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5])
    #expect(json["properties"]?["u"] == ["type": "string"])
    #expect(json["properties"]?["c"] == ["type": "string", "enum": ["k"]])
    #expect(json["properties"]?["l"]?["uniqueItems"] == true)
    #expect(json["x-unknown"] == nil)
  }

  @Test func inlineSchemasAreHoisted() throws {
    let inner = #"{"type":"object","title":"I","properties":{},"required":[],"additionalProperties":false,"x-order":[]}"#
    let schema = try decode(
      #"{"type":"object","title":"T","properties":{"a":\#(inner),"b":{"$ref":"T"},"c":{"$ref":"D"},"gone":{"type":"null"}},"#
        + #""required":[],"additionalProperties":false,"x-order":["c","a","b"],"$defs":{"D":{"type":"integer"},"Unused":7}}"#)
    let json = try schema.jsonSchema()
    #expect(json["properties"]?["a"] == ["$ref": "#/$defs/I"])
    #expect(json["properties"]?["b"] == ["$ref": "#"])
    #expect(json["properties"]?["c"] == ["$ref": "#/$defs/D"])
    #expect(json["properties"]?.object?.keys == ["c", "a", "b"])
    #expect(json["$defs"]?.object?.keys == ["D", "I"])
  }

  @Test(arguments: [
    (#"{"allOf":[]}"#, "None of these keys were present: 'type', 'const', '$ref', 'anyOf'."), ("7", "Expected an object, found a number."),
    (#"{"type":["string","null"]}"#, "Expected a string, found an array."), (#"{"type":"array"}"#, "The schema has no 'items'."),
    (#"{"type":"object","title":"T","required":[],"x-order":[]}"#, "The schema has no 'additionalProperties'."),
    (#"{"type":"object","required":[],"additionalProperties":false,"x-order":[]}"#, "The schema has no 'title'."),
    (#"{"type":"object","title":"T","additionalProperties":false,"x-order":[]}"#, "The schema has no 'required'."),
    (#"{"type":"object","title":"T","required":[],"additionalProperties":false}"#, "The schema has no 'x-order'."),
    (##"{"$ref":"#"}"##, "The reference '#' leads back to itself."), (#"{"$ref":"X"}"#, "The reference 'X' is not defined."),
    (##"{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"A"}}}"##, "The reference 'A' leads back to itself."),
    (#"{"anyOf":[],"title":"T"}"#, "'anyOf' has no choices."), (#"{"type":"string","enum":[]}"#, "'enum' has no values."),
    (#"{"type":"string","enum":[1]}"#, "Expected a string, found a number."), (#"{"type":"text"}"#, "There is no type 'text'."),
    (#"{"type":"integer","minimum":"1"}"#, "Expected a number, found a string."),
    (#"{"type":"string","minLength":-1}"#, "'minLength' is negative."),
    (#"{"const":1}"#, "Expected a string, found a number."),
  ])
  func faults(_ json: String, _ text: String) {
    let error = #expect(throws: DecodingError.self, "\(json)") { try decode(json) }
    let context: DecodingError.Context? =
      switch error {
      case .dataCorrupted(let context), .keyNotFound(_, let context), .typeMismatch(_, let context), .valueNotFound(_, let context): context
      default: nil
      }
    #expect(context?.debugDescription == text)
  }

  @Test func hostileSchemasAreBounded() throws {
    let deep = String(repeating: #"{"type":"array","items":"#, count: 10_000) + #"{"type":"null"}"# + String(repeating: "}", count: 10_000)
    #expect(throws: DecodingError.self) { try decode(deep) }
    let less = String(repeating: #"{"type":"array","items":"#, count: 100) + #"{"type":"null"}"# + String(repeating: "}", count: 100)
    #expect(throws: DecodingError.self) { try decode(less) }
    let names = (0..<10_000).map { "p\($0)" }
    let properties = names.map { #""\#($0)":{"type":"integer"}"# }.joined(separator: ",")
    let list = names.map { "\"\($0)\"" }.joined(separator: ",")
    let wide = try decode(
      #"{"type":"object","title":"T","properties":{\#(properties)},"required":[\#(list)],"#
        + #""additionalProperties":false,"x-order":[\#(list)]}"#
    )
    #expect(try wide.jsonSchema()["x-order"]?.array?.count == 10_000)
    let definitions = (0..<3000).map { ##""d\##($0)":{"type":"array","items":{"$ref":"#/$defs/d\##($0 + 1)"}}"## }.joined(separator: ",")
    let chain = try decode(##"{"$ref":"d0","$defs":{\##(definitions),"d3000":{"type":"null"}}}"##)
    #expect(try chain.jsonSchema()["$defs"]?.object?.count == 3000)
  }
}
