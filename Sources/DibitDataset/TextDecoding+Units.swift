extension TextDecoding {
  /// Checks that bytes that start with a UTF-16 mark are text: no U+0000, and no more than two and one in a hundred broken surrogates.
  static func isUTF16(_ bytes: Span<UInt8>, _ encoding: TextEncoding) -> Bool {
    var reader = UTF16Units(range: 2..<bytes.count, isLittleEndian: encoding == .utf16LittleEndian)
    var broken = 0
    while let scalar = reader.next(in: bytes) {
      if scalar == 0 { return false }
      if scalar == UTF8Output.noCharacter { broken += 1 }
    }
    return broken <= max(2, bytes.count / 200)
  }

  /// Appends UTF-16 units; a lone surrogate or a last odd byte becomes U+FFFD.
  static func appendUTF16(_ bytes: Span<UInt8>, in range: Range<Int>, as encoding: TextEncoding, to output: inout UTF8Output) {
    var reader = UTF16Units(range: range, isLittleEndian: encoding == .utf16LittleEndian)
    while let scalar = reader.next(in: bytes) { output.append(scalar: scalar) }
  }
}

/// Walks over UTF-16 code units and joins surrogate pairs.
struct UTF16Units {
  private var position: Int
  private let end: Int
  private let isLittleEndian: Bool

  init(range: Range<Int>, isLittleEndian: Bool) {
    (position, end) = (range.lowerBound, range.upperBound)
    self.isLittleEndian = isLittleEndian
  }

  /// The code unit whose two bytes start at `index`.
  static func unit(_ bytes: Span<UInt8>, at index: Int, isLittleEndian: Bool) -> UInt32 {
    let (first, second) = (UInt32(bytes[index]), UInt32(bytes[index + 1]))
    return isLittleEndian ? second << 8 | first : first << 8 | second
  }

  /// The next scalar, `UTF8Output.noCharacter` where the units make none, nil at the end.
  mutating func next(in bytes: Span<UInt8>) -> UInt32? {
    guard position < end else { return nil }
    guard position + 1 < end else {
      position = end
      return UTF8Output.noCharacter
    }
    let unit = Self.unit(bytes, at: position, isLittleEndian: isLittleEndian)
    position += 2
    guard 0xD800...0xDFFF ~= unit else { return unit }
    guard unit < 0xDC00, position + 1 < end else { return UTF8Output.noCharacter }
    let low = Self.unit(bytes, at: position, isLittleEndian: isLittleEndian)
    guard 0xDC00...0xDFFF ~= low else { return UTF8Output.noCharacter }
    position += 2
    return 0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00)
  }
}

/// The Windows-1252 code page: Latin-1 but for 0x80–0x9F.
enum Windows1252 {
  /// Returns true for a byte that the code page leaves without a character.
  static func isUndefined(_ byte: UInt8) -> Bool {
    byte == 0x81 || byte == 0x8D || byte == 0x8F || byte == 0x90 || byte == 0x9D
  }

  /// The scalar of a byte, `UTF8Output.noCharacter` where the code page has none.
  static func scalar(of byte: UInt8) -> UInt32 {
    guard 0x80...0x9F ~= byte else { return UInt32(byte) }
    return isUndefined(byte) ? UTF8Output.noCharacter : upper[Int(byte) - 0x80]
  }

  /// 0x80–0x9F; zero where undefined.
  private static let upper: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0,
    0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
  ]
}

/// Collects UTF-8 bytes; every CRLF and CR becomes one LF.
struct UTF8Output {
  /// Stands for input that makes no character; written as U+FFFD and counted.
  static let noCharacter: UInt32 = .max

  private(set) var bytes: [UInt8] = []
  /// The number of inputs that made no character.
  private(set) var replacements = 0
  private var followsReturn = false

  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  /// Hands over what was collected; a CR at its end is remembered.
  mutating func take() -> [UInt8] {
    let taken = bytes
    bytes = []
    bytes.reserveCapacity(taken.count)
    return taken
  }

  /// Appends a byte of well-formed UTF-8.
  mutating func append(byte: UInt8) {
    if byte == 0x0D {
      bytes.append(0x0A)
    } else if !(byte == 0x0A && followsReturn) {
      bytes.append(byte)
    }
    followsReturn = byte == 0x0D
  }

  /// Appends a scalar value that is no surrogate, or `noCharacter`.
  mutating func append(scalar: UInt32) {
    if scalar < 0x80 { return append(byte: UInt8(truncatingIfNeeded: scalar)) }
    followsReturn = false
    guard scalar != Self.noCharacter else {
      replacements += 1
      bytes.append(contentsOf: [0xEF, 0xBF, 0xBD])
      return
    }
    if scalar < 0x800 {
      bytes.append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
    } else {
      if scalar < 0x1_0000 {
        bytes.append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
      } else {
        bytes.append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
        bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
      }
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
    }
    bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
  }
}
