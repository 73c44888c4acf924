internal import DibitJSON

extension GenerationSchema: Codable {
  /// A schema from JSON Schema, in the form that ``encode(to:)`` writes.
  ///
  /// Objects need `title`, `additionalProperties`, `required` and `x-order`, arrays need `items`. Limits of JSON Schema that no guide can
  /// express, such as `maxLength` or `multipleOf`, are kept; keywords without a meaning here, definitions that nothing leads to, and
  /// properties that `x-order` does not name are left out.
  ///
  /// - Parameters:
  ///   - decoder: The decoder.
  /// - Throws: `DecodingError` if it is no such schema.
  public init(from decoder: any Decoder) throws {
    self = try SchemaDecoder.schema(from: CodedJSON(from: decoder).value, path: decoder.codingPath)
  }

  /// Writes the schema as JSON Schema. Named schemas stand under `$defs`; `x-order` holds the order of properties.
  ///
  /// - Parameters:
  ///   - encoder: The encoder.
  /// - Throws: `EncodingError` if the schema has guides that cannot be written, contradicts itself, or has no end.
  public func encode(to encoder: any Encoder) throws {
    let json: JSONValue
    do {
      json = try jsonSchema()
    } catch {
      let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "\(error)", underlyingError: error)
      throw EncodingError.invalidValue(self, context)
    }
    try CodedJSON(value: json).encode(to: encoder)
  }
}

/// Any JSON value, for encoders and decoders.
private struct CodedJSON: Codable {
  let value: JSONValue

  private static let depthLimit = 128

  init(value: JSONValue) { self.value = value }

  init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.depthLimit else {
      throw SchemaFault.corrupted("The schema is nested deeper than \(Self.depthLimit) levels.", decoder.codingPath)
    }
    if let container = try? decoder.container(keyedBy: SchemaKey.self) {
      var members: [(key: String, value: JSONValue)] = []
      for key in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
        members.append((key.stringValue, try container.decode(CodedJSON.self, forKey: key).value))
      }
      value = .object(JSONObject(members))
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [JSONValue] = []
      while !container.isAtEnd { elements.append(try container.decode(CodedJSON.self).value) }
      value = .array(elements)
    } else {
      value = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
    if container.decodeNil() { return .null }
    if let value = try? container.decode(String.self) { return .string(value) }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int.self) { return .integer(value) }
    return .number(try container.decode(Double.self))
  }

  func encode(to encoder: any Encoder) throws {
    switch value {
    case .object(let object):
      var container = encoder.container(keyedBy: SchemaKey.self)
      for (key, value) in object.members { try container.encode(CodedJSON(value: value), forKey: SchemaKey(key)) }
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(CodedJSON(value: element)) }
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .integer(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .number(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .string(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }
}
