/// The definition of a tool as the JSON of a transcript has it.
struct CodedToolDefinition: Codable {
  /// The definition.
  let definition: Transcript.ToolDefinition

  private enum CodingKeys: String, CodingKey { case type, function }
  private enum FunctionKeys: String, CodingKey { case name, description, parameters }
  private static let typeName = "function"

  /// A coded definition.
  init(definition: Transcript.ToolDefinition) { self.definition = definition }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try container.checkType(Self.typeName, forKey: .type)
    let function = try container.nestedContainer(keyedBy: FunctionKeys.self, forKey: .function)
    definition = Transcript.ToolDefinition(
      name: try function.decode(String.self, forKey: .name),
      description: try function.decode(String.self, forKey: .description),
      parameters: try function.decode(GenerationSchema.self, forKey: .parameters))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.typeName, forKey: .type)
    var function = container.nestedContainer(keyedBy: FunctionKeys.self, forKey: .function)
    try function.encode(definition.name, forKey: .name)
    try function.encode(definition.description, forKey: .description)
    try function.encode(definition.parameters, forKey: .parameters)
  }
}

/// The form of an answer as the JSON of a transcript has it.
struct CodedResponseFormat: Codable {
  /// The form.
  let format: Transcript.ResponseFormat

  private enum CodingKeys: String, CodingKey { case type, jsonSchema }
  private enum SchemaKeys: String, CodingKey { case name, schema }
  private static let typeName = "jsonSchema"

  /// A coded form.
  init(format: Transcript.ResponseFormat) { self.format = format }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try container.checkType(Self.typeName, forKey: .type)
    let schema = try container.nestedContainer(keyedBy: SchemaKeys.self, forKey: .jsonSchema)
    format = Transcript.ResponseFormat(
      name: try schema.decode(String.self, forKey: .name), schema: try schema.decode(GenerationSchema.self, forKey: .schema))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.typeName, forKey: .type)
    var schema = container.nestedContainer(keyedBy: SchemaKeys.self, forKey: .jsonSchema)
    try schema.encode(format.name, forKey: .name)
    try schema.encode(format.schema, forKey: .schema)
  }
}

extension KeyedDecodingContainer {
  /// Refuses an object of another type than the only known one.
  fileprivate func checkType(_ expected: String, forKey key: Key) throws {
    let found = try decode(String.self, forKey: key)
    guard found == expected else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "Expected the type '\(expected)', found '\(found)'.")
    }
  }
}
