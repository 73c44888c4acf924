internal import DibitJSON

/// Looks at a schema and all types that it mentions, each once.
struct SchemaResolver {
  /// The identity of a definition.
  private enum Key: Hashable {
    case type(ObjectIdentifier)
    case name(scope: Int, String)
    case instance(ObjectIdentifier)
  }

  private enum Source {
    case named(NamedSchema)
    case other(SchemaNode)
  }

  private struct Entry {
    let name: String
    let type: (any Generable.Type)?
    let source: Source
    let scope: Int
  }

  /// The schema that names and references belong to, and the type that it was asked from.
  private var scopes: [(schema: GenerationSchema, type: (any Generable.Type)?)]
  private var entries: [Entry] = []
  private var indices: [Key: Int] = [:]
  private var types: [ObjectIdentifier: ResolvedSchema.Node] = [:]
  private var typesInProgress = Set<ObjectIdentifier>()

  private static let depthLimit = 64
  private static let typeLimit = 512
  private static let definitionLimit = 20_000

  static func resolve(_ schema: GenerationSchema) throws -> ResolvedSchema {
    var resolver = SchemaResolver(schema)
    return try resolver.run(schema)
  }

  private init(_ schema: GenerationSchema) { scopes = [(schema, nil)] }

  private mutating func run(_ schema: GenerationSchema) throws -> ResolvedSchema {
    let root = try node(schema.node, GuideOwner(type: schema.name, property: nil), scope: 0, depth: 0)
    var definitions: [ResolvedSchema.Definition] = []
    // Bodies may add entries behind.
    while definitions.count < entries.count { definitions.append(try definition(entries[definitions.count])) }
    let names = SchemaNames.distinct(entries.map { ($0.name, $0.type) })
    for (index, name) in names.enumerated() { definitions[index].name = name }
    return ResolvedSchema(root: root, definitions: definitions)
  }

  // MARK: Definitions

  private mutating func definition(_ entry: Entry) throws -> ResolvedSchema.Definition {
    func owner(_ property: String?) -> GuideOwner { GuideOwner(type: entry.name, property: property) }
    switch entry.source {
    case .other(let inner):
      let body = ResolvedSchema.Body.other(try node(inner, owner(nil), scope: entry.scope, depth: 0))
      return ResolvedSchema.Definition(name: entry.name, description: nil, body: body)
    case .named(let schema):
      let body: ResolvedSchema.Body
      switch schema.body {
      case .object(let properties, let isNilExplicit, let isOpen):
        var names = Set<String>()
        var resolved: [ResolvedSchema.Property] = []
        for property in properties {
          guard names.insert(property.name).inserted else {
            throw GenerationSchema.SchemaError.duplicateProperty(property.name, in: schema.name)
          }
          let node = try node(property.node, owner(property.name), scope: entry.scope, depth: 0)
          resolved.append(
            ResolvedSchema.Property(
              name: property.name, description: property.description, node: node, isOptional: property.isOptional))
        }
        body = .object(resolved, isNilExplicit: isNilExplicit, isOpen: isOpen)
      case .union(let nodes):
        guard !nodes.isEmpty else { throw GenerationSchema.SchemaError.emptyTypeChoices(schema.name) }
        var resolved: [ResolvedSchema.Node] = []
        for inner in nodes { resolved.append(try node(inner, owner(nil), scope: entry.scope, depth: 0)) }
        body = .union(resolved)
      case .choices(let choices):
        guard !choices.isEmpty else { throw GenerationSchema.SchemaError.emptyTypeChoices(schema.name) }
        body = .choices(choices)
      }
      return ResolvedSchema.Definition(name: entry.name, description: schema.description, body: body)
    }
  }

  private mutating func define(_ key: Key, _ entry: Entry) throws -> ResolvedSchema.Node {
    if let index = indices[key] { return ResolvedSchema.Node(shape: .definition(index)) }
    guard entries.count < Self.definitionLimit else {
      throw SchemaTooLarge(description: "The schema has more than \(Self.definitionLimit) named parts.")
    }
    indices[key] = entries.count
    entries.append(entry)
    return ResolvedSchema.Node(shape: .definition(entries.count - 1))
  }

  private mutating func define(_ schema: NamedSchema, scope: Int) throws -> ResolvedSchema.Node {
    let key: Key
    if let type = schema.type {
      key = .type(ObjectIdentifier(type))
    } else if case .named(let known) = scopes[scope].schema.definitions[schema.name], known.isSame(as: schema) {
      key = .name(scope: scope, schema.name)
    } else {
      key = .instance(ObjectIdentifier(schema))
    }
    return try define(key, Entry(name: schema.name, type: schema.type, source: .named(schema), scope: scope))
  }

  // MARK: Nodes

  private mutating func node(_ node: SchemaNode, _ owner: GuideOwner, scope: Int, depth: Int) throws -> ResolvedSchema.Node {
    guard depth < Self.depthLimit else {
      throw SchemaTooLarge(description: "The schema of \(owner.type) has more than \(Self.depthLimit) arrays inside each other.")
    }
    switch node {
    case .scalar(let kind, _): return ResolvedSchema.Node(shape: .scalar(kind, ResolvedSchema.ScalarLimits()))
    case .array(let element):
      let element = try self.node(element, owner, scope: scope, depth: depth + 1)
      return ResolvedSchema.Node(shape: .array(element, minimum: nil, maximum: nil))
    case .type(let type): return try self.type(type, owner, depth: depth)
    case .named(let schema): return try define(schema, scope: scope)
    case .guided(let inner, let rules):
      var result = try self.node(inner, owner, scope: scope, depth: depth + 1)
      for rule in rules { try result.apply(rule, of: owner, type: inner.name) }
      return result
    case .extended(let inner, let keywords):
      var result = try self.node(inner, owner, scope: scope, depth: depth + 1)
      result.keywords += keywords
      return result
    case .root:
      guard let type = scopes[scope].type else { return ResolvedSchema.Node(shape: .root) }
      return try self.type(type, owner, depth: depth)
    case .reference(let name):
      switch scopes[scope].schema.definitions[name] {
      case nil: throw GenerationSchema.SchemaError.undefinedReferences([name], in: owner.type)
      case .named(let schema): return try define(schema, scope: scope)
      case .some(let other):
        return try define(.name(scope: scope, name), Entry(name: name, type: nil, source: .other(other), scope: scope))
      }
    }
  }

  private mutating func type(_ type: any Generable.Type, _ owner: GuideOwner, depth: Int) throws -> ResolvedSchema.Node {
    let key = ObjectIdentifier(type)
    if let known = types[key] { return known }
    guard typesInProgress.insert(key).inserted else {
      throw SchemaTooLarge(description: "The schema of \(owner.type) refers to itself without an end.")
    }
    defer { typesInProgress.remove(key) }
    guard scopes.count <= Self.typeLimit else {
      throw SchemaTooLarge(description: "The schema mentions more than \(Self.typeLimit) types.")
    }
    let schema = type.generationSchema
    scopes.append((schema, type))
    let result = try node(schema.node, owner, scope: scopes.count - 1, depth: depth + 1)
    types[key] = result
    return result
  }
}
