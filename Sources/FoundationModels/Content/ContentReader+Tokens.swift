internal import DibitJSON

// MARK: Strings

extension ContentReader {
  mutating func readString(_ bytes: [UInt8], isKey: Bool) throws(JSONError) {
    var end = offset
    while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") { end += 1 }
    text.append(contentsOf: bytes[offset..<end])
    offset = end
    guard end < bytes.count else { return }
    switch bytes[end] {
    case UInt8(ascii: "\\"): state = .escape(isKey: isKey)
    case UInt8(ascii: "\""): try endString(isKey: isKey)
    default: throw unexpected(bytes[end], "an escaped control character")
    }
    offset += 1
  }

  private mutating func endString(isKey: Bool) throws(JSONError) {
    let string = String(decoding: text, as: UTF8.self)
    guard isKey, let last = stack.indices.last else { return finish(GeneratedContent(kind: .string(string))) }
    guard stack[last].properties[string] == nil else { throw .duplicateKey(string, offset: tokenOffset) }
    stack[last].key = string
    text.removeAll(keepingCapacity: true)
    state = .colon
  }

  mutating func readEscape(_ byte: UInt8, isKey: Bool) throws(JSONError) {
    let scalar: UInt8
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scalar = byte
    case UInt8(ascii: "b"): scalar = 0x08
    case UInt8(ascii: "f"): scalar = 0x0C
    case UInt8(ascii: "n"): scalar = 0x0A
    case UInt8(ascii: "r"): scalar = 0x0D
    case UInt8(ascii: "t"): scalar = 0x09
    case UInt8(ascii: "u"):
      state = .unit(isKey: isKey, digits: 0, value: 0, high: nil)
      offset += 1
      return
    default: throw unexpected(byte, "an escape")
    }
    text.append(scalar)
    state = .string(isKey: isKey)
    offset += 1
  }

  mutating func readUnit(_ byte: UInt8) throws(JSONError) {
    if case .lowEscape(let isKey, let high, let hasBackslash) = state {
      guard byte == UInt8(ascii: hasBackslash ? "u" : "\\") else { throw loneSurrogate }
      state = hasBackslash ? .unit(isKey: isKey, digits: 0, value: 0, high: high) : .lowEscape(isKey: isKey, high: high, hasBackslash: true)
      offset += 1
      return
    }
    guard case .unit(let isKey, let digits, let value, let high) = state else { return }
    guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw unexpected(byte, "a hexadecimal digit") }
    let unit = value << 4 | UInt16(digit)
    offset += 1
    guard digits == 3 else {
      state = .unit(isKey: isKey, digits: digits + 1, value: unit, high: high)
      return
    }
    if let high {
      guard UTF16.isTrailSurrogate(unit) else { throw loneSurrogate }
      let scalar = UTF16.decode(UTF16.EncodedScalar([high, unit]))
      text.append(contentsOf: String(scalar).utf8)
    } else if UTF16.isLeadSurrogate(unit) {
      state = .lowEscape(isKey: isKey, high: unit, hasBackslash: false)
      return
    } else {
      guard let scalar = Unicode.Scalar(unit) else { throw loneSurrogate }
      text.append(contentsOf: String(scalar).utf8)
    }
    state = .string(isKey: isKey)
  }

  private var loneSurrogate: JSONError { .unexpected(offset: offset, expected: "a surrogate pair", found: "a lone surrogate") }
}

// MARK: Numbers and words

extension ContentReader {
  static func isWhole(_ part: NumberPart) -> Bool {
    part == .zero || part == .digits || part == .fraction || part == .exponentDigits
  }

  mutating func readNumber(_ byte: UInt8, _ part: NumberPart) throws(JSONError) {
    let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    let isExponent = byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    let next: NumberPart?
    switch part {
    case .minus: next = isDigit ? (byte == UInt8(ascii: "0") ? .zero : .digits) : nil
    case .zero, .digits:
      if isDigit, part == .zero {
        throw .unexpected(offset: offset - 1, expected: "a number without leading zeros", found: "'0'")
      }
      next = isDigit ? .digits : byte == UInt8(ascii: ".") ? .point : isExponent ? .exponent : nil
    case .point: next = isDigit ? .fraction : nil
    case .fraction: next = isDigit ? .fraction : isExponent ? .exponent : nil
    case .exponent:
      next = isDigit ? .exponentDigits : byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") ? .exponentSign : nil
    case .exponentSign, .exponentDigits: next = isDigit ? .exponentDigits : nil
    }
    if let next {
      text.append(byte)
      state = .number(next)
      offset += 1
    } else {
      guard Self.isWhole(part) else { throw unexpected(byte, part == .minus ? "a value" : "a digit") }
      // The byte belongs to what follows the number.
      finish(try number())
    }
  }

  func number() throws(JSONError) -> GeneratedContent {
    let literal = String(decoding: text, as: UTF8.self)
    guard let content = GeneratedContent(number: literal) else {
      throw .unexpected(offset: tokenOffset, expected: "a number that a double can hold", found: "'\(literal.prefix(40))'")
    }
    return content
  }

  mutating func readLiteral(_ byte: UInt8, _ literal: Literal, _ matched: Int) throws(JSONError) {
    let (word, kind): (String, GeneratedContent.Kind) =
      switch literal {
      case .null: ("null", .null)
      case .yes: ("true", .bool(true))
      case .no: ("false", .bool(false))
      }
    guard word.utf8.dropFirst(matched).first == byte else {
      throw .unexpected(offset: tokenOffset, expected: "a value", found: "'\(word.prefix(1))'")
    }
    offset += 1
    if matched + 1 == word.utf8.count {
      finish(GeneratedContent(kind: kind))
    } else {
      state = .literal(literal, matched: matched + 1)
    }
  }
}
