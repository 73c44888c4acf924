extension GenerationSchema {
  /// A property of a structure: its name, its type and the guides that its values follow.
  public struct Property: Sendable {
    let property: SchemaProperty

    /// A property that is always there.
    ///
    /// - Parameters:
    ///   - name: The name, as JSON has it.
    ///   - description: A text that tells the model what the property is; nil for none.
    ///   - type: The type of the values.
    ///   - guides: The guides that the values follow.
    public init<Value>(name: String, description: String? = nil, type: Value.Type, guides: [GenerationGuide<Value>] = [])
    where Value: Generable {
      self.init(name, description, type, guides.flatMap(\.rules), isOptional: false)
    }

    /// A property that may be missing.
    ///
    /// - Parameters:
    ///   - name: The name, as JSON has it.
    ///   - description: A text that tells the model what the property is; nil for none.
    ///   - type: The type of the values.
    ///   - guides: The guides that the values follow where there is one.
    public init<Value>(name: String, description: String? = nil, type: Value?.Type, guides: [GenerationGuide<Value>] = [])
    where Value: Generable {
      self.init(name, description, Value.self, guides.flatMap(\.rules), isOptional: true)
    }

    /// A text that is always there and that regular expressions match as a whole.
    ///
    /// - Parameters:
    ///   - name: The name, as JSON has it.
    ///   - description: A text that tells the model what the property is; nil for none.
    ///   - type: The type of texts.
    ///   - guides: The expressions, of which one can be enforced.
    public init<RegexOutput>(name: String, description: String? = nil, type: String.Type, guides: [Regex<RegexOutput>] = []) {
      self.init(name, description, type, guides.map { .pattern(GuideRule.Pattern($0)) }, isOptional: false)
    }

    /// A text that may be missing, and that regular expressions match as a whole.
    ///
    /// - Parameters:
    ///   - name: The name, as JSON has it.
    ///   - description: A text that tells the model what the property is; nil for none.
    ///   - type: The type of texts that may be missing.
    ///   - guides: The expressions, of which one can be enforced.
    public init<RegexOutput>(name: String, description: String? = nil, type: String?.Type, guides: [Regex<RegexOutput>] = []) {
      self.init(name, description, String.self, guides.map { .pattern(GuideRule.Pattern($0)) }, isOptional: true)
    }

    private init(_ name: String, _ description: String?, _ type: any Generable.Type, _ rules: [GuideRule], isOptional: Bool) {
      let node = SchemaNode.type(type)
      property = SchemaProperty(
        name: name, description: description, node: rules.isEmpty ? node : .guided(node, rules), isOptional: isOptional)
    }
  }
}
