internal import DibitJSON

/// Reads the value of one keyword.
struct KeywordReader {
  let owner: Located
  let key: String
  let value: JSONValue

  /// The location of the keyword's value.
  var pointer: String { owner.member(key, value).pointer }

  private static let countLimit = 1_000_000_000
  private static let schemaLimit = 4096
  private static let listLimit = 100_000

  private func wrong(_ expected: String) -> ConstraintError { wrong(expected, found: Self.described(value)) }

  /// The fault of an array's element.
  private func wrong(_ expected: String, element: JSONValue) -> ConstraintError {
    wrong(expected, found: "an array with \(Self.described(element))")
  }

  private func wrong(_ expected: String, found: String) -> ConstraintError {
    .wrongType(keyword: key, pointer: owner.pointer, expected: expected, found: found)
  }

  /// The value as it stands in the schema, or the kind of what holds others.
  private static func described(_ value: JSONValue) -> String {
    switch value {
    case .array(let array): array.isEmpty ? "an empty array" : value.kind
    case .object: value.kind
    default: shown(value.serialized())
    }
  }

  func bool() throws(ConstraintError) -> Bool {
    guard let bool = value.bool else { throw wrong("true or false") }
    return bool
  }

  func string() throws(ConstraintError) -> String {
    guard let string = value.string else { throw wrong("a string") }
    return string
  }

  func array() throws(ConstraintError) -> [JSONValue] {
    guard let array = value.array else { throw wrong("an array") }
    guard array.count <= Self.listLimit else { throw .tooLarge(what: "elements in \(key)", limit: Self.listLimit, pointer: owner.pointer) }
    return array
  }

  func object() throws(ConstraintError) -> JSONObject {
    guard let object = value.object else { throw wrong("an object") }
    guard object.count <= Self.schemaLimit else {
      throw .tooLarge(what: "members in \(key)", limit: Self.schemaLimit, pointer: owner.pointer)
    }
    return object
  }

  func number() throws(ConstraintError) -> Decimal {
    guard let number = Decimal(value) else { throw wrong("a number") }
    return number
  }

  func count() throws(ConstraintError) -> Int {
    guard let count = value.int, count >= 0, count <= Self.countLimit else { throw wrong("a whole number from 0 to \(Self.countLimit)") }
    return count
  }

  func strings() throws(ConstraintError) -> [String] {
    var strings: [String] = []
    var seen = Set<[UInt8]>()
    for element in try array() {
      guard let string = element.string else { throw wrong("an array of strings", element: element) }
      if seen.insert(Array(string.utf8)).inserted { strings.append(string) }
    }
    guard strings.count <= Self.schemaLimit else {
      throw .tooLarge(what: "names in \(key)", limit: Self.schemaLimit, pointer: owner.pointer)
    }
    return strings
  }

  func types() throws(ConstraintError) -> TypeSet {
    let expected = "one of \(TypeSet.names.joined(separator: ", ")), or an array of them"
    if let name = value.string {
      guard let type = TypeSet.named(name) else { throw wrong(expected) }
      return type
    }
    var types: TypeSet = []
    for element in value.array ?? [] {
      guard let type = element.string.flatMap(TypeSet.named) else { throw wrong(expected, element: element) }
      types.formUnion(type)
    }
    guard !types.isEmpty else { throw wrong(expected) }
    return types
  }

  func schema() throws(ConstraintError) -> Located {
    guard value.object != nil || value.bool != nil else { throw wrong("a schema") }
    return owner.member(key, value)
  }

  func schemas() throws(ConstraintError) -> [Located] {
    let elements = try array()
    guard !elements.isEmpty else { throw .contradiction(pointer: owner.pointer, reason: "\(quoted(key)) is empty") }
    guard elements.count <= Self.schemaLimit else {
      throw .tooLarge(what: "schemas in \(key)", limit: Self.schemaLimit, pointer: owner.pointer)
    }
    for element in elements where element.object == nil && element.bool == nil { throw wrong("an array of schemas", element: element) }
    return elements.enumerated().map { owner.element(key, $0, $1) }
  }
}
