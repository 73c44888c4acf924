/// The number of tokens, at most, that the shortest end of each part of a grammar takes.
///
/// A sum of parts is an upper bound: a token may also reach over the border of two parts. It never grows along the shortest way, so a
/// state whose costs fit the tokens left always has a token whose costs fit one less.
struct Costs: Sendable {
  /// More than any text that can be made.
  static let impossible: Int32 = 1 << 30

  /// For each state of the automaton, the tokens to an end of its leaf.
  let leaves: [Int32]
  private let grammar: Grammar
  /// For each number of containers that may still be opened, the costs of each rule.
  private var values: [[Int32]] = []
  /// For each such number, the costs of an object's rest, by property, missing members and whether it is the first.
  private var members: [[Int32]] = []
  private var starts: [Int] = []

  init(_ grammar: Grammar, leaves: [Int32]) {
    (self.grammar, self.leaves) = (grammar, leaves)
    var size = 0
    for shape in grammar.objects {
      starts.append(size)
      size += (shape.properties.count + 1) * (Int(shape.minimum) + 1) * 2
    }
    for depthLeft in 0...grammar.maximumDepth {
      values.append(
        grammar.rules.map { nodes in nodes.reduce(Self.impossible) { min($0, node($1, depthLeft: depthLeft)) } })
      var table = [Int32](repeating: Self.impossible, count: size)
      for shape in grammar.objects.indices { fill(&table, shape, depthLeft) }
      members.append(table)
    }
  }

  static func sum(_ parts: Int32...) -> Int32 { Int32(min(Int(impossible), parts.reduce(0) { $0 + Int($1) })) }

  /// The costs of a value where so many containers may still be opened.
  func value(_ rule: Int32, depthLeft: Int) -> Int32 { values[depthLeft][Int(rule)] }

  func node(_ node: ValueNode, depthLeft: Int) -> Int32 {
    switch node {
    case .leaf(let start): return leaves[Int(start)]
    case .text(let atLeast, _): return Self.sum(leaves[Int(grammar.leaves.text)], atLeast)
    case .object(let shape):
      guard depthLeft > 0 else { return Self.impossible }
      return Self.sum(leaves[Int(grammar.leaves.openBrace)], member(Int(shape), index: 0, count: 0, depthLeft: depthLeft - 1))
    case .array(let shape):
      guard depthLeft > 0 else { return Self.impossible }
      return Self.sum(leaves[Int(grammar.leaves.openBracket)], items(Int(shape), index: 0, depthLeft: depthLeft - 1))
    }
  }

  /// The costs of the rest of an object, from a property on, behind so many members; its values may open `depthLeft` containers.
  func member(_ shape: Int, index: Int, count: Int32, depthLeft: Int) -> Int32 {
    let missing = max(0, grammar.objects[shape].minimum - count)
    return members[depthLeft][offset(shape, index, Int(missing), isFirst: count == 0)]
  }

  private func offset(_ shape: Int, _ index: Int, _ missing: Int, isFirst: Bool) -> Int {
    starts[shape] + (index * (Int(grammar.objects[shape].minimum) + 1) + missing) * 2 + (isFirst ? 1 : 0)
  }

  private func fill(_ table: inout [Int32], _ number: Int, _ depthLeft: Int) {
    let shape = grammar.objects[number]
    let end = shape.properties.count
    for index in (0...end).reversed() {
      for missing in 0...Int(shape.minimum) {
        for isFirst in [false, true] {
          var best = Self.impossible
          if shape.requiredFrom[index] == 0 {
            if missing == 0 { best = leaves[Int(grammar.leaves.closeBrace)] }
            // An undeclared key may need one more scalar to differ from the others. With none missing it is never the short way.
            if shape.additional >= 0, missing > 0 {
              let key = leaves[Int(isFirst ? grammar.leaves.key : grammar.leaves.nextKey)]
              best = min(
                best,
                Self.sum(key, 2, value(shape.additional, depthLeft: depthLeft), table[offset(number, end, missing - 1, isFirst: false)]))
            }
          }
          if index < end {
            let property = shape.properties[index]
            let rest = table[offset(number, index + 1, max(0, missing - 1), isFirst: false)]
            let key = leaves[Int(isFirst ? property.key : property.nextKey)]
            best = min(best, Self.sum(key, value(property.rule, depthLeft: depthLeft), rest))
            if !property.isRequired { best = min(best, table[offset(number, index + 1, missing, isFirst: isFirst)]) }
          }
          table[offset(number, index, missing, isFirst: isFirst)] = best
        }
      }
    }
  }

  /// The costs of any of the values of which an array may have one each.
  func unused(_ number: Int) -> Int32 { grammar.arrays[number].once.reduce(0) { max($0, leaves[Int($1)]) } }

  /// The costs of the rest of an array behind so many elements; its elements may open `depthLeft` containers.
  func items(_ number: Int, index: Int32, depthLeft: Int) -> Int32 {
    let shape = grammar.arrays[number]
    var total = Int(leaves[Int(grammar.leaves.closeBracket)])
    var next = index
    while next < shape.minimum, Int(next) < shape.prefix.count {
      total += Int(value(shape.prefix[Int(next)], depthLeft: depthLeft)) + Int(next > 0 ? leaves[Int(grammar.leaves.comma)] : 0)
      next += 1
    }
    if !shape.once.isEmpty {
      let more = Int(max(0, shape.minimum - next))
      total += more * Int(unused(number)) + max(0, next > 0 ? more : more - 1) * Int(leaves[Int(grammar.leaves.comma)])
    } else if next < shape.minimum {
      guard shape.item >= 0 else { return Self.impossible }
      let more = Int(shape.minimum - next)
      let commas = next > 0 ? more : more - 1
      total += more * Int(value(shape.item, depthLeft: depthLeft)) + commas * Int(leaves[Int(grammar.leaves.comma)])
    }
    return Int32(min(total, Int(Self.impossible)))
  }
}

extension ByteAutomaton {
  /// For each state, the fewest single bytes to an accepting state, of those that are at hand.
  func distances(using isAvailable: [Bool]) -> [Int32] {
    var result = [Int32](repeating: Costs.impossible, count: count)
    var (sources, offsets) = ([Int32](repeating: 0, count: arcs.count), [Int32](repeating: 0, count: count + 1))
    for arc in arcs { offsets[Int(arc.target) + 1] += 1 }
    for state in 0..<count { offsets[state + 1] += offsets[state] }
    var fill = offsets
    for state in 0..<Int32(count) {
      for arc in arcs(of: state) where (arc.first...arc.last).contains(where: { isAvailable[Int($0)] }) {
        sources[Int(fill[Int(arc.target)])] = state
        fill[Int(arc.target)] += 1
      }
    }
    var queue = (0..<Int32(count)).filter { isAccepting[Int($0)] }
    for state in queue { result[Int(state)] = 0 }
    var next = 0
    while next < queue.count {
      let state = queue[next]
      next += 1
      for source in sources[Int(offsets[Int(state)])..<Int(fill[Int(state)])] where result[Int(source)] == Costs.impossible {
        result[Int(source)] = result[Int(state)] + 1
        queue.append(source)
      }
    }
    return result
  }

  /// For each state, the tokens of a vocabulary that lead to an accepting state: the fewest in trees, single bytes elsewhere.
  func distances(using vocabulary: TokenVocabulary) -> [Int32] {
    var result = distances(using: vocabulary.hasByte)
    for tree in trees {
      // In a tree, what follows a state stands behind it.
      for state in tree.reversed() where !isAccepting[state] {
        var work: [(node: Int, state: Int32)] = [(0, Int32(state))]
        while let (node, from) = work.popLast() {
          for arc in arcs(of: from) {
            guard let child = vocabulary.trie.child(of: node, arc.first) else { continue }
            if !vocabulary.trie.values(at: child).isEmpty { result[state] = min(result[state], result[Int(arc.target)] + 1) }
            work.append((child, arc.target))
          }
        }
      }
    }
    return result
  }
}
