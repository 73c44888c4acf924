internal import DibitJSON

/// A schema as it was written down. Schemas of other types are not looked at before somebody asks for JSON.
indirect enum SchemaNode: Sendable {
  case scalar(ScalarKind, name: String)
  case array(SchemaNode)
  /// The schema of a type, by the type.
  case type(any Generable.Type)
  /// A schema of the same document, by its name.
  case reference(String)
  /// The document itself.
  case root
  case named(NamedSchema)
  case guided(SchemaNode, [GuideRule])
  /// Keywords of a decoded schema that no guide makes; each is checked already.
  case extended(SchemaNode, [SchemaKeyword])

  /// The name that says what this is in a transcript.
  var name: String {
    var node = self
    var depth = 0
    while true {
      let name: String
      switch node {
      case .array(let element):
        (node, depth) = (element, depth + 1)
        continue
      case .guided(let inner, _), .extended(let inner, _):
        node = inner
        continue
      case .scalar(_, let own): name = own
      case .type(let type): name = String(describing: type)
      case .reference(let own): name = own
      case .root: name = "Self"
      case .named(let schema): name = schema.name
      }
      return String(repeating: "Array<", count: depth) + name + String(repeating: ">", count: depth)
    }
  }
}

/// A keyword of JSON Schema and its value.
struct SchemaKeyword: Sendable, Equatable {
  let key: String
  let value: JSONValue
}

/// The kinds of values without parts, and any value.
enum ScalarKind: String, Sendable {
  case string, integer, number, boolean, null, any

  /// The names of all kinds, as the schema of any value has them.
  static let all: [String] = ["null", "boolean", "number", "string", "array", "object"]

  /// The value of the keyword `type`.
  var keyword: JSONValue { self == .any ? .array(Self.all.map(JSONValue.string)) : .string(rawValue) }
}

/// A schema with a name of its own, which others refer to.
final class NamedSchema: Sendable {
  enum Body: Sendable {
    case object([SchemaProperty], isNilExplicit: Bool, isOpen: Bool)
    case union([SchemaNode])
    case choices([String])
  }

  let name: String
  let description: String?
  /// The Swift type that this is the schema of, if there is one.
  let type: (any Generable.Type)?
  let body: Body

  init(name: String, description: String?, type: (any Generable.Type)? = nil, body: Body) {
    (self.name, self.description, self.type, self.body) = (name, description, type, body)
  }

  /// The schemas that this one has in it.
  var parts: [SchemaNode] {
    switch body {
    case .object(let properties, _, _): properties.map(\.node)
    case .union(let nodes): nodes
    case .choices: []
    }
  }
}

/// A property of an object.
struct SchemaProperty: Sendable {
  let name: String
  let description: String?
  let node: SchemaNode
  let isOptional: Bool
}
