/// The regular expressions by which byte-level tokenizers cut text, recognised by their text and matched by hand.
///
/// Every pattern matches at every position, so a text is cut into consecutive matches.
enum SplitPattern: Sendable, Equatable {
  case gpt2
  case llama3
  case qwen2
  case o200k

  private static let tail = #"\s+(?!\S)|\s+"#
  private static let fold = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
  private static let prefix = #"[^\r\n\p{L}\p{N}]?"#
  private static let upper = #"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"#
  private static let lower = #"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"#
  private static let gpt2Tail = #"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\#(tail)"#

  /// The regular expression of a pattern.
  static func regex(of pattern: SplitPattern) -> String {
    let word = "\(fold)|\(prefix)" + #"\p{L}+|"#
    let rest = #"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\#(tail)"#
    return switch pattern {
    case .gpt2: "'s|'t|'re|'ve|'m|'ll|'d" + gpt2Tail
    case .llama3: word + #"\p{N}{1,3}"# + rest
    case .qwen2: word + #"\p{N}"# + rest
    case .o200k:
      "\(prefix)\(upper)*\(lower)+\(fold)?|\(prefix)\(upper)+\(lower)*\(fold)?"
        + #"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\#(tail)"#
    }
  }

  /// The pattern of Qwen 3.5, which is not matched by hand.
  static let qwen35 =
    "\(fold)|\(prefix)"
    + #"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\#(tail)"#

  /// The patterns of DeepSeek V3, each applied to what the one before leaves.
  static let deepSeek = [
    #"\p{N}{1,3}"#, "[\u{4E00}-\u{9FA5}\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+",
    ##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"##
      + #"|\s*[\r\n]+|\#(tail)"#,
  ]

  /// The pattern of Mistral's Tekken vocabularies, which is not matched by hand.
  static let tekken =
    "\(prefix)\(upper)*\(lower)+|\(prefix)\(upper)+\(lower)*" + #"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\#(tail)"#

  /// The pattern written as `regex`, or nil when it is not one of these.
  init?(regex: String) {
    let known: [SplitPattern] = [.gpt2, .llama3, .qwen2, .o200k]
    if regex == "'(?:[sdmt]|ll|ve|re)" + Self.gpt2Tail {
      self = .gpt2
    } else if let pattern = known.first(where: { Self.regex(of: $0) == regex }) {
      self = pattern
    } else {
      return nil
    }
  }

  /// The end of the match that starts at `start`, which is before the end of the text and on a scalar's boundary.
  func matchEnd(in text: ScalarScanner, at start: Int) -> Int {
    switch self {
    case .gpt2: Self.gpt2(text, start)
    case .llama3: Self.contraction(text, start, foldingCase: true) ?? Self.modern(text, start, digits: 3)
    case .qwen2: Self.contraction(text, start, foldingCase: true) ?? Self.modern(text, start, digits: 1)
    case .o200k: Self.o200kWord(text, start) ?? Self.modern(text, start, digits: 3, slashes: true)
    }
  }

  private static func gpt2(_ text: ScalarScanner, _ start: Int) -> Int {
    if let end = contraction(text, start, foldingCase: false) { return end }
    var (kind, next) = text.step(start)
    if text.bytes[start] == 0x20, next < text.end {
      let (second, after) = text.step(next)
      if !second.isSpace { (kind, next) = (second, after) }
    }
    if kind.isLetter { return text.run(from: next) { $0.isLetter } }
    if kind == .number { return text.run(from: next) { $0 == .number } }
    if kind.isSymbol { return text.run(from: next) { $0.isSymbol } }
    return space(text, start)
  }

  /// `[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, with `/` among the newlines
  /// after symbols when `slashes`. o200k has no letters left when it comes here.
  private static func modern(_ text: ScalarScanner, _ start: Int, digits: Int, slashes: Bool = false) -> Int {
    let (kind, next) = text.step(start)
    if kind.isLetter { return text.run(from: next) { $0.isLetter } }
    if kind == .number { return text.run(from: next, limit: digits - 1) { $0 == .number } }
    let second = next < text.end ? text.step(next).kind : nil
    if !slashes, kind != .newline, let second, second.isLetter { return text.run(from: next) { $0.isLetter } }
    if kind.isSymbol || (text.bytes[start] == 0x20 && second?.isSymbol == true) {
      var end = text.run(from: next) { $0.isSymbol }
      while end < text.end, text.bytes[end] == 0x0A || text.bytes[end] == 0x0D || (slashes && text.bytes[end] == 0x2F) { end += 1 }
      return end
    }
    var index = start
    var afterNewline: Int?
    while index < text.end {
      let (kind, next) = text.step(index)
      guard kind.isSpace else { break }
      index = next
      if kind == .newline { afterNewline = next }
    }
    return afterNewline ?? space(text, start)
  }

  /// The two word alternatives of o200k: an optional prefix, capitals then small letters, an optional contraction.
  private static func o200kWord(_ text: ScalarScanner, _ start: Int) -> Int? {
    let (kind, next) = text.step(start)
    let canPrefix = !kind.isLetter && kind != .number && kind != .newline
    let end =
      (canPrefix ? smallWord(text, next) : nil) ?? smallWord(text, start)
      ?? (canPrefix ? capitalWord(text, next) : nil) ?? capitalWord(text, start)
    return end.map { contraction(text, $0, foldingCase: true) ?? $0 }
  }

  /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`: when no small letter follows the capitals, the match backs off
  /// to the last scalar that belongs to both sets.
  private static func smallWord(_ text: ScalarScanner, _ start: Int) -> Int? {
    var index = start
    var lastShared: Int?
    while index < text.end {
      let (kind, next) = text.step(index)
      if kind == .letter || kind == .mark { lastShared = next } else if kind != .upper { break }
      index = next
    }
    let end = text.run(from: index, isSmall)
    return end > index ? end : lastShared
  }

  /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`.
  private static func capitalWord(_ text: ScalarScanner, _ start: Int) -> Int? {
    let index = text.run(from: start) { $0 == .upper || $0 == .letter || $0 == .mark }
    return index > start ? text.run(from: index, isSmall) : nil
  }

  private static func isSmall(_ kind: ScalarKind) -> Bool { kind == .lower || kind == .letter || kind == .mark }

  /// `'s|'t|'re|'ve|'m|'ll|'d`. With folding, the long s counts as an s.
  private static func contraction(_ text: ScalarScanner, _ start: Int, foldingCase: Bool) -> Int? {
    let bytes = text.bytes
    guard start + 1 < text.end, bytes[start] == UInt8(ascii: "'") else { return nil }
    let fold: UInt8 = foldingCase ? 0x20 : 0
    let first = bytes[start + 1] | fold
    let second = start + 2 < text.end ? bytes[start + 2] : 0
    switch first {
    case UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "m"), UInt8(ascii: "d"): return start + 2
    case UInt8(ascii: "r"), UInt8(ascii: "v"): return second | fold == UInt8(ascii: "e") ? start + 3 : nil
    case UInt8(ascii: "l"): return second | fold == UInt8(ascii: "l") ? start + 3 : nil
    default: return foldingCase && bytes[start + 1] == 0xC5 && second == 0xBF ? start + 3 : nil
    }
  }

  /// `\s+(?!\S)|\s+`: the run of white space, less its last scalar when text follows and others remain.
  private static func space(_ text: ScalarScanner, _ start: Int) -> Int {
    var index = start
    var last = start
    while index < text.end {
      let (kind, next) = text.step(index)
      guard kind.isSpace else { break }
      (last, index) = (index, next)
    }
    return index == text.end || last == start ? index : last
  }
}
