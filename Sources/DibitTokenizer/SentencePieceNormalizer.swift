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
      let start = output.count
      let end = writePrefix(text, index, trie, followsSpace: followsSpace, space, into: &output)
      if output.count > start { followsSpace = removesExtraSpaces && endsInSpace(output, start, text, index, end) }
      index = end
    }
    if removesExtraSpaces {
      while output.count >= space.count, output.suffix(space.count).elementsEqual(space) { output.removeLast(space.count) }
    }
    return output
  }

  /// Writes what the text at `index` becomes, with spaces escaped, and returns where that text ends.
  private func writePrefix(
    _ text: [UInt8], _ index: Int, _ trie: ByteTrie?, followsSpace: Bool, _ space: [UInt8], into output: inout [UInt8]
  ) -> Int {
    var skips = followsSpace
    func write(_ byte: UInt8, _ output: inout [UInt8]) {
      if byte == 0x20 {
        if !skips { output.append(contentsOf: space) }
      } else {
        skips = false
        output.append(byte)
      }
    }
    if let length = Self.verbatimLength(text, index, trie) {
      for offset in 0..<length { write(text[index + offset], &output) }
      return index + length
    }
    if let map, map.canStart(text[index]), let match = map.match(text, index, text.count, longest: true) {
      var replacement: [UInt8] = []
      map.write(match.replacement, into: &replacement)
      for byte in replacement { write(byte, &output) }
      return index + match.length
    }
    let end = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
    for place in index..<end { write(text[place], &output) }
    return end
  }

  /// Whether what was just written ended in a space, before escaping.
  private func endsInSpace(_ output: [UInt8], _ start: Int, _ text: [UInt8], _ index: Int, _ end: Int) -> Bool {
    if !escapesSpaces { return output.last == 0x20 }
    guard output.count - start >= 3, output.suffix(3).elementsEqual(Self.mark) else { return false }
    // A mark that the text itself has is no space.
    return !(end - index == 3 && text[index..<end].elementsEqual(Self.mark))
  }

  /// The end of the text at `index` that becomes one space, or nil.
  private func spaceEnd(_ text: [UInt8], _ index: Int, _ trie: ByteTrie?) -> Int? {
    if let length = Self.verbatimLength(text, index, trie) {
      return length == 1 && text[index] == 0x20 ? index + 1 : nil
    }
    if let map, map.canStart(text[index]), let match = map.match(text, index, text.count, longest: true) {
      var replacement: [UInt8] = []
      map.write(match.replacement, into: &replacement)
      return replacement == [0x20] ? index + match.length : nil
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
