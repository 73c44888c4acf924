/// SentencePiece's own normaliser, byte for byte.
struct SentencePieceNormalizer: Sendable, Equatable {
  var map: CharacterMap?
  var addsDummyPrefix = true
  var removesExtraSpaces = true
  var escapesSpaces = true
  /// Texts that are left as they are: the user-defined pieces.
  var verbatim: [[UInt8]] = []

  /// U+2581, which stands for a space.
  static let mark: [UInt8] = [0xE2, 0x96, 0x81]

  /// The normalised text. `trie` finds ``verbatim``.
  func applied(_ text: [UInt8], verbatim trie: ByteTrie?) -> [UInt8] {
    if text.isEmpty { return [] }
    var index = 0
    if removesExtraSpaces {
      while index < text.count, let end = spaceEnd(text, index, trie) { index = end }
      if index == text.count { return [] }
    }
    var output: [UInt8] = []
    output.reserveCapacity(text.count + text.count / 4 + 3)
    let space = escapesSpaces ? Self.mark : [0x20]
    if addsDummyPrefix { output.append(contentsOf: space) }
    var followsSpace = removesExtraSpaces
    while index < text.count {
      let (end, endsInSpace) = writePrefix(text, index, trie, followsSpace: followsSpace, space, into: &output)
      if let endsInSpace { followsSpace = removesExtraSpaces && endsInSpace }
      index = end
    }
    if removesExtraSpaces {
      while output.count >= space.count, output.suffix(space.count).elementsEqual(space) { output.removeLast(space.count) }
    }
    return output
  }

  /// Writes what the text at `index` becomes, with spaces escaped. Returns where that text ends, and whether what was written ended in
  /// a space before escaping, nil when nothing was.
  private func writePrefix(
    _ text: [UInt8], _ index: Int, _ trie: ByteTrie?, followsSpace: Bool, _ space: [UInt8], into output: inout [UInt8]
  ) -> (end: Int, endsInSpace: Bool?) {
    var skips = followsSpace
    var last: UInt8?
    func write(_ byte: UInt8, _ output: inout [UInt8]) {
      if byte == 0x20 {
        if skips { return }
        output.append(contentsOf: space)
      } else {
        output.append(byte)
      }
      skips = false
      last = byte
    }
    var end = index
    if let length = Self.verbatimLength(text, index, trie) {
      end = index + length
      for offset in index..<end { write(text[offset], &output) }
    } else if let map, map.canStart(text[index]), let match = map.match(text, index, text.count, longest: true) {
      end = index + match.length
      for byte in map.bytes(of: match.replacement) { write(byte, &output) }
    } else {
      end = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
      for offset in index..<end { write(text[offset], &output) }
    }
    return (end, last.map { $0 == 0x20 })
  }

  /// The end of the text at `index` that becomes one space, or nil.
  private func spaceEnd(_ text: [UInt8], _ index: Int, _ trie: ByteTrie?) -> Int? {
    if let length = Self.verbatimLength(text, index, trie) {
      return length == 1 && text[index] == 0x20 ? index + 1 : nil
    }
    if let map, map.canStart(text[index]), let match = map.match(text, index, text.count, longest: true) {
      return map.bytes(of: match.replacement) == [0x20] ? index + match.length : nil
    }
    return text[index] == 0x20 ? index + 1 : nil
  }

  /// The length of the longest piece of the tree at `index`.
  static func verbatimLength(_ text: [UInt8], _ index: Int, _ trie: ByteTrie?) -> Int? {
    guard let trie else { return nil }
    var node: UInt32 = 0
    var end = index
    var longest: Int?
    while end < text.count, let child = trie.child(of: node, text[end]) {
      node = child
      end += 1
      if trie.tokens[Int(node)] >= 0 { longest = end - index }
    }
    return longest
  }
}
