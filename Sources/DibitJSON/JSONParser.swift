extension JSONValue {
  /// Parses one RFC 8259 document: strict syntax, unique keys, at most `depthLimit` levels of nesting.
  ///
  /// - Throws: ``JSONError`` with the byte offset of the first fault.
  /// - Complexity: O(bytes) time and memory.
  public init(parsing text: some Collection<UInt8>, depthLimit: Int = 128) throws(JSONError) {
    var parser = JSONParser(bytes: Array(text), depthLimit: depthLimit)
    self = try parser.document()
  }

  /// Parses the UTF-8 of `text`.
  public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
    try self.init(parsing: text.utf8, depthLimit: depthLimit)
  }
}

/// Recursive descent over bytes; recursion is bounded by `depthLimit`.
struct JSONParser {
  let bytes: [UInt8]
  let depthLimit: Int
  var offset = 0
  var depth = 0

  init(bytes: [UInt8], depthLimit: Int) {
    self.bytes = bytes
    self.depthLimit = depthLimit
  }

  mutating func document() throws(JSONError) -> JSONValue {
    let value = try self.value()
    skipSpace()
    guard offset == bytes.count else { throw unexpected("the end of the document") }
    return value
  }

  private mutating func value() throws(JSONError) -> JSONValue {
    skipSpace()
    switch peek {
    case UInt8(ascii: "{"): return try nested { (p: inout JSONParser) throws(JSONError) in .object(try p.object()) }
    case UInt8(ascii: "["): return try nested { (p: inout JSONParser) throws(JSONError) in .array(try p.array()) }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func nested(_ body: (inout JSONParser) throws(JSONError) -> JSONValue) throws(JSONError) -> JSONValue {
    guard depth < depthLimit else { throw .nestedTooDeeply(offset: offset, limit: depthLimit) }
    depth += 1
    defer { depth -= 1 }
    offset += 1
    return try body(&self)
  }

  private mutating func object() throws(JSONError) -> JSONObject {
    var members: [(key: String, value: JSONValue)] = []
    var seen = SeenKeys()
    skipSpace()
    if accept("}") { return JSONObject() }
    repeat {
      skipSpace()
      let keyOffset = offset
      guard peek == UInt8(ascii: "\"") else { throw unexpected("a key in quotes") }
      let key = try string()
      guard seen.insert(key, behind: members) else { throw .duplicateKey(key, offset: keyOffset) }
      skipSpace()
      guard accept(":") else { throw unexpected("':'") }
      members.append((key: key, value: try value()))
      skipSpace()
    } while accept(",")
    guard accept("}") else { throw unexpected("',' or '}'") }
    return JSONObject(members)
  }

  private mutating func array() throws(JSONError) -> [JSONValue] {
    var elements: [JSONValue] = []
    skipSpace()
    if accept("]") { return elements }
    repeat {
      elements.append(try value())
      skipSpace()
    } while accept(",")
    guard accept("]") else { throw unexpected("',' or ']'") }
    return elements
  }

  private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    let text = word.description
    guard bytes[offset...].starts(with: text.utf8) else { throw unexpected("'\(text)'") }
    offset += text.utf8.count
    return value
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = offset
    var isInteger = true
    _ = accept("-")
    let firstDigit = offset
    guard digits() > 0 else { throw unexpected("a value") }
    if bytes[firstDigit] == UInt8(ascii: "0"), offset - firstDigit > 1 {
      throw .unexpected(offset: firstDigit, expected: "a number without leading zeros", found: "'0'")
    }
    if accept(".") {
      isInteger = false
      guard digits() > 0 else { throw unexpected("a digit") }
    }
    if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
      isInteger = false
      offset += 1
      if !accept("+") { _ = accept("-") }
      guard digits() > 0 else { throw unexpected("a digit") }
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw .unexpected(offset: start, expected: "a number that a double can hold", found: "'\(text.prefix(40))'")
    }
    return .number(value)
  }

  private mutating func digits() -> Int {
    let start = offset
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
    return offset - start
  }

  private mutating func string() throws(JSONError) -> String {
    let opening = offset
    offset += 1
    // Most strings are their own bytes.
    while let byte = peek, byte >= 0x20, byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "\"") { offset += 1 }
    var text = Array(bytes[opening + 1..<offset])
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        guard let string = String(validating: text, as: UTF8.self) else { throw .invalidUTF8(offset: opening) }
        return string
      case UInt8(ascii: "\\"):
        text.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20:
        throw unexpected("an escaped control character")
      default:
        text.append(byte)
        offset += 1
      }
    }
    throw unexpected("'\"'")
  }

  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
    offset += 1
    guard let byte = peek else { throw unexpected("an escape") }
    let plain: Unicode.Scalar? =
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(byte)
      case UInt8(ascii: "b"): "\u{8}"
      case UInt8(ascii: "f"): "\u{c}"
      case UInt8(ascii: "n"): "\n"
      case UInt8(ascii: "r"): "\r"
      case UInt8(ascii: "t"): "\t"
      case UInt8(ascii: "u"): nil
      default: throw unexpected("an escape")
      }
    offset += 1
    if let plain { return plain }
    let start = offset
    let high = try hexUnit()
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard UTF16.isLeadSurrogate(high), accept("\\"), accept("u") else {
      throw .unexpected(offset: start, expected: "a surrogate pair", found: "a lone surrogate")
    }
    let low = try hexUnit()
    guard UTF16.isTrailSurrogate(low) else {
      throw .unexpected(offset: start, expected: "a surrogate pair", found: "a lone surrogate")
    }
    return UTF16.decode(UTF16.EncodedScalar([high, low]))
  }

  private mutating func hexUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw unexpected("a hexadecimal digit") }
      unit = unit << 4 | UInt16(digit)
      offset += 1
    }
    return unit
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  private func unexpected(_ expected: String) -> JSONError {
    guard let byte = peek else { return .unexpected(offset: offset, expected: expected, found: "the end of the text") }
    let found = (0x21...0x7E).contains(byte) ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16, uppercase: true)
    return .unexpected(offset: offset, expected: expected, found: found)
  }
}

/// The keys of an object so far, by their bytes. A few are compared with each other; of many, hashes are kept.
private struct SeenKeys {
  /// The hash of a key to the place of the first key that has it.
  private var places: [Int: Int] = [:]

  private static let few = 8

  /// Whether `key` differs from those of `members`, behind which it comes.
  mutating func insert(_ key: String, behind members: [(key: String, value: JSONValue)]) -> Bool {
    if members.count < Self.few { return !members.contains { Self.isSame($0.key, key) } }
    if members.count == Self.few { for (place, member) in members.enumerated() { places[Self.hash(member.key)] = place } }
    let hash = Self.hash(key)
    guard let place = places[hash] else {
      places[hash] = members.count
      return true
    }
    // Seeds are random, so that different keys with one hash are too rare to be made on purpose.
    return !Self.isSame(members[place].key, key) && !members.contains { Self.isSame($0.key, key) }
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
