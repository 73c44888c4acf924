/// Reads a JSON document from front to back: piece by piece where a tree of values would be too large, or as values.
///
/// Strict RFC 8259. Every method but ``accept(_:)`` throws a ``JSONError`` with the byte offset of the first fault, and is of no use
/// after that. What is read piece by piece is not checked for repeated keys, and strings only for their syntax.
package struct JSONReader {
  let bytes: [UInt8]
  let depthLimit: Int
  /// The offset at which the next byte is read.
  package internal(set) var offset: Int
  var depth = 0

  /// The number of bytes that are not read yet.
  package var remaining: Int { bytes.count - offset }

  /// A reader of `bytes` from `offset` on; values may be nested `depthLimit` levels deep.
  package init(_ bytes: [UInt8], from offset: Int = 0, depthLimit: Int = 128) {
    self.bytes = bytes
    self.offset = offset
    self.depthLimit = depthLimit
  }

  /// Skips white space and `character`, if that comes next: one of the six that structure a document.
  package mutating func accept(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    return take(character)
  }

  /// Skips white space and `character`, which must come next.
  package mutating func expect(_ character: Unicode.Scalar) throws(JSONError) {
    guard accept(character) else { throw unexpected("'\(character)'") }
  }

  /// The end of the document must come next.
  package mutating func expectEnd() throws(JSONError) {
    skipSpace()
    guard offset == bytes.count else { throw unexpected("the end of the document") }
  }

  /// Appends the UTF-8 of the string that comes next, as it is: where the document is not valid UTF-8, neither is this.
  package mutating func string(into text: inout [UInt8]) throws(JSONError) {
    guard accept("\"") else { throw unexpected("'\"'") }
    try characters(into: &text)
  }

  /// The natural number that comes next; no more than nine digits, and no other spelling of it such as `1.0`, are accepted.
  package mutating func naturalNumber() throws(JSONError) -> Int {
    skipSpace()
    let first = offset
    var number = 0
    while offset < bytes.count, bytes[offset] &- 0x30 < 10, offset - first < 9 {
      number = number * 10 + Int(bytes[offset] - 0x30)
      offset += 1
    }
    guard offset > first, bytes[first] != 0x30 || offset == first + 1 else { throw unexpected("a natural number") }
    return number
  }

  // MARK: Bytes

  var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  /// Skips `character` if that is the next byte.
  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard offset < bytes.count, UInt32(bytes[offset]) == character.value else { return false }
    offset += 1
    return true
  }

  mutating func skipSpace() {
    var end = offset
    while end < bytes.count, bytes[end] <= 0x20, Self.isSpace(bytes[end]) { end += 1 }
    offset = end
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  /// Skips the bytes of a string that stand for themselves, and returns their range.
  mutating func plainCharacters() -> Range<Int> {
    let start = offset
    var end = offset
    while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") { end += 1 }
    offset = end
    return start..<end
  }

  /// Appends the rest of a string, its closing quote excluded.
  mutating func characters(into text: inout [UInt8]) throws(JSONError) {
    while true {
      for index in plainCharacters() { text.append(bytes[index]) }
      if take("\"") { return }
      guard let byte = peek else { throw unexpected("'\"'") }
      guard byte == UInt8(ascii: "\\") else { throw unexpected("an escaped control character") }
      text.append(contentsOf: String(try escape()).utf8)
    }
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
    guard UTF16.isLeadSurrogate(high), take("\\"), take("u") else {
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

  /// The error that something else comes next.
  package func unexpected(_ expected: String) -> JSONError {
    guard let byte = peek else { return .unexpected(offset: offset, expected: expected, found: "the end of the text") }
    let found = (0x21...0x7E).contains(byte) ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16, uppercase: true)
    return .unexpected(offset: offset, expected: expected, found: found)
  }
}
