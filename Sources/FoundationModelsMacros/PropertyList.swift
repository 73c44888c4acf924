#if FoundationModelsMacros
  /// The properties that make a structured value, and the source of what reads, writes and describes one.
  struct PropertyList {
    /// The properties in the order of their declarations, under the conditions of these.
    let members: [Conditional<Property>]
    /// The options of the attribute.
    let options: GenerableOptions
    /// The name of the case that generated content has under `type`; nil for a value that is no case.
    let discriminator: String?

    /// The property that holds the identifier of the content.
    var identity: Property? {
      members.lazy.compactMap { if case .element(let property) = $0, property.isIdentity { property } else { nil } }.first
    }

    /// The members that generated content has a part for.
    var generated: [Conditional<Property>] {
      members.filter { if case .element(let property) = $0 { !property.isIdentity } else { true } }
    }

    /// True where the parts depend on conditions.
    private var isConditional: Bool { members.contains(where: \.isDirective) }

    /// Adds the expression of the schema.
    func writeSchema(to text: inout SourceText) {
      let arguments = options.schemaArguments + options.explicitNilArgument
      let type = "FoundationModels.GenerationSchema"
      guard isConditional else {
        let elements = (discriminator.map { [schemaOfDiscriminator($0)] } ?? []) + generated.flatMap(\.elements).map(schemaProperty)
        guard !elements.isEmpty else { return text.call(type, arguments + ["properties: []"]) }
        text.line("\(type)(")
        text.indented { text in
          for argument in arguments { text.line(argument + ",") }
          text.line("properties: [")
          text.indented { text in for element in elements { text.line(element + ",") } }
          text.line("]")
        }
        return text.line(")")
      }
      // Conditions cannot stand in an array. What reserves the space also changes the variable where no branch is active.
      text.line("var properties: [\(type).Property] = []")
      text.line("properties.reserveCapacity(\(generated.flatMap(\.elements).count))")
      text.each(generated) { text, property in text.line("properties.append(\(schemaProperty(property)))") }
      text.line("return \(type)(\((arguments + ["properties: properties"]).joined(separator: ", ")))")
    }

    private func schemaProperty(_ property: Property) -> String {
      let arguments =
        ["name: " + property.name.literal] + (property.guide.description.map { ["description: " + $0] } ?? [])
        + ["type: " + property.type.metatype]
        + (property.guide.guides.isEmpty ? [] : ["guides: [" + property.guide.guides.joined(separator: ", ") + "]"])
      return "FoundationModels.GenerationSchema.Property(\(arguments.joined(separator: ", ")))"
    }

    private func schemaOfDiscriminator(_ name: String) -> String {
      "FoundationModels.GenerationSchema.Property(name: \"type\", type: Swift.String.self, guides: [.constant(\(name.literal))])"
    }

    /// Adds the statements that make generated content of the properties of `self`. A case writes each value, null where there is none, as
    /// Apple's macro has it.
    func writeContent(to text: inout SourceText) {
      let type = "FoundationModels.GeneratedContent"
      let identityArgument = identity.map { ["id: self." + $0.identifier] } ?? []
      if let discriminator {
        let parts = generated.flatMap(\.elements).map { "\($0.name.literal): self.\($0.identifier)" }
        return text.line("\(type)(properties: [\((["\"type\": " + discriminator.literal] + parts).joined(separator: ", "))])")
      }
      guard !generated.isEmpty else {
        return text.line("\(type)(\((["properties: [:]"] + identityArgument).joined(separator: ", ")))")
      }
      text.line("var properties: [(Swift.String, any FoundationModels.ConvertibleToGeneratedContent)] = []")
      writeAppend(to: &text)
      text.each(generated) { text, property in text.line("append(\(property.name.literal), self.\(property.identifier))") }
      let arguments = ["properties: properties"] + identityArgument + ["uniquingKeysWith: { _, second in second }"]
      text.line("return \(type)(\(arguments.joined(separator: ", ")))")
    }

    /// Adds the functions that add a part. Overloading tells optionals from other values, whatever their types are called: an optional is
    /// not `Generable` itself.
    private func writeAppend(to text: inout SourceText) {
      func writeFunction(taking type: String, _ body: String) {
        text.block("func append(_ name: Swift.String, _ value: \(type))") { $0.line(body) }
      }
      let append = "properties.append((name, value))"
      if case .dependent(let expression) = options.nilRepresentation { text.line("let representsNil: Swift.Bool = " + expression) }
      writeFunction(taking: "some FoundationModels.Generable", append)
      let optional = "(some FoundationModels.Generable)?"
      switch options.nilRepresentation {
      case .explicit: writeFunction(taking: optional, append)
      case .omitted: writeFunction(taking: optional, "if let value { \(append) }")
      case .dependent: writeFunction(taking: optional, "if value != nil || representsNil { \(append) }")
      }
    }

    /// Adds the statements that set the properties of `self` from `content`.
    func writeAssignments(to text: inout SourceText) {
      if let identity { text.line("self.\(identity.identifier) = content.id ?? FoundationModels.GenerationID()") }
      text.each(generated) { text, property in
        text.line("self.\(property.identifier) = try content.value(forProperty: \(property.name.literal))")
      }
    }
  }
#endif
