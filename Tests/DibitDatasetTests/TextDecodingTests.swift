import DibitDataset
import Testing

@Suite struct TextDecodingTests {
  static let sample = "Grüße, “quoted” – 5 €\n"

  @Test func plainUTF8() {
    #expect(TextDecoding.decode(Array(Self.sample.utf8)) == DecodedText(text: Self.sample, encoding: .utf8))
    #expect(TextDecoding.decode([]) == DecodedText(text: "", encoding: .utf8))
    #expect(TextDecoding.decode([0x41]) == DecodedText(text: "A", encoding: .utf8))
  }

  @Test func markIsDropped() {
    #expect(TextDecoding.decode([0xEF, 0xBB, 0xBF] + Array("é".utf8)) == DecodedText(text: "é", encoding: .utf8WithMark))
    #expect(TextDecoding.decode([0xEF, 0xBB, 0xBF]) == DecodedText(text: "", encoding: .utf8WithMark))
  }

  @Test(arguments: [true, false]) func utf16WithMark(littleEndian: Bool) {
    let text = "Grüße 😀 €\nend"
    let encoding: TextEncoding = littleEndian ? .utf16LittleEndian : .utf16BigEndian
    #expect(TextDecoding.decode(utf16(text, littleEndian: littleEndian)) == DecodedText(text: text, encoding: encoding))
    #expect(TextDecoding.decode(utf16("", littleEndian: littleEndian)) == DecodedText(text: "", encoding: encoding))
  }

  @Test func brokenUTF16IsReplacedAndCounted() {
    // 'a', a high surrogate alone, 'b', a low surrogate alone; then an odd byte.
    let bytes: [UInt8] = [0xFE, 0xFF, 0, 0x61, 0xD8, 0x3D, 0, 0x62, 0xDE, 0]
    #expect(
      TextDecoding.decode(bytes) == DecodedText(text: "a\u{FFFD}b\u{FFFD}", encoding: .utf16BigEndian, replacements: 2))
    #expect(
      TextDecoding.decode([0xFF, 0xFE, 0x61, 0, 0x62]) == DecodedText(text: "a\u{FFFD}", encoding: .utf16LittleEndian, replacements: 1))
  }

  @Test func everyWindows1252Byte() {
    let upper = "€\u{FFFD}‚ƒ„…†‡ˆ‰Š‹Œ\u{FFFD}Ž\u{FFFD}\u{FFFD}‘’“”•–—˜™š›œ\u{FFFD}žŸ"
    let latin = String(String.UnicodeScalarView((0xA0...0xFF).compactMap { Unicode.Scalar($0 as UInt32) }))
    let padding = [UInt8](repeating: 0x20, count: 100)  // five undefined bytes in 228 are few enough for a text
    #expect(
      TextDecoding.decode(padding + Array(0x80...0xFF))
        == DecodedText(text: String(repeating: " ", count: 100) + upper + latin, encoding: .windows1252, replacements: 5))
  }

  /// Overlong forms, surrogates, values past the last scalar, cut sequences, stray continuation bytes.
  @Test(
    arguments: [
      [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0xA0, 0xA0], [0xF5, 0xA0],
      [0xE2, 0x82], [0xC3], [0xBF], [0xE2, 0x28, 0xA1],
    ] as [[UInt8]])
  func malformedUTF8IsWindows1252(bytes: [UInt8]) {
    #expect(TextDecoding.decode(Array("some words ".utf8) + bytes)?.encoding == .windows1252)
  }

  @Test func validationAgreesWithTheStandardLibrary() {
    // Every sequence of three bytes taken from the edges of the classes of UTF-8.
    let edges: [UInt8] = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
    for a in edges {
      for b in edges {
        for c in edges {
          let bytes = [a, b, c, 0x80]
          let isValid = String(validating: bytes, as: UTF8.self) != nil
          let encoding = TextDecoding.encoding(of: ([UInt8](repeating: 0x20, count: 80) + bytes).span)
          if (encoding == .utf8) != isValid { Issue.record("\(bytes): \(String(describing: encoding)), valid \(isValid)") }
        }
      }
    }
  }

  @Test func lineEnds() {
    #expect(TextDecoding.decode(Array("a\r\nb\rc\n\r\n\r\rd\r".utf8))?.text == "a\nb\nc\n\n\n\nd\n")
    #expect(TextDecoding.decode(utf16("a\r\nb\rc", littleEndian: true))?.text == "a\nb\nc")
    #expect(TextDecoding.decode([0xE9, 0x0D, 0x0A, 0xE8, 0x0D])?.text == "é\nè\n")
    #expect(TextDecoding.decode(Array("a\ré\n".utf8))?.text == "a\né\n")
  }

  @Test func binaryFiles() {
    let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D]
    #expect(TextDecoding.decode(picture) == nil)
    #expect(TextDecoding.decode(Array("a\0b".utf8)) == nil)
    #expect(TextDecoding.decode([0x61, 0, 0x62, 0]) == nil, "UTF-16 without a mark")
    #expect(TextDecoding.decode([0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0]) == nil, "UTF-32")
    #expect(TextDecoding.decode([0xFF, 0xFE] + [UInt8](repeating: 0xDC, count: 40)) == nil, "surrogates only")
    #expect(TextDecoding.decode((0..<200).map { _ in 0x01 }) == nil)
    #expect(TextDecoding.decode((0..<200).map { UInt8($0 % 2 == 0 ? 0x90 : 0xE9) }) == nil)
  }

  @Test func aFewControlCharactersAreText() {
    #expect(TextDecoding.decode(Array("dir listing\u{1A}".utf8))?.encoding == .utf8)
    #expect(TextDecoding.decode(Array("\u{1B}[1mbold\u{1B}[0m\u{0C}\u{08}\t".utf8))?.encoding == .utf8)
  }
}
