internal import DibitJSON

extension GenerationSchema {
  /// Returns the schema as JSON Schema in the form that it is encoded in.
  ///
  /// - Throws: ``UnsupportedGuide``, ``SchemaError`` or ``SchemaTooLarge``.
  func jsonSchema() throws -> JSONValue { try SchemaWriter.json(SchemaResolver.resolve(self), for: .document) }

  /// Returns the schema in the form that the constrained decoder takes: every guide is in it, and nothing that the decoder does not know.
  ///
  /// - Throws: ``UnsupportedGuide``, ``SchemaError`` or ``SchemaTooLarge``.
  func constraintSchema() throws -> JSONValue { try SchemaWriter.json(SchemaResolver.resolve(self), for: .constraint) }

  /// Returns the schema as one line of JSON for the prompt of a model.
  ///
  /// - Throws: ``UnsupportedGuide``, ``SchemaError`` or ``SchemaTooLarge``.
  func promptText() throws -> String { try SchemaWriter.json(SchemaResolver.resolve(self), for: .prompt).serialized() }
}
