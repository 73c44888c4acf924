/// Turns the bytes of a file into text, whatever its encoding.
///
/// The rules, in order: a byte order mark decides for UTF-8 or UTF-16; bytes that are valid UTF-8 are UTF-8; anything else is
/// Windows-1252. There is no guessing between the many 8-bit encodings: convert such files to UTF-8 first.
///
/// A file is binary, and has no text, when it holds a NUL outside UTF-16 (or U+0000 in it), or when more than two and more than one in
/// twenty of its bytes are control characters or undefined in Windows-1252.
package enum TextDecoding {
  /// The encoding of a whole file, or nil if it is binary. Reads every byte once.
  package static func encoding(of bytes: Span<UInt8>) -> TextEncoding? {
    if bytes.count >= 2 {
      if bytes[0] == 0xFF && bytes[1] == 0xFE { return isUTF16(bytes, .utf16LittleEndian) ? .utf16LittleEndian : nil }
      if bytes[0] == 0xFE && bytes[1] == 0xFF { return isUTF16(bytes, .utf16BigEndian) ? .utf16BigEndian : nil }
    }
    var survey = ByteSurvey()
    survey.add(bytes)
    return survey.encoding(hasMark: bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF)
  }

  /// The text of a whole file, or nil if it is binary. CRLF and CR become LF.
  package static func decode(_ bytes: Span<UInt8>) -> DecodedText? {
    guard let encoding = encoding(of: bytes) else { return nil }
    return decode(bytes, in: encoding.markLength..<bytes.count, as: encoding)
  }

  /// The text of a whole file, or nil if it is binary. CRLF and CR become LF.
  package static func decode(_ bytes: [UInt8]) -> DecodedText? { decode(bytes.span) }

  /// The text of a part of a file whose encoding is known and whose ends lie between characters.
  static func decode(_ bytes: Span<UInt8>, in range: Range<Int>, as encoding: TextEncoding) -> DecodedText {
    var output = UTF8Output(capacity: range.count)
    switch encoding {
    case .utf8, .utf8WithMark:
      for index in range { output.append(byte: bytes[index]) }
    case .windows1252:
      for index in range { output.append(scalar: Windows1252.scalar(of: bytes[index])) }
    case .utf16LittleEndian, .utf16BigEndian:
      appendUTF16(bytes, in: range, as: encoding, to: &output)
    }
    return DecodedText(text: String(decoding: output.bytes, as: UTF8.self), encoding: encoding, replacements: output.replacements)
  }
}

/// The findings of one pass over the bytes of a file; the file may come in pieces.
struct ByteSurvey {
  private var count = 0
  /// True where there is a zero byte.
  private var hasNUL = false
  /// Bytes below space that no text uses (all but BS, TAB, LF, VT, FF, CR and ESC), and DEL.
  private var controls = 0
  /// The five bytes that Windows-1252 leaves undefined.
  private var undefined = 0
  /// True where all of it is well-formed UTF-8: shortest forms, no surrogates, nothing past U+10FFFF.
  private var isUTF8 = true
  /// Continuation bytes still due.
  private var pending = 0
  /// The bounds of the next one.
  private var (lowest, highest): (UInt8, UInt8) = (0x80, 0xBF)

  /// The encoding of all that was added, which is not UTF-16, or nil if it is binary.
  func encoding(hasMark: Bool) -> TextEncoding? {
    let isUTF8 = isUTF8 && pending == 0
    let odd = isUTF8 ? controls : controls + undefined
    guard !hasNUL, odd <= max(2, count / 20) else { return nil }
    return isUTF8 ? (hasMark ? .utf8WithMark : .utf8) : .windows1252
  }

  mutating func add(_ bytes: Span<UInt8>) {
    count += bytes.count
    for index in bytes.indices {
      let byte = bytes[index]
      if byte >= 0x20 && byte < 0x7F && pending == 0 { continue }
      if byte < 0x20 || byte == 0x7F {
        if byte == 0 { hasNUL = true }
        if !(0x08...0x0D ~= byte || byte == 0x1B) { controls += 1 }
      } else if byte >= 0x80, Windows1252.isUndefined(byte) {
        undefined += 1
      }
      if isUTF8 { follow(byte) }
    }
  }

  /// One step of the check for UTF-8.
  private mutating func follow(_ byte: UInt8) {
    if pending > 0 {
      if byte < lowest || byte > highest { isUTF8 = false }
      pending -= 1
      (lowest, highest) = (0x80, 0xBF)
    } else if byte >= 0x80 {
      switch byte {
      case 0xC2...0xDF: pending = 1
      case 0xE0...0xEF: pending = 2
      case 0xF0...0xF4: pending = 3
      default: isUTF8 = false
      }
      switch byte {
      case 0xE0: lowest = 0xA0  // shorter forms exist below
      case 0xED: highest = 0x9F  // surrogates above
      case 0xF0: lowest = 0x90
      case 0xF4: highest = 0x8F  // past U+10FFFF above
      default: break
      }
    }
  }
}
