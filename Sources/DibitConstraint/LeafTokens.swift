/// The effect of every token of a vocabulary from one state of a leaf, whatever stands around the leaf.
struct LeafTokens: Sendable {
  /// A token that ends inside the leaf.
  struct Inside: Sendable {
    var token: Int32
    /// The scalars of a string that it starts.
    var scalars: UInt16
    /// The costs of the rest of the leaf behind it; 0: the leaf may end there.
    var cost: Int32
  }

  /// The tokens that end inside the leaf; nil when they are so few that the list is as fast.
  let mask: TokenMask?
  /// The same, those with the most scalars first.
  let inside: [Inside]
  /// Those with a cost above ``usualCost``, the highest first.
  let costly: [Inside]
  /// Those that end where the leaf may end.
  let closing: [Inside]
  let maximumScalars: Int32
  let highestCost: Int32
  /// The lowest cost of a token that does not end the leaf.
  let usualCost: Int32

  /// A token that goes on behind the leaf's end.
  struct Exit: Sendable {
    var token: Int32
    var scalars: UInt16
  }

  let exits: [Exit]
  /// The bytes of the exits behind the leaf's end.
  let tails: PreorderTrie

  /// From so many tokens on there is a mask.
  private static let maskFrom = 512

  /// Bytes that can stand behind a leaf's end: those between values and those that start one.
  private static let follows: [Bool] = {
    var result = [Bool](repeating: false, count: 256)
    for byte in ",]}:\"[{-0123456789tfn".utf8 { result[Int(byte)] = true }
    return result
  }()

  /// Walks the vocabulary from `state`.
  ///
  /// - Parameter costs: For each state of the automaton, the tokens to an end of its leaf.
  /// - Complexity: O(nodes of the trie) at most, and a dead branch takes one step.
  init(state: Int32, automaton: ByteAutomaton, costs: [Int32], body: Int32, vocabulary: TokenVocabulary) {
    let trie = vocabulary.trie
    var inside: [Inside] = []
    var exits: [Exit] = []
    var tails: [ArraySlice<UInt8>] = []
    var states = [Int32](repeating: -1, count: trie.maximumDepth + 1)
    var scalars = [UInt16](repeating: 0, count: trie.maximumDepth + 1)
    states[0] = state
    var node = 1
    while node < trie.count {
      let depth = Int(trie.depths[node])
      let from = states[depth - 1]
      let byte = trie.bytes[node]
      let next = automaton.next(from, byte)
      if next < 0 {
        node = Int(trie.ends[node])
        continue
      }
      states[depth] = next
      scalars[depth] = scalars[depth - 1] &+ (from == body && byte != UInt8(ascii: "\"") ? 1 : 0)
      if costs[Int(next)] < Costs.impossible {
        for token in trie.values(at: node) {
          inside.append(Inside(token: token, scalars: scalars[depth], cost: costs[Int(next)]))
        }
      }
      if automaton.isAccepting[Int(next)], Int(trie.ends[node]) > node + 1 {
        for token in trie.branch(at: node) {
          let tail = vocabulary.bytes(of: token).dropFirst(depth)
          guard let first = tail.first, Self.follows[Int(first)] else { continue }
          exits.append(Exit(token: token, scalars: scalars[depth]))
          tails.append(tail)
        }
      }
      node += 1
    }
    inside = Self.sorted(inside)
    closing = inside.filter { $0.cost == 0 }
    let usual = inside.lazy.filter { $0.cost > 0 }.map(\.cost).min() ?? 0
    usualCost = usual
    costly = inside.filter { $0.cost > usual }.sorted { $0.cost > $1.cost }
    maximumScalars = inside.first.map { Int32($0.scalars) } ?? 0
    highestCost = costly.first?.cost ?? usual
    self.inside = inside
    if inside.count < Self.maskFrom {
      mask = nil
    } else {
      var mask = TokenMask(count: vocabulary.count)
      for entry in inside { mask.allow(entry.token) }
      self.mask = mask
    }
    self.exits = exits
    self.tails = PreorderTrie(tails, indices: tails.indices.map(Int32.init))
  }

  /// The tokens with the most scalars first: as many buckets as there are numbers of scalars.
  private static func sorted(_ tokens: [Inside]) -> [Inside] {
    var starts = [Int](repeating: 0, count: (tokens.lazy.map { Int($0.scalars) }.max() ?? 0) + 2)
    let last = starts.count - 2
    if last == 0 { return tokens }
    for token in tokens { starts[last - Int(token.scalars) + 1] += 1 }
    for bucket in 1..<starts.count { starts[bucket] += starts[bucket - 1] }
    var result = tokens
    for token in tokens {
      result[starts[last - Int(token.scalars)]] = token
      starts[last - Int(token.scalars)] += 1
    }
    return result
  }
}
