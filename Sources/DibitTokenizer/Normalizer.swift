/// The steps by which a text is changed before it is cut, in order, on UTF-8.
struct Normalizer: Sendable, Equatable {
  enum Step: Sendable, Equatable {
    /// Puts bytes in front of a text that is not empty.
    case prepend([UInt8])
    /// Replaces every occurrence, from left to right.
    case replace(pattern: [UInt8], content: [UInt8])
    /// Replaces every match, from left to right.
    case replaceMatches(RegexProgram, content: [UInt8])
    /// NFC, NFD, NFKC or NFKD.
    case form(isCompatible: Bool, composes: Bool)
    case lowercase
    case stripAccents
    case strip(left: Bool, right: Bool)
    /// The cleaning of the NMT normaliser: controls go, other space becomes a space.
    case nmt
    case precompiled(CharacterMap)
    case sentencePiece(SentencePieceNormalizer, verbatim: VerbatimTrie?)
  }

  /// A tree whose equality is that of what it was made from, which stands beside it.
  struct VerbatimTrie: Sendable, Equatable {
    let trie: ByteTrie
    static func == (left: Self, right: Self) -> Bool { true }
  }

  var steps: [Step] = []

  /// The normalised text, and, when `tracksStart`, whether its first scalar comes from the start of the original.
  func apply(_ text: [UInt8], tracksStart: Bool = false) -> (text: [UInt8], isAtStart: Bool) {
    var text = text
    // The scalars that come from the start.
    var leading = 1
    for step in steps {
      let before = tracksStart ? text : []
      switch step {
      case .prepend(let prefix): if !text.isEmpty { text = prefix + text }
      case .replace(let pattern, let content):
        text = text.replacing(pattern, by: content)
      case .replaceMatches(let program, let content): text = Self.replaced(text, program, content)
      case .form(false, true): text = CanonicalComposition.composed(text)
      case .form(let isCompatible, let composes):
        text = CanonicalComposition.normalized(text, isCompatible: isCompatible, composes: composes)
      case .lowercase: text = Self.mapped(text) { Self.lowercase($0, into: &$1) }
      case .stripAccents:
        text = Self.mapped(text) { scalar, output in
          if !Self.isAccent(scalar) { output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter) }
        }
      case .strip(let left, let right): text = Self.stripped(text, left, right)
      case .nmt:
        text = Self.mapped(text) { scalar, output in
          if let cleaned = Self.cleaned(scalar) { output.append(contentsOf: UTF8.encode(cleaned) ?? UTF8.encodedReplacementCharacter) }
        }
      case .precompiled(let map): text = map.applied(text)
      case .sentencePiece(let normalizer, let verbatim): text = normalizer.applied(text, verbatim: verbatim?.trie)
      }
      if tracksStart { leading = Self.leading(after: step, of: before, leading) }
    }
    return (text, leading > 0)
  }

  /// By what factor the steps can make a text longer, at most ``growthLimit`` plus one.
  var growth: Int {
    var growth = 1
    for step in steps {
      let factor =
        switch step {
        case .replace(let pattern, let content): (content.count + pattern.count - 1) / pattern.count
        case .replaceMatches(_, let content): content.count
        case .form(let isCompatible, _): isCompatible ? 18 : 3
        case .lowercase: 3
        case .precompiled, .sentencePiece: CharacterMap.replacementLimit
        case .prepend, .stripAccents, .strip, .nmt: 1
        }
      growth = min(growth.multipliedReportingOverflow(by: max(1, factor)).partialValue, Self.growthLimit + 1)
      if growth > Self.growthLimit { return growth }
    }
    return growth
  }

  /// A file whose steps could make a text longer than this many times is refused.
  static let growthLimit = 1 << 24

  /// True where a step may remove what a normalisation form, whose result is not followed scalar by scalar, left at the start.
  var mayMoveStart: Bool {
    var isFormed = false
    for step in steps {
      switch step {
      case .form, .sentencePiece: isFormed = true
      case .replace, .replaceMatches, .strip(true, _), .nmt, .stripAccents: if isFormed { return true }
      case .prepend, .precompiled, .lowercase, .strip(false, _): break
      }
    }
    return false
  }

  private static func replaced(
    _ text: [UInt8], _ program: RegexProgram, _ content: [UInt8]
  ) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(text.count)
    let scanner = ScalarScanner(bytes: text, end: text.count)
    var index = 0
    while index < text.count {
      if let end = program.matchEnd(in: scanner, at: index) {
        output.append(contentsOf: content)
        index = end
      } else {
        let next = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
        for offset in index..<next { output.append(text[offset]) }
        index = next
      }
    }
    return output
  }

  private static func mapped(
    _ text: [UInt8], _ body: (Unicode.Scalar, inout [UInt8]) -> Void
  ) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      let (scalar, next) = ScalarScanner.scalar(in: text, at: index)
      body(scalar, &output)
      index = next
    }
    return output
  }

  private static func lowercase(_ scalar: Unicode.Scalar, into output: inout [UInt8]) {
    if scalar.isASCII {
      let byte = UInt8(scalar.value)
      output.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
    } else {
      output.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
    }
  }

  /// The marks of Unicode 9, Hugging Face's version.
  private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x300, 0x1715, 0x111C9: return false
    case 0x1CF2, 0x1CF3: return true
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return (scalar.properties.age?.major ?? .max) <= 9
    default: return false
    }
  }

  /// The text without white space at its ends.
  private static func stripped(_ text: [UInt8], _ left: Bool, _ right: Bool) -> [UInt8] {
    var start = 0
    var end = text.count
    if left { start = ScalarScanner(bytes: text, end: end).run(from: 0) { $0.isSpace } }
    while right, end > start {
      var previous = end - 1
      while previous > start, text[previous] & 0xC0 == 0x80 { previous -= 1 }
      guard ScalarKind(ScalarScanner.scalar(in: text, at: previous).scalar).isSpace else { break }
      end = previous
    }
    return Array(text[start..<end])
  }

  private static func cleaned(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar.value {
    case 0x01...0x08, 0x0B, 0x0E...0x1F, 0x7F, 0x8F, 0x9F: nil
    case 0x09, 0x0A, 0x0C, 0x0D, 0x1680, 0x200B...0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD: " "
    default: scalar
    }
  }
}

extension [UInt8] {
  /// These bytes with every occurrence of `pattern`, which is not empty, replaced from left to right.
  func replacing(_ pattern: [UInt8], by content: [UInt8]) -> [UInt8] {
    guard let first = pattern.first, contains(first) else { return self }
    var result: [UInt8] = []
    result.reserveCapacity(count + count / 4)
    var index = 0
    while index < count {
      if self[index] == first, holds(pattern, at: index) {
        result.append(contentsOf: content)
        index += pattern.count
      } else {
        result.append(self[index])
        index += 1
      }
    }
    return result
  }

  /// Checks that `pattern` stands at `index`.
  func holds(_ pattern: [UInt8], at index: Int) -> Bool {
    guard count - index >= pattern.count else { return false }
    for offset in 0..<pattern.count where self[index + offset] != pattern[offset] { return false }
    return true
  }
}
