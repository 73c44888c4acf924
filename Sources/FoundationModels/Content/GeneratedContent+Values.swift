extension GeneratedContent {
  /// Returns the content as a value of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  /// - Returns: The value.
  /// - Throws: ``ParsingError`` if the content is no such value, or what the type's own conversion throws.
  public func value<Value>(_ type: Value.Type = Value.self) throws -> Value where Value: ConvertibleFromGeneratedContent {
    try Value(self)
  }

  /// Returns the value of a property that must be there.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - property: The name of the property.
  /// - Returns: The value.
  /// - Throws: ``ParsingError`` if this is no structure, lacks the property, or holds something else there; or what the type's own
  ///   conversion throws.
  public func value<Value>(_ type: Value.Type = Value.self, forProperty property: String) throws -> Value
  where Value: ConvertibleFromGeneratedContent {
    guard let content = try properties()[property] else {
      throw ParsingError(
        rawContent: jsonString, underlyingError: nil, debugDescription: "GeneratedContent does not contain a property '\(property)'.")
    }
    do {
      return try Value(content)
    } catch let error as ParsingError {
      throw error.within("Property '\(property)'")
    }
  }

  /// Returns the value of a property that may be missing.
  ///
  /// It is nil where the property is missing or null, and where the value is a beginning that cannot be converted yet, such as half the
  /// name of an enumeration's case.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - property: The name of the property.
  /// - Returns: The value, or nil.
  /// - Throws: ``ParsingError`` if this is no structure, or the property is complete and something else; or what the type's own
  ///   conversion throws.
  public func value<Value>(_ type: Value?.Type = Value?.self, forProperty property: String) throws -> Value?
  where Value: ConvertibleFromGeneratedContent {
    if isUndetermined { return nil }
    guard let content = try properties()[property], content.kind != .null else { return nil }
    do {
      return try content.valueIfDetermined()
    } catch let error as ParsingError {
      throw error.within("Property '\(property)'")
    }
  }

  /// The value, or nil if it is a beginning that cannot be converted or may become something else.
  func valueIfDetermined<Value>(_ type: Value.Type = Value.self) throws -> Value? where Value: ConvertibleFromGeneratedContent {
    if isComplete { return try Value(self) }
    // The name of one case may begin with that of another.
    if case .string = kind, let type = type as? any Generable.Type, type != String.self, type.generationSchema.isListOfChoices {
      return nil
    }
    return try? Value(self)
  }

  private func properties() throws -> [String: GeneratedContent] {
    guard case .structure(let properties, _) = kind else { throw mismatch("an object") }
    return properties
  }
}
