extension GenerationSchema {
  /// The schema of a structure under a name of its own, as `@Generable(name:)` makes it.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - name: The name that the schema has instead of that of the type.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - representNilExplicitlyInGeneratedContent: True if a property without a value is written as null; false if it is left out.
  ///   - properties: The properties in the order in which they are written.
  public init(
    type: any Generable.Type, name: String, description: String? = nil, representNilExplicitlyInGeneratedContent: Bool = false,
    properties: [Property]
  ) {
    let body = NamedSchema.Body.object(
      properties.map(\.property), isNilExplicit: representNilExplicitlyInGeneratedContent, isOpen: false)
    self.init(node: .named(NamedSchema(name: name, description: description, type: type, body: body)))
  }

  /// The schema of a text that is one of several, under a name of its own.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - name: The name that the schema has instead of that of the type.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - choices: The texts.
  public init(type: any Generable.Type, name: String, description: String? = nil, anyOf choices: [String]) {
    self.init(node: .named(NamedSchema(name: name, description: description, type: type, body: .choices(choices))))
  }

  /// The schema of values of one of several types, under a name of its own.
  ///
  /// - Parameters:
  ///   - type: The type that is described.
  ///   - name: The name that the schema has instead of that of the type.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - types: The types.
  public init(type: any Generable.Type, name: String, description: String? = nil, anyOf types: [any Generable.Type]) {
    self.init(
      node: .named(NamedSchema(name: name, description: description, type: type, body: .union(types.map(SchemaNode.type)))))
  }
}
