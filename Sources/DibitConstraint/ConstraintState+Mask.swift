extension ConstraintState {
  /// Allows the tokens behind which the costs are at most `budget`; returns the highest costs behind any of them.
  mutating func fill(_ mask: inout TokenMask, budget: Int32) -> Int32 {
    mask.clear()
    var worst: Int32 = 0
    for way in front.ways {
      if way.key > -2 {
        worst = max(worst, addKeyTokens(way, budget, &mask))
      } else {
        worst = max(worst, addTokens(way, budget, &mask))
      }
    }
    if front.isComplete { for token in program.vocabulary.endTokens { mask.allow(token) } }
    return worst
  }

  // MARK: Leaves

  private mutating func addTokens(_ way: Configuration, _ budget: Int32, _ mask: inout TokenMask) -> Int32 {
    let leaf = program.tokens(at: way.state)
    let behind = walker.stack.cost(way.cell)
    let most = Costs.sum(leaf.highestCost, way.atLeast, behind)
    if way.atLeast == 0, way.atMost >= leaf.maximumScalars, most <= budget {
      if let known = leaf.mask { mask.formUnion(known) } else { for entry in leaf.inside { mask.allow(entry.token) } }
    } else if way.atLeast == 0 || most <= budget {
      addLimited(leaf, way, budget - behind, &mask)
    } else {
      for entry in leaf.inside where Self.fits(entry, way, budget - behind) { mask.allow(entry.token) }
    }
    var start = Front()
    guard !leaf.exits.isEmpty else { return most }
    walker.leave(way, into: &start)
    return max(most, addTails(leaf, way, start, budget, &mask))
  }

  /// Checks whether the limits of a string and the costs leave a token that ends inside the leaf.
  private static func fits(_ entry: LeafTokens.Inside, _ way: Configuration, _ budget: Int32) -> Bool {
    let scalars = Int32(entry.scalars)
    guard scalars <= way.atMost else { return false }
    if entry.cost == 0 { return scalars >= way.atLeast && budget >= 0 }
    return Costs.sum(entry.cost, max(0, way.atLeast - scalars)) <= budget
  }

  /// The tokens of a leaf less those that the limits refuse, which are few as a rule.
  private mutating func addLimited(_ leaf: LeafTokens, _ way: Configuration, _ budget: Int32, _ mask: inout TokenMask) {
    // The entries with too many scalars stand in front.
    var (low, high) = (0, leaf.inside.count)
    while low < high {
      let middle = (low + high) / 2
      if Int32(leaf.inside[middle].scalars) > way.atMost { low = middle + 1 } else { high = middle }
    }
    guard let known = leaf.mask, low <= leaf.inside.count / 2, leaf.usualCost <= budget || way.atLeast > 0 else {
      for entry in leaf.inside[low...] where Self.fits(entry, way, budget) { mask.allow(entry.token) }
      return
    }
    scratch.words = known.words
    for entry in leaf.inside[..<low] { scratch.refuse(entry.token) }
    if way.atLeast > 0 {
      // Only reached when the costs do not matter.
      for entry in leaf.closing where Int32(entry.scalars) < way.atLeast { scratch.refuse(entry.token) }
    } else {
      if budget < 0 { for entry in leaf.closing { scratch.refuse(entry.token) } }
      for entry in leaf.costly {
        if entry.cost <= budget { break }
        scratch.refuse(entry.token)
      }
    }
    mask.formUnion(scratch)
  }

  /// Adds tokens that go on behind the leaf, where what follows it reads their tails.
  private mutating func addTails(
    _ leaf: LeafTokens, _ way: Configuration, _ start: Front, _ budget: Int32, _ mask: inout TokenMask
  ) -> Int32 {
    var worst: Int32 = 0
    let tails = leaf.tails
    var fronts = [start]
    var unknowns = [false]
    var node = 1
    while node < tails.count {
      let depth = Int(tails.depths[node])
      if fronts.count == depth {
        fronts.append(Front())
        unknowns.append(false)
      }
      walker.metUnknownKey = false
      walker.step(fronts[depth - 1], tails.bytes[node], into: &fronts[depth])
      unknowns[depth] = unknowns[depth - 1] || walker.metUnknownKey
      if fronts[depth].isDead {
        node = Int(tails.ends[node])
        continue
      }
      let values = tails.values(at: node)
      if !values.isEmpty {
        let cost = walker.cost(fronts[depth])
        for index in values where cost <= budget {
          let exit = leaf.exits[Int(index)]
          guard Int32(exit.scalars) >= way.atLeast, Int32(exit.scalars) <= way.atMost else { continue }
          if unknowns[depth], !isExactlyAllowed(exit.token, from: way) { continue }
          worst = max(worst, cost)
          mask.allow(exit.token)
        }
      }
      node += 1
    }
    return worst
  }

  /// Checks whether a token leads somewhere from one way, byte by byte.
  private mutating func isExactlyAllowed(_ token: Int32, from way: Configuration) -> Bool {
    var start = Front()
    start.insert(way)
    return reach(program.vocabulary.bytes(of: token), from: start) != nil
  }

  // MARK: Undeclared keys

  /// The tokens of a key that must differ from those that its object has.
  private mutating func addKeyTokens(_ way: Configuration, _ budget: Int32, _ mask: inout TokenMask) -> Int32 {
    let leaf = program.tokens(at: way.state)
    let most = Costs.sum(leaf.highestCost, 2, walker.costBehindKey(way.cell))
    guard most <= budget else { return addShortKeyTokens(way, budget, &mask) }
    var allowed = TokenMask(count: mask.count)
    if let known = leaf.mask { allowed.words = known.words } else { for entry in leaf.inside { allowed.allow(entry.token) } }
    var start = Front()
    walker.leave(way, isKeyUnknown: true, into: &start)
    let worst = addTails(leaf, way, start, budget, &allowed)
    for path in refusedPaths(way) {
      guard let node = program.vocabulary.trie.node(of: path) else { continue }
      for token in program.vocabulary.trie.branch(at: node) { allowed.refuse(token) }
    }
    mask.formUnion(allowed)
    return max(most, worst)
  }

  /// The bytes from here to the end of each key that is refused.
  private func refusedPaths(_ way: Configuration) -> [[UInt8]] {
    let leaves = program.grammar.leaves
    let opening: [UInt8]
    if way.state == leaves.nextKey {
      opening = Array(",\"".utf8)
    } else if way.state == leaves.key {
      opening = Array("\"".utf8)
    } else if leaves.keyStates.contains(way.state) {
      opening = []
    } else {
      return []
    }
    let prefix = walker.stack.bytes(ofKey: way.key)
    var isUnknown = false
    return walker.refusedKeys(in: way.cell, isUnknown: &isUnknown).filter { $0.starts(with: prefix) }.map {
      opening + $0.dropFirst(prefix.count) + [UInt8(ascii: "\"")]
    }
  }

  /// With few tokens left, the tokens on the shortest way to the key's end.
  private mutating func addShortKeyTokens(_ way: Configuration, _ budget: Int32, _ mask: inout TokenMask) -> Int32 {
    var front = Front()
    front.insert(way)
    var node = 0
    // The way is a few bytes long: a comma, quotes, the rest of a scalar, one or two letters, the colon.
    for _ in 0..<32 {
      guard let way = front.ways.first(where: { $0.key > -2 }), let byte = shortestByte(way) else { break }
      guard let child = program.vocabulary.trie.child(of: node, byte) else { break }
      node = child
      var next = Front()
      walker.step(way, byte, into: &next)
      front = next
      if walker.cost(front) <= budget { for token in program.vocabulary.trie.values(at: node) { mask.allow(token) } }
    }
    return Costs.impossible
  }

  private func shortestByte(_ way: Configuration) -> UInt8? {
    if way.state == program.grammar.leaves.keyBody { return walker.filler(for: way).first ?? UInt8(ascii: "\"") }
    var best: (cost: Int32, byte: UInt8)?
    for arc in program.grammar.automaton.arcs(of: way.state) {
      let cost = program.costs.leaves[Int(arc.target)]
      for byte in arc.first...arc.last where program.vocabulary.hasByte[Int(byte)] && cost < best?.cost ?? .max { best = (cost, byte) }
    }
    return best?.byte
  }
}
