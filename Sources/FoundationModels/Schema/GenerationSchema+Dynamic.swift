extension GenerationSchema {
  /// A schema made of dynamic schemas.
  ///
  /// Schemas that stand inside others can be referred to as well. The same schema may stand at several positions.
  ///
  /// - Parameters:
  ///   - root: The schema of the values.
  ///   - dependencies: Schemas that the root or others refer to by name.
  /// - Throws: ``SchemaError`` if two dependencies, two schemas that are referred to or two properties of one have the same name, a schema
  ///   leaves no choice, or a reference leads nowhere.
  public init(root: DynamicGenerationSchema, dependencies: [DynamicGenerationSchema]) throws {
    var check = DynamicSchemaCheck(root: root.node.name)
    for schema in [root] + dependencies {
      if case .named(let named) = schema.node { try check.define(named, again: false) }
    }
    try check.visit([root.node] + dependencies.map(\.node))
    self.init(node: root.node, definitions: check.definitions)
  }
}

/// Collects the named schemas of a set of dynamic ones, and checks them. It keeps a stack of its own, so depth costs no recursion.
private struct DynamicSchemaCheck {
  let root: String
  private(set) var definitions: [String: SchemaNode] = [:]
  private var references: [String] = []
  /// Names of different schemas that stand inside others.
  private var ambiguous = Set<String>()

  init(root: String) { self.root = root }

  mutating func define(_ schema: NamedSchema, again: Bool) throws {
    guard let known = definitions[schema.name], case .named(let known) = known else {
      definitions[schema.name] = .named(schema)
      return
    }
    guard !known.isSame(as: schema) || !again else { return }
    // Clients give all inline schemas one name: that is a fault where the name is to tell them apart.
    guard again else { throw GenerationSchema.SchemaError.duplicateType(schema.name, in: root) }
    ambiguous.insert(schema.name)
  }

  mutating func visit(_ nodes: [SchemaNode]) throws {
    var visited = Set<ObjectIdentifier>()
    var open = Array(nodes.reversed())
    while let node = open.popLast() {
      switch node {
      case .array(let inner), .guided(let inner, _), .extended(let inner, _): open.append(inner)
      case .reference(let name): references.append(name)
      case .scalar, .type, .root: break
      case .named(let schema):
        guard visited.insert(ObjectIdentifier(schema)).inserted else { continue }
        try define(schema, again: true)
        try Self.check(schema)
        open += schema.parts.reversed()
      }
    }
    if let name = references.first(where: ambiguous.contains) { throw GenerationSchema.SchemaError.duplicateType(name, in: root) }
    var seen = Set<String>()
    let unknown = references.filter { definitions[$0] == nil && seen.insert($0).inserted }
    guard unknown.isEmpty else { throw GenerationSchema.SchemaError.undefinedReferences(unknown, in: root) }
  }

  private static func check(_ schema: NamedSchema) throws {
    switch schema.body {
    case .choices(let choices):
      guard !choices.isEmpty else { throw GenerationSchema.SchemaError.emptyTypeChoices(schema.name) }
    case .union(let nodes):
      guard !nodes.isEmpty else { throw GenerationSchema.SchemaError.emptyTypeChoices(schema.name) }
    case .object(let properties, _, _):
      var names = Set<String>()
      for property in properties where !names.insert(property.name).inserted {
        throw GenerationSchema.SchemaError.duplicateProperty(property.name, in: schema.name)
      }
    }
  }
}
