import FoundationModels

/// A structure with guides, as the macro would expand it.
struct Waterway: Equatable {
  var name: String
  var length: Int
  var depth: Double?
  var tags: [String]

  nonisolated static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self, description: "A river",
      properties: [
        GenerationSchema.Property(name: "name", description: "Its name", type: String.self),
        GenerationSchema.Property(name: "length", type: Int.self, guides: [.range(1...7000)]),
        GenerationSchema.Property(name: "depth", type: Double?.self, guides: [.minimum(0)]),
        GenerationSchema.Property(name: "tags", type: [String].self, guides: [.maximumCount(3), .element(.anyOf(["long", "short"]))]),
      ])
  }

  nonisolated var generatedContent: GeneratedContent {
    var properties: [(String, any ConvertibleToGeneratedContent)] = [("name", name), ("length", length)]
    if let depth { properties.append(("depth", depth)) }
    properties.append(("tags", tags))
    return GeneratedContent(properties: properties, uniquingKeysWith: { _, second in second })
  }

  struct PartiallyGenerated: Identifiable, nonisolated ConvertibleFromGeneratedContent {
    var id: GenerationID
    var name: String.PartiallyGenerated?
    var length: Int.PartiallyGenerated?
    var depth: Double?.PartiallyGenerated?
    var tags: [String].PartiallyGenerated?

    nonisolated init(_ content: GeneratedContent) throws {
      id = content.id ?? GenerationID()
      name = try content.value(forProperty: "name")
      length = try content.value(forProperty: "length")
      depth = try content.value(forProperty: "depth")
      tags = try content.value(forProperty: "tags")
    }
  }
}

extension Waterway: nonisolated Generable {
  nonisolated init(_ content: GeneratedContent) throws {
    name = try content.value(forProperty: "name")
    length = try content.value(forProperty: "length")
    depth = try content.value(forProperty: "depth")
    tags = try content.value(forProperty: "tags")
  }
}

/// An enumeration without payloads, one case of which begins with the name of another.
enum Direction: String, CaseIterable {
  case north, northEast, south
}

extension Direction: nonisolated Generable {
  nonisolated static var generationSchema: GenerationSchema {
    GenerationSchema(type: Self.self, anyOf: allCases.map(\.rawValue))
  }

  nonisolated var generatedContent: GeneratedContent { rawValue.generatedContent }

  nonisolated init(_ content: GeneratedContent) throws {
    let text = try String(content)
    guard let value = Direction(rawValue: text) else {
      throw GeneratedContent.ParsingError(
        rawContent: content.jsonString, underlyingError: nil, debugDescription: "Unexpected value \"\(text)\" for Direction")
    }
    self = value
  }
}

/// A structure that holds others of its own type.
struct Tree: Equatable {
  var label: String
  var direction: Direction
  var children: [Tree]

  nonisolated static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self,
      properties: [
        GenerationSchema.Property(name: "label", type: String.self),
        GenerationSchema.Property(name: "direction", type: Direction.self),
        GenerationSchema.Property(name: "children", type: [Tree].self),
      ])
  }

  nonisolated var generatedContent: GeneratedContent {
    GeneratedContent(properties: ["label": label, "direction": direction, "children": children])
  }

  struct PartiallyGenerated: Identifiable, nonisolated ConvertibleFromGeneratedContent {
    var id: GenerationID
    var label: String.PartiallyGenerated?
    var direction: Direction.PartiallyGenerated?
    var children: [Tree].PartiallyGenerated?

    nonisolated init(_ content: GeneratedContent) throws {
      id = content.id ?? GenerationID()
      label = try content.value(forProperty: "label")
      direction = try content.value(forProperty: "direction")
      children = try content.value(forProperty: "children")
    }
  }
}

extension Tree: nonisolated Generable {
  nonisolated init(_ content: GeneratedContent) throws {
    label = try content.value(forProperty: "label")
    direction = try content.value(forProperty: "direction")
    children = try content.value(forProperty: "children")
  }
}

/// A generic structure, which writes nil as null.
struct Pair<First: Generable, Second: Generable> {
  var first: First
  var second: Second?
}

extension Pair: nonisolated Generable {
  nonisolated static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self, representNilExplicitlyInGeneratedContent: true,
      properties: [
        GenerationSchema.Property(name: "first", type: First.self), GenerationSchema.Property(name: "second", type: Second?.self),
      ])
  }

  nonisolated var generatedContent: GeneratedContent { GeneratedContent(properties: ["first": first, "second": second]) }

  nonisolated init(_ content: GeneratedContent) throws {
    first = try content.value(forProperty: "first")
    second = try content.value(forProperty: "second")
  }
}
