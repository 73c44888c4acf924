internal import Glibc

/// Token sequences of which an answer must be one, as a trie.
///
/// Only positions where choices part need the model: the rest of a choice is certain once it is the only one left. A probability is that of
/// guided decoding: at each branch the model's probabilities of the tokens that can still lead to a choice are scaled to sum to one, and
/// a choice's probability is the product of its decisions. So probabilities are normalised over the trie, step by step, and not over the
/// vocabulary; those of all choices sum to one.
package struct ChoiceSet: Sendable {
  /// A node with more than one child. A child's index counts the children of all branches, one branch after the other.
  struct Branch: Sendable {
    let children: [Int32]
    let firstChild: Int

    var childIndices: Range<Int> { firstChild..<firstChild + children.count }
  }

  /// Tokens to run behind the prompt, and the branches met after how many of them.
  struct Path: Sendable {
    let tokens: [Int32]
    let branches: [(branch: Int, depth: Int)]
  }

  /// The branch before the first token, if choices differ there.
  let rootBranch: Int?
  let branches: [Branch]
  /// The paths that cover all branches but the root's. Of those that share a beginning each runs it.
  let paths: [Path]
  /// For each choice, the indices of the children that it takes.
  private let decisions: [[Int]]
  /// For each child, how many choices take it.
  private let takers: [Int]

  /// A set of different, non-empty sequences, none of which begins with another: end them with the token that follows an answer.
  ///
  /// Returns nil when that does not hold.
  package init?(_ sequences: [[Int32]]) {
    var nodes = [Node()]
    for sequence in sequences {
      guard !sequence.isEmpty else { return nil }
      var node = 0
      for token in sequence {
        if let next = nodes[node].children[token] {
          node = next
        } else {
          nodes.append(Node())
          nodes[node].children[token] = nodes.count - 1
          nodes[node].order.append(token)
          node = nodes.count - 1
        }
      }
      nodes[node].ends += 1
    }
    guard nodes.allSatisfy({ $0.ends == 0 || ($0.ends == 1 && $0.children.isEmpty) }) else { return nil }

    var branches: [Branch] = []
    var branchOfNode: [Int: Int] = [:]
    var childCount = 0
    for (index, node) in nodes.enumerated() where node.order.count > 1 {
      branchOfNode[index] = branches.count
      branches.append(Branch(children: node.order, firstChild: childCount))
      childCount += node.order.count
    }
    var decisions: [[Int]] = []
    var candidates: [Path] = []
    var takers = [Int](repeating: 0, count: childCount)
    for sequence in sequences {
      var (node, taken, met): (Int, [Int], [(branch: Int, depth: Int)]) = (0, [], [])
      for (depth, token) in sequence.enumerated() {
        if let branch = branchOfNode[node], let child = branches[branch].children.firstIndex(of: token) {
          taken.append(branches[branch].firstChild + child)
          if depth > 0 { met.append((branch: branch, depth: depth)) }
        }
        node = nodes[node].children[token] ?? node
      }
      for child in taken { takers[child] += 1 }
      decisions.append(taken)
      if let deepest = met.last { candidates.append(Path(tokens: Array(sequence.prefix(deepest.depth)), branches: met)) }
    }
    self.branches = branches
    self.decisions = decisions
    self.takers = takers
    rootBranch = branchOfNode[0]
    paths = Self.cover(candidates)
  }

  private struct Node {
    var children: [Int32: Int] = [:]
    var order: [Int32] = []
    var ends = 0
  }

  /// The longest first, so that a path that lies on another one is left out; each branch stays with the first path that meets it.
  private static func cover(_ candidates: [Path]) -> [Path] {
    var covered: Set<Int> = []
    var paths: [Path] = []
    let order = candidates.indices.sorted { (candidates[$0].tokens.count, $1) > (candidates[$1].tokens.count, $0) }
    for path in order.map({ candidates[$0] }) {
      let new = path.branches.filter { !covered.contains($0.branch) }
      guard let deepest = path.branches.last, !covered.contains(deepest.branch) else { continue }
      covered.formUnion(new.map(\.branch))
      paths.append(Path(tokens: path.tokens, branches: new))
    }
    return paths
  }

  /// The number of choices.
  package var count: Int { decisions.count }

  /// The number of children of all branches.
  var childCount: Int { takers.count }

  /// Rows that scoring runs behind each prompt: none where all choices differ in their first token.
  package var rows: Int { paths.reduce(0) { $0 + $1.tokens.count } }

  /// The most tokens that a pass must hold for one choice.
  package var longestPath: Int { paths.first?.tokens.count ?? 0 }

  /// Runs of paths that fit one pass. A path longer than a pass fits none: see ``longestPath``.
  func groups(rows: Int, segments: Int) -> [Range<Int>] {
    var groups: [Range<Int>] = []
    var (first, used) = (0, 0)
    for (index, path) in paths.enumerated() {
      if index > first, used + path.tokens.count > rows || index - first == segments {
        groups.append(first..<index)
        (first, used) = (index, 0)
      }
      used += path.tokens.count
    }
    if first < paths.count { groups.append(first..<paths.count) }
    return groups
  }

  /// The log-probability of each choice in nats, from the logits of all children. Choices that are `excluded` count as if they were not in
  /// the set: theirs is -∞.
  func scores(_ logits: [Float], excluding excluded: Set<Int> = []) -> [Double] {
    var left = takers
    for choice in excluded where decisions.indices.contains(choice) { for child in decisions[choice] { left[child] -= 1 } }
    var logProbabilities = [Double](repeating: -.infinity, count: logits.count)
    for branch in branches {
      var largest = -Double.infinity
      for child in branch.childIndices where left[child] > 0 { largest = max(largest, Double(logits[child])) }
      var sum = 0.0
      for child in branch.childIndices where left[child] > 0 { sum += exp(Double(logits[child]) - largest) }
      let normalizer = largest + log(sum)
      // A logit that is no number makes the sum and so all of these none.
      for child in branch.childIndices where left[child] > 0 { logProbabilities[child] = Double(logits[child]) - normalizer }
    }
    return decisions.indices.map { choice in
      excluded.contains(choice) ? -.infinity : decisions[choice].reduce(0) { $0 + logProbabilities[$1] }
    }
  }
}
