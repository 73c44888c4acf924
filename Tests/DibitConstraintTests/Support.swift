import DibitConstraint
import DibitJSON
import Testing

/// A seeded generator: SplitMix64.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}

/// A vocabulary of all bytes and of the kinds of tokens that real vocabularies have: words, numbers, runs of punctuation that reach over
/// the borders of JSON, whole and cut scalars, and tokens that are never valid.
enum TestVocabulary {
  static let end: Int32 = 0

  static let shared: TokenVocabulary = {
    var tokens: [[UInt8]] = [Array("<end>".utf8), []]
    tokens += (UInt8.min...UInt8.max).map { [$0] }
    let texts = [
      "a", "ab", "abc", " the", "the", "ing", "sport", "spor", "news", "key", "name", "na", "me", "topics", "top", "ics", "next", "value",
      "true", "false", "null", "tr", "nul", "fal", "10", "12", "123", "000", "999", "1234", "42", "0.5", ".5", ".0", "-1", "e5", "E+", "1e",
      "\"}", "\"]", "\",", "\":", "\":\"", "\",\"", "\"}]", "\"}],", "\"],\"", "{\"", "[\"", "[{\"", "},{\"", "}}", "]]", "]}", "],[",
      ",\"",
      ",\"name\":", "\"name\":\"", "{\"topics\":[\"", "a\"", "ab\"}", "b\",\"", "a\":", "a\":1,\"a\":", "x\":1,\"b\":2", "\":{\"", "\":[",
      "\":true",
      ":1", ",1", "1]", "2,3", "12}", "{}", "[]", "\"\"", "\\\"", "\\n", "\\u", "\\u00", "\\ud83d", "\\ude00", "\\\\", "u0041",
      "d83d\\ude00",
      "é", "ü", "日本", "日", "😀", "\n", "  ", "\t", ": ", ", ", "-", "2024", "-01-", "T10:", ":00Z", "@", ".com", "a@b.co", "...", "////",
      "<|x|>",
    ]
    tokens += texts.map { Array($0.utf8) }
    tokens += [
      [0xE6, 0x97], [0xA5, 0xE6], [0xF0, 0x9F], [0x98, 0x80], [0xC3], [0xA9, 0x22], [0x9F, 0x98, 0x80, 0x22, 0x7D], [0xFF, 0xFE],
    ]
    // So many that strings have a mask of their own, not just a list.
    for first in "bcdfghjklmnpqrst" {
      for second in "aeiouy" { for third in ["", "n", "r\"", "s\","] { tokens.append(Array("\(first)\(second)\(third)".utf8)) } }
    }
    for length in [20, 40] { tokens.append([UInt8](repeating: UInt8(ascii: "z"), count: length)) }
    do { return try TokenVocabulary(tokens: tokens, endTokens: [end]) } catch { fatalError("\(error)") }
  }()
}

func state(_ schema: String, depth: Int = 16) throws -> ConstraintState {
  try TokenConstraint(Constraint(schema: schema, maximumDepth: depth), vocabulary: TestVocabulary.shared).start()
}

extension ConstraintState {
  /// Whether the text can be made, one byte at a time.
  func accepts(_ text: String) -> Bool {
    var state = self
    for byte in text.utf8 where !state.advance(Int32(byte) + 2) { return false }
    return state.isComplete
  }

  /// Whether the text can be begun.
  func begins(_ text: String) -> Bool {
    var state = self
    for byte in text.utf8 where !state.advance(Int32(byte) + 2) { return false }
    return true
  }
}

/// A text made of tokens that are drawn from those allowed.
func randomText(
  _ start: ConstraintState, tokens limit: Int, using rng: inout Seeded,
  check: (inout ConstraintState, TokenMask, Int) -> Void = { _, _, _ in }
) -> (text: [UInt8], tokens: Int, isWhole: Bool) {
  var (state, text, count) = (start, [UInt8](), 0)
  var mask = TokenMask(count: TestVocabulary.shared.count)
  while count < limit {
    state.mask(into: &mask, remaining: limit - count)
    check(&state, mask, limit - count)
    var allowed: [Int32] = []
    mask.forEachAllowed { allowed.append($0) }
    guard let token = allowed.randomElement(using: &rng) else { break }
    guard state.advance(token) else {
      Issue.record("an allowed token was refused")
      break
    }
    if token == TestVocabulary.end { return (text, count, true) }
    text += TestVocabulary.shared.bytes(of: token)
    count += 1
  }
  return (text, count, state.isComplete)
}
