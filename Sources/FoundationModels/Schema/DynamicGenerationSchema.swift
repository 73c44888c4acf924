/// A part of a schema that is made while a program runs. Parts refer to each other by name.
///
/// ```swift
/// let river = DynamicGenerationSchema(
///   name: "River",
///   properties: [
///     DynamicGenerationSchema.Property(name: "name", schema: DynamicGenerationSchema(type: String.self)),
///     DynamicGenerationSchema.Property(name: "length", schema: DynamicGenerationSchema(type: Int.self, guides: [.minimum(1)])),
///   ])
/// let schema = try GenerationSchema(root: river, dependencies: [])
/// ```
public struct DynamicGenerationSchema: Sendable {
  let node: SchemaNode

  private init(node: SchemaNode) { self.node = node }

  private init(_ name: String, _ description: String?, _ body: NamedSchema.Body) {
    node = .named(NamedSchema(name: name, description: description, body: body))
  }

  /// The schema of null.
  public static var null: DynamicGenerationSchema { DynamicGenerationSchema(node: .scalar(.null, name: "Null")) }

  /// The schema of a structure.
  ///
  /// - Parameters:
  ///   - name: A name that others can refer to.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - properties: The properties, in the order in which they are generated.
  public init(name: String, description: String? = nil, properties: [Property]) {
    self.init(name: name, description: description, representNilExplicitlyInGeneratedContent: false, properties: properties)
  }

  /// The schema of a structure that may write nil as null.
  ///
  /// - Parameters:
  ///   - name: A name that others can refer to.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - explicitNil: True if the model writes null for optional properties without a value instead of leaving them out.
  ///   - properties: The properties, in the order in which they are generated.
  public init(
    name: String, description: String? = nil, representNilExplicitlyInGeneratedContent explicitNil: Bool, properties: [Property]
  ) {
    self.init(name, description, .object(properties.map(\.property), isNilExplicit: explicitNil, isOpen: false))
  }

  /// The schema of values that satisfy one of several schemas.
  ///
  /// - Parameters:
  ///   - name: A name that others can refer to.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - choices: The schemas, at least one.
  public init(name: String, description: String? = nil, anyOf choices: [DynamicGenerationSchema]) {
    self.init(name, description, .union(choices.map(\.node)))
  }

  /// The schema of a text that is one of several.
  ///
  /// - Parameters:
  ///   - name: A name that others can refer to.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - choices: The texts, at least one.
  public init(name: String, description: String? = nil, anyOf choices: [String]) {
    self.init(name, description, .choices(choices))
  }

  /// The schema of an array.
  ///
  /// - Parameters:
  ///   - itemSchema: The schema of the elements.
  ///   - minimumElements: The least number of elements; nil for none.
  ///   - maximumElements: The greatest number of elements; nil for none.
  public init(arrayOf itemSchema: DynamicGenerationSchema, minimumElements: Int? = nil, maximumElements: Int? = nil) {
    var rules: [GuideRule] = []
    if let minimumElements { rules.append(.minimumCount(minimumElements)) }
    if let maximumElements { rules.append(.maximumCount(maximumElements)) }
    node = rules.isEmpty ? .array(itemSchema.node) : .guided(.array(itemSchema.node), rules)
  }

  /// The schema of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - guides: The guides that the values follow.
  public init<Value>(type: Value.Type, guides: [GenerationGuide<Value>] = []) where Value: Generable {
    let rules = guides.flatMap(\.rules)
    node = rules.isEmpty ? .type(type) : .guided(.type(type), rules)
  }

  /// The schema with a name, wherever it is defined.
  ///
  /// - Parameters:
  ///   - name: The name of the root, of a dependency, or of a schema inside one.
  public init(referenceTo name: String) { node = .reference(name) }

  /// A property of a structure.
  public struct Property: Sendable {
    let property: SchemaProperty

    /// A property.
    ///
    /// - Parameters:
    ///   - name: The name, as JSON has it.
    ///   - description: A text that tells the model what the property is; nil for none.
    ///   - schema: The schema of the values.
    ///   - isOptional: True if the property may be missing.
    public init(name: String, description: String? = nil, schema: DynamicGenerationSchema, isOptional: Bool = false) {
      property = SchemaProperty(name: name, description: description, node: schema.node, isOptional: isOptional)
    }
  }
}
