internal import DibitJSON

/// The parts of a schema besides its own keywords.
struct SchemaLinks {
  var reference: String?
  var all: [Located] = []
  /// Alternatives of `anyOf` and `oneOf`.
  var choices: [[Located]] = []
}

extension SchemaKeywords {
  /// Keywords that describe and do not narrow.
  private static let annotations: Set<String> = [
    "title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly",
    // Positions for schemas that only references use.
    "$defs", "definitions",
  ]

  /// Reads the keywords of a schema that is an object; every keyword is applied, known to say nothing, or refused.
  init(_ schema: Located, links: inout SchemaLinks) throws(ConstraintError) {
    self.init(pointer: schema.pointer)
    var isNullable = false
    var hasType = false
    for (key, value) in schema.value.object?.members ?? [] {
      let reader = KeywordReader(owner: schema, key: key, value: value)
      switch key {
      case "type":
        types = try reader.types()
        hasType = true
      case "nullable": isNullable = try reader.bool()
      case "enum": values = try Self.common(values, reader.array())
      case "const": values = Self.common(values, [value])
      case "$ref": links.reference = try reader.string()
      case "allOf": links.all += try reader.schemas()
      case "anyOf", "oneOf": links.choices.append(try reader.schemas())
      case _ where Self.annotations.contains(key): break
      default:
        // An `||` of the four would lose the type of their error.
        if try readObject(reader) { continue }
        if try readArray(reader) { continue }
        if try readString(reader) { continue }
        guard try readNumber(reader) else { throw .unsupportedKeyword(key, pointer: schema.pointer) }
      }
    }
    if isNullable {
      guard hasType else { throw .unsupportedValue(keyword: "nullable", pointer: pointer, reason: "'type' expected beside it") }
      types.insert(.null)
    }
    try checkLimits()
  }

  private mutating func readObject(_ reader: KeywordReader) throws(ConstraintError) -> Bool {
    switch reader.key {
    case "properties":
      for (name, value) in try reader.object().members {
        let schema = Located(value: reader.value, pointer: reader.pointer).member(name, value)
        properties.append(Property(name: name, schemas: [schema]))
      }
    case "required": required = try reader.strings()
    case "x-order": order = try reader.strings()
    case "additionalProperties": additional = [try reader.schema()]
    case "minProperties": minimumProperties = try reader.count()
    case "maxProperties": maximumProperties = try reader.count()
    default: return false
    }
    implied.insert(.object)
    return true
  }

  private mutating func readArray(_ reader: KeywordReader) throws(ConstraintError) -> Bool {
    switch reader.key {
    case "items": items = [try reader.schema()]
    case "prefixItems": prefix = try reader.schemas().map { [$0] }
    case "minItems": minimumItems = try reader.count()
    case "maxItems": maximumItems = try reader.count()
    case "uniqueItems": isUnique = try reader.bool()
    default: return false
    }
    implied.insert(.array)
    return true
  }

  private mutating func readString(_ reader: KeywordReader) throws(ConstraintError) -> Bool {
    switch reader.key {
    case "pattern": patterns.append(Pattern(source: try reader.string(), pointer: pointer))
    case "format":
      let name = try reader.string()
      guard let source = StringFormat.patterns[name] else {
        let known = StringFormat.patterns.keys.sorted().joined(separator: ", ")
        throw .unsupportedValue(keyword: "format", pointer: pointer, reason: "one of \(known) expected, \(quoted(name)) found")
      }
      patterns.append(Pattern(source: source, pointer: pointer))
    case "minLength": minimumLength = try reader.count()
    case "maxLength": maximumLength = try reader.count()
    default: return false
    }
    implied.insert(.string)
    return true
  }

  private mutating func readNumber(_ reader: KeywordReader) throws(ConstraintError) -> Bool {
    switch reader.key {
    case "minimum": lower.append(Limit(value: try reader.number(), isExclusive: false))
    case "exclusiveMinimum": lower.append(Limit(value: try reader.number(), isExclusive: true))
    case "maximum": upper.append(Limit(value: try reader.number(), isExclusive: false))
    case "exclusiveMaximum": upper.append(Limit(value: try reader.number(), isExclusive: true))
    case "multipleOf":
      let step = try reader.number()
      guard let whole = step.integer ?? step.places, whole > 0, step.digits > 0 else {
        throw .unsupportedValue(
          keyword: "multipleOf", pointer: pointer, reason: "a whole number above 0, or one of 0.1, 0.01, … expected")
      }
      multiples.append(step)
    default: return false
    }
    implied.formUnion(.number)
    return true
  }

  private func checkLimits() throws(ConstraintError) {
    if let values, values.isEmpty { throw .contradiction(pointer: pointer, reason: "'enum' or 'const' leaves no value") }
    for (name, minimum, maximum) in [
      ("Items", minimumItems, maximumItems), ("Length", minimumLength, maximumLength),
      ("Properties", minimumProperties, maximumProperties),
    ] {
      guard let maximum, minimum > maximum else { continue }
      throw .contradiction(pointer: pointer, reason: "min\(name) \(minimum) is more than max\(name) \(maximum)")
    }
  }

  /// The values that both lists hold.
  static func common(_ one: [JSONValue]?, _ other: [JSONValue]) -> [JSONValue] {
    guard let one else { return other }
    return one.filter { value in other.contains { $0.isSame(as: value) } }
  }
}

extension JSONValue {
  /// Equality of values as JSON Schema has it: 1 and 1.0 are one number, the order of members does not count.
  func isSame(as other: JSONValue) -> Bool {
    switch (self, other) {
    case (.integer(let one), .integer(let two)): return one == two
    case (.integer, .number), (.number, .integer), (.number, .number): return double == other.double
    case (.array(let one), .array(let two)): return one.count == two.count && zip(one, two).allSatisfy { $0.isSame(as: $1) }
    case (.object(let one), .object(let two)):
      return one.count == two.count && one.members.allSatisfy { member in two[member.key].map { $0.isSame(as: member.value) } ?? false }
    case (.string(let one), .string(let two)): return one.utf8.elementsEqual(two.utf8)
    default: return self == other
    }
  }
}
