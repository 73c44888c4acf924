internal import DibitTensor

/// The kinds of terms that a text is taken apart into.
package enum TermKind: String, Sendable {
  /// Words.
  case words
  /// Words, and pairs of words that follow each other.
  case pairs
  /// Runs of three to five characters of what stands between two blanks, of which one at each end belongs to it. They also see
  /// beginnings and ends of words, slips of the pen, and words in scripts that put no space between them.
  case letters
}

/// Gives numbers to the terms of texts, in the order in which they occur first.
///
/// A term is known by 64 bits of a hash: nothing of a text has to be kept for that.
struct TermNumbers: Sendable {
  /// The kind of terms.
  let kind: TermKind
  private var numbers: [UInt64: Int32] = [:]

  init(_ kind: TermKind) { self.kind = kind }

  /// Numbers the terms with these hashes in their order; nil where one stands there twice.
  init?(_ kind: TermKind, hashes: [UInt64]) {
    self.kind = kind
    for (number, hash) in hashes.enumerated() { numbers[hash] = Int32(number) }
    guard numbers.count == hashes.count else { return nil }
  }

  /// The number of different terms.
  var count: Int { numbers.count }

  /// The hashes of the terms, with their numbers.
  var hashes: some Sequence<(hash: UInt64, number: Int32)> { numbers.lazy.map { (hash: $0.key, number: $0.value) } }

  /// Returns the numbers of the terms of `text` in their order, repeated as they are there; each new term gets the next number.
  mutating func learn(_ text: String) -> [Int32] {
    var found: [Int32] = []
    forEachTerm(text) { term in
      let number = numbers[term] ?? Int32(numbers.count)
      if number == numbers.count { numbers[term] = number }
      found.append(number)
    }
    return found
  }

  /// Returns the numbers of those terms of `text` that are known.
  func known(_ text: String) -> [Int32] {
    var found: [Int32] = []
    forEachTerm(text) { term in if let number = numbers[term] { found.append(number) } }
    return found
  }

  /// Forgets the terms that `isKept` is false for; the rest keep their numbers.
  mutating func keep(_ isKept: (Int32) -> Bool) { numbers = numbers.filter { isKept($0.value) } }

  private func forEachTerm(_ text: String, _ body: (UInt64) -> Void) {
    guard kind != .letters else { return Self.forEachRun(text, body) }
    var last: UInt64?
    for word in Words.split(text) {
      let hash = Self.hash(word.utf8.lazy.map { UInt64($0) })
      body(hash)
      if kind == .pairs, let last { body(FNV1a.mixed(last &* 0x9E37_79B9_7F4A_7C15 ^ hash)) }
      last = hash
    }
  }

  private static func forEachRun(_ text: String, _ body: (UInt64) -> Void) {
    let blank = UInt64(UInt8(ascii: " "))
    for part in text.lowercased().unicodeScalars.split(whereSeparator: \.properties.isWhitespace) {
      let scalars = [blank] + part.map { UInt64($0.value) } + [blank]
      for length in 3...5 where length <= scalars.count {
        for first in 0...(scalars.count - length) { body(hash(scalars[first..<(first + length)])) }
      }
    }
  }

  private static func hash(_ values: some Sequence<UInt64>) -> UInt64 {
    var hash = FNV1a()
    for value in values { hash.add(value) }
    return hash.mixed
  }
}
