extension JSONValue {
  /// Parses one RFC 8259 document: strict syntax, unique keys, at most `depthLimit` levels of nesting.
  ///
  /// - Throws: ``JSONError`` with the byte offset of the first fault.
  /// - Complexity: O(bytes) time and memory.
  package init(parsing text: some Collection<UInt8>, depthLimit: Int = 128) throws(JSONError) {
    var reader = JSONReader(Array(text), depthLimit: depthLimit)
    self = try reader.value()
    try reader.expectEnd()
  }

  /// Parses the UTF-8 of `text`.
  package init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
    try self.init(parsing: text.utf8, depthLimit: depthLimit)
  }
}

extension JSONReader {
  /// The value that comes next, with all that it holds. Keys of objects are unique.
  package mutating func value() throws(JSONError) -> JSONValue {
    skipSpace()
    switch peek {
    case UInt8(ascii: "{"): return try nested { (r: inout JSONReader) throws(JSONError) in .object(try r.object()) }
    case UInt8(ascii: "["): return try nested { (r: inout JSONReader) throws(JSONError) in .array(try r.array()) }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func nested(_ body: (inout JSONReader) throws(JSONError) -> JSONValue) throws(JSONError) -> JSONValue {
    guard depth < depthLimit else { throw .nestedTooDeeply(offset: offset, limit: depthLimit) }
    depth += 1
    defer { depth -= 1 }
    offset += 1
    return try body(&self)
  }

  private mutating func object() throws(JSONError) -> JSONObject {
    var members: [(key: String, value: JSONValue)] = []
    var seen = SeenKeys()
    if accept("}") { return JSONObject() }
    repeat {
      skipSpace()
      let keyOffset = offset
      guard peek == UInt8(ascii: "\"") else { throw unexpected("a key in quotes") }
      let key = try string()
      guard seen.insert(key, behind: members) else { throw .duplicateKey(key, offset: keyOffset) }
      try expect(":")
      members.append((key: key, value: try value()))
    } while accept(",")
    guard accept("}") else { throw unexpected("',' or '}'") }
    return JSONObject(members)
  }

  private mutating func array() throws(JSONError) -> [JSONValue] {
    var elements: [JSONValue] = []
    if accept("]") { return elements }
    repeat { elements.append(try value()) } while accept(",")
    guard accept("]") else { throw unexpected("',' or ']'") }
    return elements
  }

  private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    let text = word.description
    // Other words are no values, whatever they begin with.
    guard bytes[offset...].starts(with: text.utf8) else { throw unexpected("a value") }
    offset += text.utf8.count
    return value
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = offset
    var isInteger = true
    _ = take("-")
    let firstDigit = offset
    guard skipDigits() > 0 else { throw unexpected("a value") }
    if bytes[firstDigit] == UInt8(ascii: "0"), offset - firstDigit > 1 {
      throw .unexpected(offset: firstDigit, expected: "a number without leading zeros", found: "'0'")
    }
    if take(".") {
      isInteger = false
      guard skipDigits() > 0 else { throw unexpected("a digit") }
    }
    if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
      isInteger = false
      offset += 1
      if !take("+") { _ = take("-") }
      guard skipDigits() > 0 else { throw unexpected("a digit") }
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw .unexpected(offset: start, expected: "a number that a double can hold", found: "'\(text.prefix(40))'")
    }
    return .number(value)
  }

  private mutating func skipDigits() -> Int {
    let start = offset
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
    return offset - start
  }

  private mutating func string() throws(JSONError) -> String {
    let opening = offset
    offset += 1
    // Most strings are their own bytes.
    let plain = plainCharacters()
    let string: String?
    if take("\"") {
      string = String(validating: bytes[plain], as: UTF8.self)
    } else {
      var text = Array(bytes[plain])
      try characters(into: &text)
      string = String(validating: text, as: UTF8.self)
    }
    guard let string else { throw .invalidUTF8(offset: opening) }
    return string
  }
}

/// The keys of an object so far, by their bytes. A few are compared with each other; of many, hashes are kept.
private struct SeenKeys {
  /// The hash of a key to the index of the first key that has it.
  private var indices: [Int: Int] = [:]

  private static let comparedLimit = 8

  /// Takes in `key` and returns whether it differs from those of `members`, behind which it comes.
  mutating func insert(_ key: String, behind members: [(key: String, value: JSONValue)]) -> Bool {
    if members.count < Self.comparedLimit { return !members.contains { Self.isSame($0.key, key) } }
    if members.count == Self.comparedLimit { for (index, member) in members.enumerated() { indices[Self.hash(member.key)] = index } }
    let hash = Self.hash(key)
    guard let index = indices[hash] else {
      indices[hash] = members.count
      return true
    }
    // Seeds are random, so that different keys with one hash are too rare to be made on purpose.
    return !Self.isSame(members[index].key, key) && !members.contains { Self.isSame($0.key, key) }
  }

  private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  private static func hash(_ key: String) -> Int {
    var hasher = Hasher()
    var (word, count) = (UInt64(0), 0)
    for byte in key.utf8 {
      word = word << 8 | UInt64(byte)
      count += 1
      if count % 8 == 0 { hasher.combine(word) }
    }
    hasher.combine(word)
    hasher.combine(count)
    return hasher.finalize()
  }
}
