internal import DibitTokenizer

extension ConstraintState {
  /// The most bytes that are looked ahead at a time.
  private static let forcedLimit = 4096

  /// The bytes that must come next whatever is chosen, up to the next choice; empty where there is one already.
  package mutating func forcedBytes() -> [UInt8] { forcedPath().bytes }

  /// The tokens of what must come next, for the caller to append and ``advance(_:)`` over without asking the model; empty where there
  /// is a choice.
  ///
  /// They are the tokens that the tokenizer makes of that text by itself. The last ones are left to the model where it could write a
  /// longer token that reaches over the end of what is certain: after `{"a":"` it may want `"b` for the last quote.
  ///
  /// - Parameter remaining: How many tokens may still come. Tokens behind which the text could not be brought to an end in time are
  ///   left out: the usual tokens of a text may be more than the fewest.
  package mutating func forcedTokens(remaining: Int = .max) -> [Int32] {
    if hasEnded { return [] }
    var (bytes, end) = forcedPath()
    // A scalar that is certain only in part is left out.
    while let last = bytes.last, last >= 0x80, String(validating: bytes, as: UTF8.self) == nil, bytes.count > 0 { bytes.removeLast() }
    guard !bytes.isEmpty, String(validating: bytes, as: UTF8.self) != nil else { return [] }
    if let reached = reach(bytes, from: front) { end = reached }
    var result: [Int32] = []
    var start = 0
    var current = front
    for token in program.vocabulary.usualTokens(for: bytes) {
      if reachesBeyond(bytes[start...], end) { break }
      guard let next = reach(program.vocabulary.bytes(of: token), from: current) else { break }
      let cost = walker.cost(next)
      guard cost < Costs.impossible, Int(cost) <= max(remaining, 0) - result.count - 1 else { break }
      current = next
      result.append(token)
      start += program.vocabulary.bytes(of: token).count
    }
    return result
  }

  private mutating func forcedPath() -> (bytes: [UInt8], end: Front) {
    var (bytes, current, next): ([UInt8], Front, Front) = ([], front, Front())
    while !hasEnded, bytes.count < Self.forcedLimit, let byte = onlyByte(current) {
      walker.step(current, byte, into: &next)
      if next.isDead { break }
      bytes.append(byte)
      swap(&current, &next)
    }
    return (bytes, current)
  }

  /// The byte that comes next on every way, when the text cannot end here.
  private func onlyByte(_ front: Front) -> UInt8? {
    if front.isComplete { return nil }
    var result: UInt8?
    for way in front.ways {
      var byte: UInt8?
      if way.state == program.grammar.leaves.textBody, way.atMost == 0 {
        byte = UInt8(ascii: "\"")
      } else {
        let arcs = program.grammar.automaton.arcs(of: way.state)
        if let arc = arcs.first, arcs.count == 1, arc.first == arc.last { byte = arc.first }
      }
      guard let byte, result == nil || result == byte else { return nil }
      result = byte
    }
    return result
  }

  /// Checks whether some token begins with these bytes and goes on in a way that is allowed behind them.
  private mutating func reachesBeyond(_ bytes: ArraySlice<UInt8>, _ end: Front) -> Bool {
    let trie = program.vocabulary.trie
    guard let node = trie.node(of: bytes) else { return false }
    for token in trie.branch(at: node).dropFirst(trie.values(at: node).count)
    where reach(program.vocabulary.bytes(of: token).dropFirst(bytes.count), from: end) != nil {
      return true
    }
    return false
  }

  /// The tokens of a short way to an end, the end token not among them: at most ``tokensToEnd``.
  ///
  /// A caller that must stop appends them, and the text is whole.
  package func shortestCompletion() -> [Int32] {
    var (state, result): (ConstraintState, [Int32]) = (self, [])
    var mask = TokenMask(count: program.vocabulary.count)
    while !state.hasEnded, !state.isComplete {
      state.mask(into: &mask, remaining: 0)
      guard let token = state.cheapest(in: mask), state.advance(token) else { break }
      result.append(token)
    }
    return result
  }

  /// Of the first allowed tokens, the one behind which the least is left to write; the longest of several.
  private mutating func cheapest(in mask: TokenMask) -> Int32? {
    var candidates: [Int32] = []
    mask.forEachAllowed { if candidates.count < 64, !program.vocabulary.bytes(of: $0).isEmpty { candidates.append($0) } }
    var best: (cost: Int32, length: Int, token: Int32)?
    for token in candidates {
      let bytes = program.vocabulary.bytes(of: token)
      guard let next = reach(bytes, from: front) else { continue }
      let cost = walker.cost(next)
      if let best, best.cost < cost || best.cost == cost && best.length >= bytes.count { continue }
      best = (cost, bytes.count, token)
    }
    return best?.token
  }
}

extension TokenVocabulary {
  /// The tokens that the tokenizer makes of bytes that are UTF-8, in the middle of a text; without a tokenizer the fewest.
  func usualTokens(for bytes: [UInt8]) -> [Int32] {
    guard let tokenizer else { return shortestSpelling(for: bytes) ?? [] }
    let text = String(decoding: bytes, as: UTF8.self)
    // Some tokenizers put a space before the first word: text before it, cut off at its border, keeps that out.
    for before in ["", "\n", "}", "a"] {
      let ids = tokenizer.encode(before + text, addingSpecialTokens: false, parsingSpecialTokens: false)
      var (tail, first) = (0, ids.endIndex)
      while first > ids.startIndex, tail < bytes.count {
        first -= 1
        tail += self.bytes(of: ids[first]).count
      }
      let result = Array(ids[first...])
      if tail == bytes.count, result.flatMap({ Array(self.bytes(of: $0)) }) == bytes { return result }
    }
    return shortestSpelling(for: bytes) ?? []
  }
}
