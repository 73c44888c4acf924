package import DibitTokenizer
internal import Synchronization

/// The bytes of every token as a trie, built once for a tokenizer and shared by all constraints.
///
/// Control tokens and the unknown token have no place in it: they are never allowed, except the end tokens where a text may end.
package final class TokenVocabulary: Sendable {
  /// The number of ids.
  package let count: Int
  /// The tokens that end a text.
  package let endTokens: [Int32]
  let trie: PreorderTrie
  private let arena: [UInt8]
  private let starts: [Int32]
  /// True for each byte that is a token by itself.
  let hasByte: [Bool]
  let tokenizer: Tokenizer?
  /// The effects of tokens in the leaf states that every schema shares.
  let sharedTokens = Mutex<[Int32: LeafTokens]>([:])

  /// The vocabulary of a tokenizer; a token's bytes are those in the middle of a text, so the output is meant to follow a prompt.
  ///
  /// - Throws: ``ConstraintError/unknownEndToken(_:vocabulary:)``
  /// - Complexity: O(n log n) in the bytes of all tokens.
  package convenience init(_ tokenizer: Tokenizer, endTokens: Set<Int32>) throws(ConstraintError) {
    let tokens = (0..<Int32(tokenizer.vocabularyCount)).map { id in
      tokenizer.isSpecial(id) || id == tokenizer.unknownToken ? [] : tokenizer.bytes(of: id)
    }
    try self.init(tokens: tokens, endTokens: endTokens, tokenizer: tokenizer)
  }

  /// A vocabulary of these bytes, one array for each id; an empty array is a token that is never allowed.
  ///
  /// - Throws: ``ConstraintError/unknownEndToken(_:vocabulary:)``
  package convenience init(tokens: [[UInt8]], endTokens: Set<Int32>) throws(ConstraintError) {
    try self.init(tokens: tokens, endTokens: endTokens, tokenizer: nil)
  }

  private init(tokens: [[UInt8]], endTokens: Set<Int32>, tokenizer: Tokenizer?) throws(ConstraintError) {
    for id in endTokens where id < 0 || Int(id) >= tokens.count { throw .unknownEndToken(id, vocabulary: tokens.count) }
    count = tokens.count
    self.endTokens = endTokens.sorted()
    self.tokenizer = tokenizer
    var (arena, starts): ([UInt8], [Int32]) = ([], [0])
    var hasByte = [Bool](repeating: false, count: 256)
    for (id, bytes) in tokens.enumerated() {
      if !endTokens.contains(Int32(id)) {
        arena += bytes
        if bytes.count == 1 { hasByte[Int(bytes[0])] = true }
      }
      starts.append(Int32(arena.count))
    }
    self.hasByte = hasByte
    let strings = tokens.indices.map { arena[Int(starts[$0])..<Int(starts[$0 + 1])] }
    trie = PreorderTrie(strings, indices: tokens.indices.filter { !strings[$0].isEmpty }.map(Int32.init))
    (self.arena, self.starts) = (arena, starts)
  }

  /// The bytes of a token; none for control tokens and unknown ids.
  package func bytes(of id: Int32) -> ArraySlice<UInt8> {
    guard id >= 0, Int(id) < count else { return [] }
    return arena[Int(starts[Int(id)])..<Int(starts[Int(id) + 1])]
  }

  /// The fewest tokens that spell the bytes, the longest first; nil when there are none.
  func shortestSpelling(for bytes: [UInt8]) -> [Int32]? {
    var best = [(count: Int, length: Int, id: Int32)](repeating: (0, 0, -1), count: bytes.count + 1)
    for start in bytes.indices.reversed() {
      best[start] = (.max, 0, -1)
      var node = 0
      for end in start..<bytes.count {
        guard let child = trie.child(of: node, bytes[end]) else { break }
        node = child
        guard let id = trie.values(at: node).first, best[end + 1].count < .max, best[end + 1].count + 1 <= best[start].count else {
          continue
        }
        best[start] = (best[end + 1].count + 1, end + 1 - start, id)
      }
    }
    guard best[0].count < .max else { return nil }
    var (tokens, index): ([Int32], Int) = ([], 0)
    while index < bytes.count {
      tokens.append(best[index].id)
      index += best[index].length
    }
    return tokens
  }
}
