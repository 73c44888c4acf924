/// The encodings in which the characters of a text file can be stored.
package enum TextEncoding: String, Equatable, Sendable, CaseIterable {
  /// UTF-8 without a byte order mark; plain ASCII is this too.
  case utf8 = "UTF-8"
  /// UTF-8 that starts with the byte order mark EF BB BF, which is dropped.
  case utf8WithMark = "UTF-8 with a byte order mark"
  /// UTF-16, low byte first, marked by FF FE.
  case utf16LittleEndian = "UTF-16 LE"
  /// UTF-16, high byte first, marked by FE FF.
  case utf16BigEndian = "UTF-16 BE"
  /// Windows-1252, the superset of Latin-1 that old mail and web pages use: what a text that is not Unicode is taken for.
  case windows1252 = "Windows-1252"

  /// True where the bytes were UTF-8 already, with or without a mark.
  package var isUTF8: Bool { self == .utf8 || self == .utf8WithMark }

  /// The length of the byte order mark in bytes.
  var markLength: Int {
    switch self {
    case .utf8, .windows1252: 0
    case .utf8WithMark: 3
    case .utf16LittleEndian, .utf16BigEndian: 2
    }
  }
}

/// A text and the encoding it came in.
package struct DecodedText: Equatable, Sendable {
  /// The characters: no byte order mark, and every line ends with LF.
  package let text: String
  /// The encoding of the bytes.
  package let encoding: TextEncoding
  /// The number of bytes or code units that stood for no character and became U+FFFD.
  package let replacements: Int

  /// A decoded text of known origin.
  package init(text: String, encoding: TextEncoding, replacements: Int = 0) {
    self.text = text
    self.encoding = encoding
    self.replacements = replacements
  }
}
