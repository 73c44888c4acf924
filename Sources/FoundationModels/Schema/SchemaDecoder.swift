internal import DibitJSON

/// Reads a schema from JSON Schema in the form that ``SchemaWriter`` writes. Faults are decoding errors with the path to them.
struct SchemaDecoder {
  let rootPath: [any CodingKey]
  private let document: JSONObject
  private let definitions: [String: JSONValue]
  /// Names that something refers to and that are not read yet.
  private var pending: [String] = []
  private var found: [String: SchemaNode] = [:]

  private static let depthLimit = 60

  static func schema(from json: JSONValue, path: [any CodingKey]) throws -> GenerationSchema {
    guard let object = json.object else { throw SchemaFault.mismatch([String: Any].self, "an object", json, path) }
    var decoder = try SchemaDecoder(object, path: path)
    return try decoder.run()
  }

  private init(_ object: JSONObject, path: [any CodingKey]) throws {
    (document, rootPath) = (object, path)
    guard let value = object["$defs"] else {
      definitions = [:]
      return
    }
    guard let members = value.object else {
      throw SchemaFault.mismatch([String: Any].self, "an object", value, path + [SchemaKey("$defs")])
    }
    definitions = Dictionary(members.members.map { ($0.key, $0.value) }) { first, _ in first }
  }

  private mutating func run() throws -> GenerationSchema {
    let root = try node(.object(document), rootPath, depth: 0)
    // Definitions that nothing leads to are not looked at.
    while let name = pending.popLast() {
      guard found[name] == nil, let value = definitions[name] else { continue }
      found[name] = try node(value, rootPath + [SchemaKey("$defs"), SchemaKey(name)], depth: 0)
    }
    try checkReferences(root)
    return GenerationSchema(node: root, definitions: found)
  }

  /// Refuses names that stand for each other in a circle.
  private func checkReferences(_ root: SchemaNode) throws {
    var ended = Set<String>()
    for start in found.keys.sorted() + [""] {
      var node = start.isEmpty ? root : found[start]
      var passed: [String] = start.isEmpty ? [] : [start]
      var seen = Set(passed)
      while let next = node?.target {
        if ended.contains(next) { break }
        guard seen.insert(next).inserted, next != "#" || !start.isEmpty else {
          throw SchemaFault.corrupted("The reference '\(next)' leads back to itself.", rootPath)
        }
        passed.append(next)
        node = next == "#" ? root : found[next]
      }
      ended.formUnion(passed)
    }
  }

  // MARK: Nodes

  private mutating func node(_ json: JSONValue, _ path: [any CodingKey], depth: Int) throws -> SchemaNode {
    guard depth < Self.depthLimit else { throw SchemaFault.corrupted("Schemas are nested deeper than \(Self.depthLimit) levels.", path) }
    let reader = SchemaReader(try SchemaReader.object(json, path), path: path)
    let node: SchemaNode
    if let reference = try reader.string("$ref") {
      node = try self.reference(reference, reader)
    } else if let value = try reader.string("const") {
      node = .guided(.type(String.self), [.constant(value)])
    } else if reader["type"] != nil {
      node = try typed(reader, depth)
    } else if let choices = try reader.array("anyOf") {
      node = try union(choices, reader, depth)
    } else {
      throw SchemaFault.corrupted("None of these keys were present: 'type', 'const', '$ref', 'anyOf'.", path)
    }
    if case .named = node { return node }
    guard let description = try reader.string("description") else { return node }
    return .extended(node, [SchemaKeyword(key: "description", value: .string(description))])
  }

  private mutating func reference(_ text: String, _ reader: SchemaReader) throws -> SchemaNode {
    if text == "#" { return .root }
    let prefix = "#/$defs/"
    var name = text
    if text.hasPrefix(prefix) {
      guard let unescaped = Self.unescaped(text.dropFirst(prefix.count)) else {
        throw SchemaFault.corrupted("The reference '\(text)' is malformed.", reader.path + [SchemaKey("$ref")])
      }
      name = unescaped
    }
    if definitions[name] != nil {
      pending.append(name)
      return .reference(name)
    }
    if name == text, document["title"]?.string == name { return .root }
    throw SchemaFault.corrupted("The reference '\(text)' is not defined.", reader.path + [SchemaKey("$ref")])
  }

  private mutating func union(_ choices: [JSONValue], _ reader: SchemaReader, _ depth: Int) throws -> SchemaNode {
    let path = reader.path + [SchemaKey("anyOf")]
    guard !choices.isEmpty else { throw SchemaFault.corrupted("'anyOf' has no choices.", path) }
    var nodes: [SchemaNode] = []
    for (index, choice) in choices.enumerated() { nodes.append(try node(choice, path + [SchemaKey(index)], depth: depth + 1)) }
    let name = try reader.string("title") ?? "Choice"
    return .named(NamedSchema(name: name, description: try reader.string("description"), body: .union(nodes)))
  }

  private mutating func typed(_ reader: SchemaReader, _ depth: Int) throws -> SchemaNode {
    if case .array(let types)? = reader["type"], types == ScalarKind.all.map(JSONValue.string) {
      return .scalar(.any, name: "GeneratedContent")
    }
    switch try reader.string("type") ?? "" {
    case "object": return try object(reader, depth)
    case "array":
      guard let items = reader["items"] else { throw SchemaFault.missing("items", reader.path) }
      let element = try node(items, reader.path + [SchemaKey("items")], depth: depth + 1)
      return try reader.limited(.array(element), rules: reader.countRules(), keywords: ["uniqueItems"])
    case "string": return try text(reader)
    case "integer": return try reader.limited(.type(Int.self), rules: reader.numberRules(), keywords: SchemaReader.numberKeywords)
    case "number": return try reader.limited(.type(Double.self), rules: reader.numberRules(), keywords: SchemaReader.numberKeywords)
    case "boolean": return .type(Bool.self)
    case "null": return .scalar(.null, name: "Null")
    case let other: throw SchemaFault.corrupted("There is no type '\(other)'.", reader.path + [SchemaKey("type")])
    }
  }

  private func text(_ reader: SchemaReader) throws -> SchemaNode {
    var rules: [GuideRule] = []
    if let pattern = try reader.string("pattern") { rules.append(.pattern(GuideRule.Pattern(pattern))) }
    let keywords = ["minLength", "maxLength", "format"]
    guard let values = try reader.strings("enum") else {
      // A text with a name of its own is a choice.
      if reader["title"] != nil { throw SchemaFault.missing("enum", reader.path) }
      return try reader.limited(.type(String.self), rules: rules, keywords: keywords)
    }
    guard !values.isEmpty else { throw SchemaFault.corrupted("'enum' has no values.", reader.path + [SchemaKey("enum")]) }
    if let title = try reader.string("title"), rules.isEmpty, !keywords.contains(where: { reader[$0] != nil }) {
      return .named(NamedSchema(name: title, description: try reader.string("description"), body: .choices(values)))
    }
    return try reader.limited(.type(String.self), rules: rules + [.anyOf(values)], keywords: keywords)
  }

  private mutating func object(_ reader: SchemaReader, _ depth: Int) throws -> SchemaNode {
    let title = try reader.required("title", reader.string("title"))
    let isOpen = try reader.required("additionalProperties", reader.bool("additionalProperties"))
    let required = Set(try reader.required("required", reader.strings("required")))
    let order = try reader.required("x-order", reader.strings("x-order"))
    let path = reader.path + [SchemaKey("properties")]
    let values = try reader["properties"].map { try SchemaReader.object($0, path) } ?? JSONObject()
    let schemas = Dictionary(values.members.map { ($0.key, $0.value) }) { first, _ in first }
    var properties: [SchemaProperty] = []
    var names = Set<String>()
    for name in order {
      guard names.insert(name).inserted else {
        throw SchemaFault.corrupted("'x-order' names the property '\(name)' twice.", reader.path + [SchemaKey("x-order")])
      }
      guard let schema = schemas[name] else { throw SchemaFault.missing(name, path) }
      let node = try node(schema, path + [SchemaKey(name)], depth: depth + 1)
      properties.append(SchemaProperty(name: name, description: nil, node: node, isOptional: !required.contains(name)))
    }
    let body = NamedSchema.Body.object(properties, isNilExplicit: false, isOpen: isOpen)
    return .named(NamedSchema(name: title, description: try reader.string("description"), body: body))
  }

  /// The name that part of a pointer in a fragment stands for; nil when an escape is malformed.
  private static func unescaped(_ part: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = part.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
        bytes.append(value)
        rest.removeFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    return text.replacing("~1", with: "/").replacing("~0", with: "~")
  }
}

extension SchemaNode {
  /// The name that this node is nothing but a reference to; `#` for the root.
  fileprivate var target: String? {
    var node = self
    while case .extended(let inner, _) = node { node = inner }
    return switch node {
    case .reference(let name): name
    case .root: "#"
    default: nil
    }
  }
}
