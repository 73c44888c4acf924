/// The kinds of scalars that split patterns ask for, in Unicode 16 whatever the Swift runtime's version: the same text must give the same
/// ids everywhere, and Hugging Face's engine is of that version.
enum ScalarKind: UInt8 {
  /// `\p{Lu}` and `\p{Lt}`.
  case upper
  /// `\p{Ll}`.
  case lower
  /// `\p{Lm}` and `\p{Lo}`.
  case letter
  /// `\p{M}`.
  case mark
  /// `\p{N}`.
  case number
  /// Carriage return and line feed.
  case newline
  /// The rest of `\s`.
  case space
  case other

  /// `\p{L}`.
  var isLetter: Bool { rawValue <= Self.letter.rawValue }
  /// `\s`.
  var isSpace: Bool { self == .newline || self == .space }
  /// `[^\s\p{L}\p{N}]`.
  var isSymbol: Bool { self == .other || self == .mark }

  /// Returns true for a scalar that Unicode 16 does not have yet; U+088F is the first of those.
  static func isNew(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x88F, let age = scalar.properties.age else { return false }
    return age.major > 16
  }

  init(ascii byte: UInt8) {
    switch byte {
    case 0x61...0x7A: self = .lower
    case 0x41...0x5A: self = .upper
    case 0x20, 0x09, 0x0B, 0x0C: self = .space
    case 0x30...0x39: self = .number
    case 0x0A, 0x0D: self = .newline
    default: self = .other
    }
  }

  init(_ scalar: Unicode.Scalar) {
    if scalar.value < 0x80 {
      self.init(ascii: UInt8(scalar.value))
      return
    }
    if Self.isNew(scalar) {
      self = .other
      return
    }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .titlecaseLetter: self = .upper
    case .lowercaseLetter: self = .lower
    case .modifierLetter, .otherLetter: self = scalar.value == 0x295 ? .lower : .letter  // U+0295 changed in Unicode 17.
    case .nonspacingMark, .spacingMark, .enclosingMark: self = .mark
    case .decimalNumber, .letterNumber, .otherNumber: self = .number
    case .spaceSeparator, .lineSeparator, .paragraphSeparator: self = .space
    default: self = scalar.value == 0x85 ? .space : .other
    }
  }
}

/// Reads the scalars of `bytes[..<end]`, which are valid UTF-8, by their offsets.
struct ScalarScanner {
  let bytes: [UInt8]
  /// The start of the text, for anchors.
  var start = 0
  let end: Int

  init(bytes: [UInt8], start: Int = 0, end: Int) {
    self.bytes = bytes
    self.start = start
    self.end = end
  }

  /// The kind of the scalar at `index` and the offset after it.
  func step(_ index: Int) -> (kind: ScalarKind, next: Int) {
    let byte = bytes[index]
    if byte < 0x80 { return (ScalarKind(ascii: byte), index + 1) }
    let (scalar, next) = Self.scalar(in: bytes, at: index)
    return (ScalarKind(scalar), next)
  }

  /// The end of the run from `index` of scalars that `belongs` accepts.
  func run(from index: Int, limit: Int = .max, _ belongs: (ScalarKind) -> Bool) -> Int {
    var index = index
    var count = 0
    while index < end, count < limit {
      let (kind, next) = step(index)
      guard belongs(kind) else { break }
      index = next
      count += 1
    }
    return index
  }

  /// The scalar at `index` of valid UTF-8, and the offset after it.
  static func scalar(in bytes: [UInt8], at index: Int) -> (scalar: Unicode.Scalar, next: Int) {
    let first = bytes[index]
    guard first >= 0xC0 else { return (Unicode.Scalar(first), index + 1) }
    let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    var value = UInt32(first) & (0x7F >> UInt32(length))
    for offset in 1..<length { value = value << 6 | UInt32(bytes[index + offset] & 0x3F) }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", index + length)
  }
}
