internal import DibitJSON

/// Reads keywords of one schema. A keyword of the wrong type is an error, a missing one is nil.
struct SchemaReader {
  let path: [any CodingKey]
  private let members: [String: JSONValue]

  static let numberKeywords = ["exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
  /// Formats that can be enforced; others say nothing, as in the specification.
  private static let formats: Set<String> = ["date", "time", "date-time", "uuid", "email", "ipv4"]

  init(_ object: JSONObject, path: [any CodingKey]) {
    self.path = path
    members = Dictionary(object.members.map { ($0.key, $0.value) }) { first, _ in first }
  }

  static func object(_ json: JSONValue, _ path: [any CodingKey]) throws -> JSONObject {
    guard let object = json.object else { throw SchemaFault.mismatch([String: Any].self, "an object", json, path) }
    return object
  }

  subscript(key: String) -> JSONValue? { members[key] }

  func required<Value>(_ key: String, _ value: Value?) throws -> Value {
    guard let value else { throw SchemaFault.missing(key, path) }
    return value
  }

  func string(_ key: String) throws -> String? { try read(key, String.self, "a string", \.string) }

  func bool(_ key: String) throws -> Bool? { try read(key, Bool.self, "a boolean", \.bool) }

  func array(_ key: String) throws -> [JSONValue]? { try read(key, [Any].self, "an array") { $0.array } }

  func strings(_ key: String) throws -> [String]? {
    guard let array = try array(key) else { return nil }
    var strings: [String] = []
    for (index, element) in array.enumerated() {
      guard let string = element.string else {
        throw SchemaFault.mismatch(String.self, "a string", element, path + [SchemaKey(key), SchemaKey(index)])
      }
      strings.append(string)
    }
    return strings
  }

  private func read<Value>(_ key: String, _ type: Any.Type, _ expected: String, _ value: (JSONValue) -> Value?) throws -> Value? {
    guard let json = members[key] else { return nil }
    guard let value = value(json) else { throw SchemaFault.mismatch(type, expected, json, path + [SchemaKey(key)]) }
    return value
  }

  private func count(_ key: String) throws -> Int? {
    guard let count = try read(key, Int.self, "a whole number", \.int) else { return nil }
    guard count >= 0 else { throw SchemaFault.corrupted("'\(key)' is negative.", path + [SchemaKey(key)]) }
    return count
  }

  // MARK: Limits

  func countRules() throws -> [GuideRule] {
    let minimum = try count("minItems").map(GuideRule.minimumCount)
    let maximum = try count("maxItems").map(GuideRule.maximumCount)
    return [minimum, maximum].compactMap(\.self)
  }

  func numberRules() throws -> [GuideRule] {
    let minimum = try read("minimum", Double.self, "a number", Self.limit).map(GuideRule.minimum)
    let maximum = try read("maximum", Double.self, "a number", Self.limit).map(GuideRule.maximum)
    return [minimum, maximum].compactMap(\.self)
  }

  private static func limit(_ json: JSONValue) -> GuideRule.Limit? {
    switch json {
    case .integer(let value): GuideRule.Limit(value)
    case .number(let value): GuideRule.Limit(value)
    default: nil
    }
  }

  /// Adds guides and further keywords, which no guide makes and which narrow values all the same.
  func limited(_ node: SchemaNode, rules: [GuideRule], keywords: [String]) throws -> SchemaNode {
    let guided: SchemaNode = rules.isEmpty ? node : .guided(node, rules)
    var extensions: [SchemaKeyword] = []
    for key in keywords {
      guard let value = members[key] else { continue }
      switch key {
      case "minLength", "maxLength": _ = try count(key)
      case "uniqueItems": _ = try bool(key)
      case "format":
        guard let format = try string(key), Self.formats.contains(format) else { continue }
      case "multipleOf":
        guard try read(key, Double.self, "a number", \.double) ?? 0 > 0 else {
          throw SchemaFault.corrupted("'\(key)' is not above 0.", path + [SchemaKey(key)])
        }
      default: _ = try read(key, Double.self, "a number", \.double)
      }
      extensions.append(SchemaKeyword(key: key, value: value))
    }
    return extensions.isEmpty ? guided : .extended(guided, extensions)
  }
}

/// A key of a schema's JSON.
struct SchemaKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ name: String) { (stringValue, intValue) = (name, nil) }

  init(_ index: Int) { (stringValue, intValue) = ("Index \(index)", index) }

  init?(stringValue: String) { self.init(stringValue) }

  init?(intValue: Int) { self.init(intValue) }
}

/// Makes the errors of decoding.
enum SchemaFault {
  static func corrupted(_ text: String, _ path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: text))
  }

  static func missing(_ key: String, _ path: [any CodingKey]) -> DecodingError {
    .keyNotFound(SchemaKey(key), DecodingError.Context(codingPath: path, debugDescription: "The schema has no '\(key)'."))
  }

  static func mismatch(_ type: Any.Type, _ expected: String, _ found: JSONValue, _ path: [any CodingKey]) -> DecodingError {
    .typeMismatch(
      type, DecodingError.Context(codingPath: path, debugDescription: "Expected \(expected), found \(found.kind)."))
  }
}
