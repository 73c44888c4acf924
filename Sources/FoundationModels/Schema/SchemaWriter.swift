internal import DibitJSON

/// Writes a resolved schema as JSON Schema.
struct SchemaWriter {
  /// The reader of the schema.
  enum Purpose {
    /// Programs: the form that schemas are encoded in.
    case document
    /// The constrained decoder, which has keywords and patterns of its own.
    case constraint
    /// A model, which needs no more than what it can follow.
    case prompt
  }

  private let schema: ResolvedSchema
  private let purpose: Purpose
  private var rootIndex: Int? { if case .definition(let index) = schema.root.shape { index } else { nil } }

  private typealias Member = (key: String, value: JSONValue)

  static func json(_ schema: ResolvedSchema, for purpose: Purpose) throws -> JSONValue {
    let writer = SchemaWriter(schema: schema, purpose: purpose)
    return .object(JSONObject(try writer.document()))
  }

  private init(schema: ResolvedSchema, purpose: Purpose) { (self.schema, self.purpose) = (schema, purpose) }

  private func document() throws -> [Member] {
    let rootIndex = rootIndex
    var members: [Member]
    if let rootIndex {
      members = try self.members(schema.definitions[rootIndex])
      Self.add(schema.root.keywords, to: &members)
    } else {
      members = try self.members(schema.root, GuideOwner(type: "the schema", property: nil))
    }
    var definitions: [Member] = []
    for (index, definition) in schema.definitions.enumerated() where index != rootIndex && choices(index) == nil {
      definitions.append((definition.name, .object(JSONObject(try self.members(definition)))))
    }
    if !definitions.isEmpty { members.append(("$defs", .object(JSONObject(definitions)))) }
    return members
  }

  // MARK: Definitions

  private func members(_ definition: ResolvedSchema.Definition) throws -> [Member] {
    var heading: [Member] = [("title", .string(definition.name))]
    if let description = definition.description { heading.append(("description", .string(description))) }
    func owner(_ property: String? = nil) -> GuideOwner { GuideOwner(type: definition.name, property: property) }
    switch definition.body {
    case .other(let node): return try members(node, owner())
    case .choices(let values): return [("type", "string")] + heading + [("enum", .array(values.map(JSONValue.string)))]
    case .union(let nodes):
      var parts: [JSONValue] = []
      for node in nodes { parts.append(.object(JSONObject(try members(node, owner())))) }
      return [("anyOf", .array(parts))] + heading
    case .object(let properties, let isNilExplicit, let isOpen):
      var members: [Member] = []
      var required: [JSONValue] = []
      for property in properties {
        var own = try self.members(property.node, owner(property.name))
        if purpose == .constraint, isNilExplicit, property.isOptional {
          own = [("anyOf", .array([.object(JSONObject(own)), ["type": "null"]]))]
          required.append(.string(property.name))
        } else if !property.isOptional {
          required.append(.string(property.name))
        }
        if let description = property.description { Self.add([SchemaKeyword(key: "description", value: .string(description))], to: &own) }
        members.append((property.name, .object(JSONObject(own))))
      }
      var result: [Member] = [("type", "object")] + heading
      result.append(("properties", .object(JSONObject(members))))
      result.append(("required", .array(required)))
      if purpose != .prompt {
        result.append(("additionalProperties", .bool(isOpen)))
        result.append(("x-order", .array(properties.map { .string($0.name) })))
      }
      return result
    }
  }

  // MARK: Nodes

  private func members(_ node: ResolvedSchema.Node, _ owner: GuideOwner) throws -> [Member] {
    var members: [Member]
    switch node.shape {
    case .root: members = [("$ref", "#")]
    case .definition(let index):
      if let values = choices(index), index != rootIndex {
        members = [("type", "string"), ("enum", .array(values.map(JSONValue.string)))]
        if let description = schema.definitions[index].description {
          Self.add([SchemaKeyword(key: "description", value: .string(description))], to: &members)
        }
        break
      }
      members = [("$ref", .string(index == rootIndex ? "#" : "#/$defs/" + Self.escaped(schema.definitions[index].name)))]
    case .scalar(let kind, let limits):
      members = [("type", kind.keyword)]
      if kind == .any { members.append(("title", "GeneratedContent")) }
      if let values = limits.values { members.append(("enum", .array(values.map(JSONValue.string)))) }
      if let pattern = limits.pattern { members.append(("pattern", .string(try self.pattern(pattern, owner)))) }
      if let minimum = limits.minimum?.value { members.append(("minimum", minimum)) }
      if let maximum = limits.maximum?.value { members.append(("maximum", maximum)) }
    case .array(let element, let minimum, let maximum):
      members = [("type", "array"), ("items", .object(JSONObject(try self.members(element, owner))))]
      if let minimum { members.append(("minItems", .integer(minimum))) }
      if let maximum { members.append(("maxItems", .integer(maximum))) }
    }
    Self.add(node.keywords, to: &members)
    return members
  }

  /// The values of a definition that is a choice of texts: it is written where it is used. The decoder knows it by its name.
  private func choices(_ index: Int) -> [String]? {
    guard purpose != .constraint, case .choices(let values) = schema.definitions[index].body else { return nil }
    return values
  }

  private func pattern(_ text: String, _ owner: GuideOwner) throws -> String {
    guard purpose == .constraint else { return text }
    do {
      return try PatternTranslator.translate(text)
    } catch {
      let guide = GuideRule.pattern(GuideRule.Pattern(text)).description
      throw UnsupportedGuide(type: owner.type, property: owner.property, guide: guide, reason: error.reason)
    }
  }

  /// Adds keywords; a description comes behind the type, and replaces one that is there.
  private static func add(_ keywords: [SchemaKeyword], to members: inout [Member]) {
    for keyword in keywords {
      members.removeAll { $0.key == keyword.key }
      if keyword.key == "description" {
        members.insert((keyword.key, keyword.value), at: min(1, members.count))
      } else {
        members.append((keyword.key, keyword.value))
      }
    }
  }

  /// A name as part of a pointer in a fragment.
  private static func escaped(_ name: String) -> String {
    name.replacing("%", with: "%25").replacing("~", with: "~0").replacing("/", with: "~1")
  }
}
