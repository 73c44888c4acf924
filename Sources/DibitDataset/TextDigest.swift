internal import DibitFiles

/// SHA-256 of a text in 32 bytes, so that millions of them can be kept.
package struct TextDigest: Hashable, Sendable, CustomStringConvertible {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// The digest of bytes.
  init(_ bytes: [UInt8]) {
    var hash = SHA256()
    hash.update(bytes)
    let digest = hash.finalizeWords()
    func word(_ index: Int) -> UInt64 { UInt64(digest[2 * index]) << 32 | UInt64(digest[2 * index + 1]) }
    words = (word(0), word(1), word(2), word(3))
  }

  /// The digest of a text's UTF-8.
  init(text: String) { self.init(Array(text.utf8)) }

  /// 64 lowercase hexadecimal digits.
  package var description: String { String(decoding: hexadecimal, as: UTF8.self) }

  /// The digits of ``description``.
  var hexadecimal: [UInt8] {
    var digits: [UInt8] = []
    digits.reserveCapacity(64)
    for word in [words.0, words.1, words.2, words.3] {
      for shift in stride(from: UInt64(60), through: 0, by: -4) {
        let digit = UInt8(truncatingIfNeeded: word >> shift & 0xF)
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
    return digits
  }

  /// Its first 128 bits.
  var half: SIMD2<UInt64> { [words.0, words.1] }

  /// Checks that all bits are the same.
  package static func == (left: TextDigest, right: TextDigest) -> Bool { left.words == right.words }

  /// A digest is a hash already.
  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
