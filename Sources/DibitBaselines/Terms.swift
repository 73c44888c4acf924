/// The kinds of terms that a text is taken apart into.
package enum TermKind: Sendable {
  /// Words.
  case words
  /// Words, and pairs of words that follow each other.
  case pairs
  /// Runs of three to five characters of what stands between two blanks, of which one at each end belongs to it. They also see
  /// beginnings and ends of words, slips of the pen, and words in scripts that put no space between them.
  case letters
}

/// Gives numbers to the terms of texts, in the order in which they occur first.
struct TermNumbers: Sendable {
  private let kind: TermKind
  /// The numbers of words, beginning at 1, from which terms are made; empty for letters.
  private var words: [String: Int] = [:]
  /// The numbers of terms by what they are made of, which fits into one number: two words, or five characters.
  private var terms: [UInt128: Int32] = [:]

  init(_ kind: TermKind) { self.kind = kind }

  /// The number of different terms.
  var count: Int { terms.count }

  /// Returns the numbers of the terms of `text` in their order, repeated as they are there; each new term gets the next number.
  mutating func learn(_ text: String) -> [Int32] {
    var found: [Int32] = []
    if kind != .letters { for word in Words.split(text) where words[word] == nil { words[word] = words.count + 1 } }
    forEachTerm(text) { term in
      let number = terms[term] ?? Int32(terms.count)
      if number == terms.count { terms[term] = number }
      found.append(number)
    }
    return found
  }

  /// Returns the numbers of those terms of `text` that are known.
  func known(_ text: String) -> [Int32] {
    var found: [Int32] = []
    forEachTerm(text) { term in if let number = terms[term] { found.append(number) } }
    return found
  }

  /// Forgets the terms that `isKept` is false for, and words that are in no other; the rest keep their numbers.
  mutating func keep(_ isKept: (Int32) -> Bool) {
    terms = terms.filter { isKept($0.value) }
    var used: Set<Int> = []
    if kind != .letters {
      for term in terms.keys { used.formUnion([Int(term >> 64), Int(truncatingIfNeeded: term & UInt128(UInt64.max))]) }
    }
    words = words.filter { used.contains($0.value) }
  }

  private func forEachTerm(_ text: String, _ body: (UInt128) -> Void) {
    guard kind != .letters else { return Self.forEachRun(text, body) }
    // A word that is not known is in no pair, and keeps its neighbours apart.
    var last = 0
    for word in Words.split(text) {
      let number = words[word] ?? 0
      if number > 0 { body(UInt128(number)) }
      if kind == .pairs, last > 0, number > 0 { body(UInt128(last) << 64 | UInt128(number)) }
      last = number
    }
  }

  private static func forEachRun(_ text: String, _ body: (UInt128) -> Void) {
    let blank = UInt128(UInt8(ascii: " "))
    for part in text.lowercased().unicodeScalars.split(whereSeparator: \.properties.isWhitespace) {
      let scalars = [blank] + part.map { UInt128($0.value) } + [blank]
      for length in 3...5 where length <= scalars.count {
        // A scalar has 21 bits, and none is taken as zero: runs of different lengths are different numbers.
        let mask = UInt128(1) << UInt128(21 * length) - 1
        var run: UInt128 = 0
        for (index, scalar) in scalars.enumerated() {
          run = (run << 21 | (scalar + 1)) & mask
          if index + 1 >= length { body(run) }
        }
      }
    }
  }
}
