internal import DibitJSON

/// A value of the tokenizer file with its path, so that errors can name it.
struct TokenizerField {
  let value: JSONValue
  let path: String

  /// The member called `key`, or nil when it is missing or null.
  func optional(_ key: String) throws(TokenizerError) -> TokenizerField? {
    guard let object = value.object else { throw wrongType("an object") }
    guard let member = object[key], !member.isNull else { return nil }
    return TokenizerField(value: member, path: path.isEmpty ? key : "\(path).\(key)")
  }

  func required(_ key: String) throws(TokenizerError) -> TokenizerField {
    guard let field = try optional(key) else { throw .missing(path: path.isEmpty ? key : "\(path).\(key)") }
    return field
  }

  func string() throws(TokenizerError) -> String {
    guard let string = value.string else { throw wrongType("a string") }
    return string
  }

  func integer() throws(TokenizerError) -> Int {
    guard let int = value.int else { throw wrongType("an integer") }
    return int
  }

  func bool() throws(TokenizerError) -> Bool {
    guard let bool = value.bool else { throw wrongType("a boolean") }
    return bool
  }

  func bool(_ key: String, default fallback: Bool) throws(TokenizerError) -> Bool {
    try optional(key)?.bool() ?? fallback
  }

  func elements() throws(TokenizerError) -> [TokenizerField] {
    guard let array = value.array else { throw wrongType("an array") }
    return array.enumerated().map { TokenizerField(value: $1, path: "\(path)[\($0)]") }
  }

  func members() throws(TokenizerError) -> [(key: String, value: JSONValue)] {
    guard let object = value.object else { throw wrongType("an object") }
    return object.members
  }

  /// The value of `type`.
  func type() throws(TokenizerError) -> String { try required("type").string() }

  func unsupportedType() throws(TokenizerError) -> TokenizerError { .unsupportedType(path: path, type: try type()) }

  var unsupportedValue: TokenizerError { .unsupportedValue(path: path, value: String(value.serialized().prefix(200))) }

  /// The literal text of a pattern: `{"String": "▁"}`.
  func literalPattern() throws(TokenizerError) -> [UInt8] {
    let pattern = try required("pattern")
    guard let text = try pattern.optional("String") else { throw pattern.unsupportedValue }
    guard try !text.string().isEmpty else { throw text.unsupportedValue }
    return Array(try text.string().utf8)
  }

  private func wrongType(_ expected: String) -> TokenizerError {
    .wrongType(path: path.isEmpty ? "the document" : path, expected: expected, found: value.kind)
  }
}
