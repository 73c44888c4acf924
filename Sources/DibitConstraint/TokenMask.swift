/// The tokens of a vocabulary that may come next: one bit for each id.
package struct TokenMask: Equatable, Sendable {
  /// 64 ids a word, the lowest id in the lowest bit.
  package internal(set) var words: [UInt64]
  /// The number of ids.
  package let count: Int

  /// A mask for ids from 0 to `count - 1` that allows none.
  package init(count: Int) {
    self.count = max(0, count)
    words = [UInt64](repeating: 0, count: (self.count + 63) / 64)
  }

  /// True where the id may come next; ids outside the vocabulary may not.
  package subscript(id: Int32) -> Bool {
    guard id >= 0, Int(id) < count else { return false }
    return words[Int(id) >> 6] >> UInt64(id & 63) & 1 == 1
  }

  /// The number of allowed ids.
  package var allowedCount: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// True where no id is allowed.
  package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  /// Calls `body` with each allowed id, in ascending order.
  package func forEachAllowed(_ body: (Int32) -> Void) {
    for index in words.indices {
      var word = words[index]
      while word != 0 {
        body(Int32(index << 6 + word.trailingZeroBitCount))
        word &= word - 1
      }
    }
  }

  mutating func allow(_ id: Int32) { words[Int(id) >> 6] |= 1 << UInt64(id & 63) }

  mutating func refuse(_ id: Int32) { words[Int(id) >> 6] &= ~(1 << UInt64(id & 63)) }

  mutating func clear() {
    for index in words.indices { words[index] = 0 }
  }

  mutating func formUnion(_ other: TokenMask) {
    for index in words.indices { words[index] |= other.words[index] }
  }
}
