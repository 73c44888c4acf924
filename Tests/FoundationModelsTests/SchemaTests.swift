import DibitJSON
import Testing

@testable import FoundationModels

@Suite struct SchemaTests {
  @Test func objects() throws {
    let expected: JSONValue = [
      "type": "object", "title": "Waterway", "description": "A river",
      "properties": [
        "name": ["type": "string", "description": "Its name"], "length": ["type": "integer", "minimum": 1, "maximum": 7000],
        "depth": ["type": "number", "minimum": 0],
        "tags": ["type": "array", "items": ["type": "string", "enum": ["long", "short"]], "maxItems": 3],
      ],
      "required": ["name", "length", "tags"], "additionalProperties": false, "x-order": ["name", "length", "depth", "tags"],
    ]
    #expect(try Waterway.generationSchema.jsonSchema() == expected)
    #expect(try Waterway.generationSchema.constraintSchema() == expected)
    #expect(Waterway.generationSchema.name == "Waterway")
  }

  @Test func recursiveTypesReferToTheRoot() throws {
    let json = try Tree.generationSchema.jsonSchema()
    #expect(json["properties"]?["children"] == ["type": "array", "items": ["$ref": "#"]])
    // A choice of texts stands where it is used, and the decoder knows it by its name.
    #expect(json["properties"]?["direction"] == ["type": "string", "enum": ["north", "northEast", "south"]])
    #expect(json["$defs"] == nil)
    let constraint = try Tree.generationSchema.constraintSchema()
    let direction: JSONValue = ["type": "string", "title": "Direction", "enum": ["north", "northEast", "south"]]
    #expect(constraint["properties"]?["direction"] == ["$ref": "#/$defs/Direction"] && constraint["$defs"] == ["Direction": direction])
  }

  @Test func recursiveTypesInsideOthers() throws {
    let json = try [Tree].generationSchema.jsonSchema()
    #expect(json["items"] == ["$ref": "#/$defs/Tree"])
    #expect(json["$defs"]?["Tree"]?["properties"]?["children"]?["items"] == ["$ref": "#/$defs/Tree"])
    #expect([Tree].generationSchema.name == "Array<Tree>")
  }

  @Test func genericTypes() throws {
    let json = try Pair<Pair<Int, String>, Tree>.generationSchema.jsonSchema()
    #expect(json["title"] == "Pair<Pair<Int, String>, Tree>")
    #expect(json["properties"]?["first"] == ["$ref": "#/$defs/Pair<Int, String>"])
    #expect(json["$defs"]?.object?.keys == ["Pair<Int, String>", "Tree"])
    // Nil is missing from what is required, and null for the decoder.
    #expect(json["required"] == ["first"])
    let constraint = try Pair<Int, String>.generationSchema.constraintSchema()
    #expect(constraint["required"] == ["first", "second"])
    #expect(constraint["properties"]?["second"] == ["anyOf": [["type": "string"], ["type": "null"]]])
  }

  @Test func typesOfOneNameAreToldApart() throws {
    let schema = GenerationSchema(
      type: Tree.self, properties: [.init(name: "a", type: First.Item.self), .init(name: "b", type: Second.Item.self)])
    let json = try schema.jsonSchema()
    let names = try #require(json["$defs"]?.object?.keys)
    #expect(names == ["FoundationModelsTests.SchemaTests.First.Item", "FoundationModelsTests.SchemaTests.Second.Item"])
    #expect(json["properties"]?["a"] == ["$ref": .string("#/$defs/\(names[0])")])
    #expect(json["$defs"]?[names[1]]?["title"] == .string(names[1]))
  }

  @Test func unions() throws {
    let schema = GenerationSchema(type: Tree.self, description: "d", anyOf: [Waterway.self, Direction.self, Int.self])
    let json = try schema.jsonSchema()
    let direction: JSONValue = ["type": "string", "enum": ["north", "northEast", "south"]]
    #expect(json["anyOf"] == [["$ref": "#/$defs/Waterway"], direction, ["type": "integer"]])
    #expect(json["title"] == "Tree")
    #expect(json["description"] == "d")
  }

  @Test func promptsAreShort() throws {
    let text = try Tree.generationSchema.promptText()
    #expect(
      text
        == ##"{"type":"object","title":"Tree","properties":{"label":{"type":"string"},"direction":{"type":"string","enum":["north","northEast","south"]},"##
        + ##""children":{"type":"array","items":{"$ref":"#"}}},"required":["label","direction","children"]}"##)
    let odd = GenerationSchema(type: Waterway.self, properties: [.init(name: "x-order", type: Int.self)])
    #expect(try odd.promptText().contains(#""x-order":{"type":"integer"}"#))
  }

  @Test func names() throws {
    #expect(Int.generationSchema.name == "Int")
    #expect([String].generationSchema.name == "Array<String>")
    #expect(Double.generationSchema.name == "Double")
    #expect(GeneratedContent.generationSchema.name == "GeneratedContent")
    #expect(Bool.generationSchema.debugDescription.contains("boolean"))
  }

  @Test func faultySchemasAreErrors() {
    let twice = GenerationSchema(type: Waterway.self, properties: [.init(name: "a", type: Int.self), .init(name: "a", type: Int.self)])
    #expect(throws: GenerationSchema.SchemaError.self) { try twice.jsonSchema() }
    #expect(twice.debugDescription.contains("two properties named 'a'"))
    #expect(throws: GenerationSchema.SchemaError.self) { try GenerationSchema(type: Waterway.self, anyOf: [String]()).jsonSchema() }
    let none: [any Generable.Type] = []
    #expect(throws: GenerationSchema.SchemaError.self) { try GenerationSchema(type: Waterway.self, anyOf: none).jsonSchema() }
    #expect(throws: GenerationSchema.SchemaError.self) { try Never.generationSchema.constraintSchema() }
  }

  @Test func schemasWithoutEndAreErrors() {
    #expect(throws: SchemaTooLarge.self) { try Endless.generationSchema.jsonSchema() }
    #expect(throws: SchemaTooLarge.self) { try Growing<Int>.generationSchema.jsonSchema() }
  }

  enum First {
    struct Item: Empty {}
  }

  enum Second {
    struct Item: Empty {}
  }

  /// A type whose schema is that of its own arrays.
  struct Endless: Empty {
    static var generationSchema: GenerationSchema { [Endless].generationSchema }
  }

  /// A type that holds ever larger ones.
  struct Growing<Value: Generable>: Empty {
    static var generationSchema: GenerationSchema {
      GenerationSchema(type: Self.self, properties: [.init(name: "a", type: Growing<[Value]>.self)])
    }
  }
}

/// A structure without properties.
protocol Empty: Generable {
  init()
}

extension Empty {
  static var generationSchema: GenerationSchema { GenerationSchema(type: Self.self, properties: []) }
  var generatedContent: GeneratedContent { GeneratedContent(properties: [:]) }
  init(_ content: GeneratedContent) throws { self.init() }
}
