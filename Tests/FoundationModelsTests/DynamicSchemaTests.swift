import DibitJSON
import Testing

@testable import FoundationModels

@Suite struct DynamicSchemaTests {
  typealias Schema = DynamicGenerationSchema

  @Test func menus() throws {
    let soups = Schema(name: "Soups", anyOf: ["Tomato", "Pea"])
    let root = Schema(
      name: "Menu", description: "A menu",
      properties: [
        .init(name: "soup", description: "The soup", schema: Schema(referenceTo: "Soups")),
        .init(
          name: "prices", schema: Schema(arrayOf: Schema(type: Int.self, guides: [.minimum(1)]), minimumElements: 1, maximumElements: 3)),
        .init(name: "note", schema: Schema(type: String.self), isOptional: true),
        .init(name: "river", schema: Schema(type: Waterway.self)),
        .init(name: "next", schema: Schema(referenceTo: "Menu"), isOptional: true),
      ])
    let schema = try GenerationSchema(root: root, dependencies: [soups])
    let json = try schema.jsonSchema()
    #expect(schema.name == "Menu")
    #expect(json["properties"]?["soup"] == ["type": "string", "description": "The soup", "enum": ["Tomato", "Pea"]])
    #expect(json["properties"]?["next"] == ["$ref": "#"])
    #expect(
      json["properties"]?["prices"] == ["type": "array", "items": ["type": "integer", "minimum": 1], "minItems": 1, "maxItems": 3])
    #expect(json["required"] == ["soup", "prices", "river"])
    #expect(json["$defs"]?.object?.keys == ["Waterway"])
  }

  @Test func inlineSchemasAreHoisted() throws {
    func point() -> Schema { Schema(name: "Point", properties: [.init(name: "x", schema: Schema(type: Double.self))]) }
    let root = Schema(
      name: "Line",
      properties: [
        .init(name: "a", schema: point()), .init(name: "b", schema: point()), .init(name: "c", schema: Schema(referenceTo: "Point")),
        .init(name: "d", schema: Schema(name: "Or", anyOf: [point(), .null])),
      ])
    let json = try GenerationSchema(root: root, dependencies: []).jsonSchema()
    #expect(json["$defs"]?.object?.keys == ["Point", "Or"])
    for key in ["a", "b", "c"] { #expect(json["properties"]?[key] == ["$ref": "#/$defs/Point"]) }
    #expect(json["$defs"]?["Or"]?["anyOf"] == [["$ref": "#/$defs/Point"], ["type": "null"]])
  }

  @Test func namesOfTypesAndOfSchemasAreToldApart() throws {
    let own = Schema(name: "Waterway", properties: [])
    let root = Schema(name: "R", properties: [.init(name: "a", schema: own), .init(name: "b", schema: Schema(type: Waterway.self))])
    let json = try GenerationSchema(root: root, dependencies: []).jsonSchema()
    #expect(json["$defs"]?.object?.keys == ["Waterway", "FoundationModelsTests.Waterway"])
  }

  @Test func explicitNil() throws {
    let root = Schema(
      name: "R", representNilExplicitlyInGeneratedContent: true,
      properties: [.init(name: "a", schema: Schema(type: Int.self), isOptional: true)])
    let schema = try GenerationSchema(root: root, dependencies: [])
    #expect(try schema.jsonSchema()["required"] == [])
    #expect(try schema.constraintSchema()["required"] == ["a"])
  }

  @Test func rootsOfOtherKinds() throws {
    #expect(try GenerationSchema(root: .null, dependencies: []).jsonSchema() == ["type": "null"])
    let list = try GenerationSchema(root: Schema(arrayOf: Schema(referenceTo: "A")), dependencies: [Schema(name: "A", anyOf: ["x"])])
    #expect(try list.jsonSchema()["items"] == ["type": "string", "enum": ["x"]])
    #expect(list.name == "Array<A>")
    let named = try GenerationSchema(root: Schema(referenceTo: "A"), dependencies: [Schema(name: "A", anyOf: ["x"])])
    #expect(try named.jsonSchema() == ["type": "string", "title": "A", "enum": ["x"]])
  }

  @Test func faults() {
    let empty = Schema(name: "A", properties: [])
    let other = Schema(name: "A", properties: [.init(name: "x", schema: .null)])
    func fault(_ root: Schema, _ dependencies: [Schema] = []) -> GenerationSchema.SchemaError? {
      #expect(throws: GenerationSchema.SchemaError.self) { try GenerationSchema(root: root, dependencies: dependencies) }
    }
    guard case .duplicateType(schema: "A", type: "A", let context)? = fault(empty, [empty]) else {
      Issue.record("expected a duplicate type")
      return
    }
    #expect(context.debugDescription == "There are two different schemas named 'A'.")
    let parts = [Schema.Property(name: "a", schema: empty), .init(name: "b", schema: other)]
    #expect(throws: Never.self) { try GenerationSchema(root: Schema(name: "R", properties: parts), dependencies: []) }
    let root = Schema(name: "R", properties: parts + [.init(name: "c", schema: Schema(referenceTo: "A"))])
    guard case .duplicateType(schema: "R", type: "A", _)? = fault(root) else {
      Issue.record("expected a duplicate type")
      return
    }
    let twice = Schema(name: "R", properties: [.init(name: "a", schema: .null), .init(name: "a", schema: .null)])
    guard case .duplicateProperty(schema: "R", property: "a", _)? = fault(twice) else {
      Issue.record("expected a duplicate property")
      return
    }
    guard case .emptyTypeChoices(schema: "E", _)? = fault(Schema(name: "E", anyOf: [String]())) else {
      Issue.record("expected empty choices")
      return
    }
    let lost = Schema(
      name: "R",
      properties: [.init(name: "a", schema: Schema(referenceTo: "X")), .init(name: "b", schema: Schema(arrayOf: Schema(referenceTo: "Y")))])
    let error = fault(lost)
    guard case .undefinedReferences(schema: "R", references: ["X", "Y"], _)? = error else {
      Issue.record("expected undefined references")
      return
    }
    #expect(error?.errorDescription == "The schema 'R' refers to 'X', 'Y', which is not defined.")
    #expect(error?.recoverySuggestion == "Pass schemas named 'X', 'Y' as dependencies.")
  }

  @Test func sharedPartsAreVisitedOnce() throws {
    var schema = Schema(name: "S0", properties: [])
    for index in 1...60 {
      schema = Schema(name: "S\(index)", properties: [.init(name: "a", schema: schema), .init(name: "b", schema: schema)])
    }
    #expect(try GenerationSchema(root: schema, dependencies: []).jsonSchema()["$defs"]?.object?.count == 60)
  }

  @Test func deepArraysAreErrors() throws {
    var schema = Schema(type: Int.self)
    for _ in 0..<500 { schema = Schema(arrayOf: schema) }
    let generation = try GenerationSchema(root: schema, dependencies: [])
    #expect(throws: SchemaTooLarge.self) { try generation.jsonSchema() }
  }
}
