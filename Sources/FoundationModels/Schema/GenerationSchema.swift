internal import DibitJSON

/// A description of the values that a model may generate.
///
/// The macro `@Generable` makes the schema of a type; ``DynamicGenerationSchema`` makes schemas while a program runs; and a schema can be
/// encoded and decoded as JSON Schema. Guides that cannot be enforced show when a schema is used.
public struct GenerationSchema: Sendable {
  let node: SchemaNode
  /// Schemas that ``SchemaNode/reference(_:)`` can name.
  let definitions: [String: SchemaNode]

  init(node: SchemaNode, definitions: [String: SchemaNode] = [:]) { (self.node, self.definitions) = (node, definitions) }

  /// The schema of a structure.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - properties: The properties, in the order in which they are generated.
  public init(type: any Generable.Type, description: String? = nil, properties: [Property]) {
    self.init(type: type, description: description, representNilExplicitlyInGeneratedContent: false, properties: properties)
  }

  /// The schema of a structure that may write nil as null.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - representNilExplicitlyInGeneratedContent: True if the model writes null for optional properties without a value instead of
  ///     leaving them out.
  ///   - properties: The properties, in the order in which they are generated.
  public init(
    type: any Generable.Type, description: String? = nil, representNilExplicitlyInGeneratedContent: Bool, properties: [Property]
  ) {
    let body = NamedSchema.Body.object(
      properties.map(\.property), isNilExplicit: representNilExplicitlyInGeneratedContent, isOpen: false)
    self.init(node: .named(NamedSchema(name: String(describing: type), description: description, type: type, body: body)))
  }

  /// The schema of a text that is one of several.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - choices: The texts, at least one.
  public init(type: any Generable.Type, description: String? = nil, anyOf choices: [String]) {
    self.init(node: .named(NamedSchema(name: String(describing: type), description: description, type: type, body: .choices(choices))))
  }

  /// The schema of values of one of several types.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - types: The types, at least one.
  public init(type: any Generable.Type, description: String? = nil, anyOf types: [any Generable.Type]) {
    let body = NamedSchema.Body.union(types.map(SchemaNode.type))
    self.init(node: .named(NamedSchema(name: String(describing: type), description: description, type: type, body: body)))
  }

  /// The name of what is described: that of the type, or the title of a schema without one.
  public var name: String { node.name }

  /// True if values are names of cases, of which half is no value.
  var isListOfChoices: Bool {
    guard case .named(let schema) = node, case .choices = schema.body else { return false }
    return true
  }
}

extension GenerationSchema: CustomDebugStringConvertible {
  /// The schema as JSON, or the reason for which it has none.
  public var debugDescription: String {
    do {
      return try jsonSchema().serialized(pretty: true)
    } catch {
      return "\(name): \(error)"
    }
  }
}
