#if FoundationModelsMacros
  /// Conforms a structure or an enumeration to ``Generable``, so that a model can generate its values.
  ///
  /// Generated are the stored properties that state a type, in the order of their declarations. The type also gets a nested
  /// `PartiallyGenerated`, in which each property is optional: what there is of a value while it is generated. An enumeration without
  /// associated values is generated as the name of a case, or as the raw value if that is a string; one with associated values as a
  /// structure with the name of the case under `type`.
  ///
  /// ```swift
  /// @Generable(description: "A river of Europe")
  /// struct River {
  ///   var name: String
  ///   @Guide(description: "The length in kilometres", .range(1...4000))
  ///   var length: Int
  ///   var countries: [String]
  /// }
  ///
  /// let river = try await session.respond(to: "Describe the Elbe.", generating: River.self).content
  /// ```
  ///
  /// - Parameters:
  ///   - description: A text that tells the model what the values are; nil for none.
  @attached(extension, conformances: Generable, names: named(init(_:)), named(generatedContent))
  @attached(member, names: arbitrary)
  public macro Generable(description: String? = nil) = #externalMacro(module: "FoundationModelsMacros", type: "GenerableMacro")

  /// Conforms a structure or an enumeration to ``Generable``, and says how properties without a value become generated content.
  ///
  /// ```swift
  /// @Generable(representNilExplicitlyInGeneratedContent: true)
  /// struct Mouth {
  ///   var sea: String?
  /// }
  ///
  /// Mouth(sea: nil).generatedContent.jsonString  // {"sea": null} instead of {}
  /// ```
  ///
  /// - Parameters:
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - representNilExplicitlyInGeneratedContent: True if nil is written as null; false if the property is left out.
  @attached(extension, conformances: Generable, names: named(init(_:)), named(generatedContent))
  @attached(member, names: arbitrary)
  public macro Generable(description: String? = nil, representNilExplicitlyInGeneratedContent: Bool) =
    #externalMacro(module: "FoundationModelsMacros", type: "GenerableMacro")

  /// Conforms a structure or an enumeration to ``Generable``, under a name of its own in the schema.
  ///
  /// ```swift
  /// @Generable(name: "River", description: "A river of Europe")
  /// struct RiverAnswerV2 {
  ///   var name: String
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name that the schema has instead of that of the type.
  ///   - description: A text that tells the model what the values are; nil for none.
  ///   - representNilExplicitlyInGeneratedContent: True if nil is written as null; false if the property is left out.
  @attached(extension, conformances: Generable, names: named(init(_:)), named(generatedContent))
  @attached(member, names: arbitrary)
  public macro Generable(name: String, description: String? = nil, representNilExplicitlyInGeneratedContent: Bool = false) =
    #externalMacro(module: "FoundationModelsMacros", type: "GenerableMacro")

  /// Describes a property of a `@Generable` structure to the model, and restricts its values.
  ///
  /// Several `@Guide` of one property add up. By itself the attribute does nothing.
  ///
  /// ```swift
  /// @Guide(description: "Towns on its banks", .count(3), .element(.anyOf(["Dresden", "Magdeburg", "Hamburg"])))
  /// var towns: [String]
  /// ```
  ///
  /// - Parameters:
  ///   - description: A text that tells the model what the property is; nil for none.
  ///   - guides: The restrictions.
  @attached(peer)
  public macro Guide<Value>(description: String? = nil, _ guides: GenerationGuide<Value>...) =
    #externalMacro(module: "FoundationModelsMacros", type: "GuideMacro") where Value: Generable

  /// Describes a property of a `@Generable` structure to the model, and restricts it to texts that match a regular expression.
  ///
  /// ```swift
  /// @Guide(description: "Mouth and source, as in 'Cuxhaven-Labska'", /\w+-\w+/)
  /// var ends: String
  /// ```
  ///
  /// - Parameters:
  ///   - description: A text that tells the model what the property is; nil for none.
  ///   - guides: The regular expression.
  @attached(peer)
  public macro Guide<RegexOutput>(description: String? = nil, _ guides: Regex<RegexOutput>) =
    #externalMacro(module: "FoundationModelsMacros", type: "GuideMacro")

  /// Describes a property of a `@Generable` structure to the model.
  ///
  /// ```swift
  /// @Guide(description: "The sea that it flows into")
  /// var sea: String
  /// ```
  ///
  /// - Parameters:
  ///   - description: A text that tells the model what the property is.
  @attached(peer)
  public macro Guide(description: String) = #externalMacro(module: "FoundationModelsMacros", type: "GuideMacro")

  /// Makes a variable in an extension of ``SessionPropertyValues`` a property that each session keeps for itself.
  ///
  /// ```swift
  /// extension SessionPropertyValues {
  ///   @SessionPropertyEntry var step: Step = .shopping
  /// }
  ///
  /// session.properties.step = .cooking
  /// ```
  @attached(accessor)
  @attached(peer, names: prefixed(__Key_))
  public macro SessionPropertyEntry() = #externalMacro(module: "FoundationModelsMacros", type: "SessionPropertyEntryMacro")

  /// Makes the first value of a session's property anew for each session. ``SessionPropertyEntry()`` writes it.
  @attached(accessor)
  public macro __SessionPropertyEntryDefaultValue() =
    #externalMacro(module: "FoundationModelsMacros", type: "SessionPropertyEntryDefaultValueMacro")
#endif
