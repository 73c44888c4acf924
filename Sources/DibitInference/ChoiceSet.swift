/// Token sequences of which an answer must be one, as a trie.
///
/// Only positions where choices part need the model: the rest of a choice is certain once it is the only one left.
public struct ChoiceSet: Sendable {
  /// A node with more than one child.
  struct Branch: Sendable {
    let children: [Int32]
  }

  /// Tokens to run behind the prompt, and the branches met after how many of them.
  struct Path: Sendable {
    let tokens: [Int32]
    let branches: [(branch: Int, depth: Int)]
  }

  /// The branch before the first token, if choices differ there.
  let rootBranch: Int?
  let branches: [Branch]
  let paths: [Path]
  /// For each choice, the branches it passes and the child it takes there.
  private let decisions: [[(branch: Int, child: Int32)]]

  /// A set of different, non-empty sequences, none of which begins with another: end them with the token that follows an answer.
  ///
  /// Returns nil when that does not hold.
  public init?(_ sequences: [[Int32]]) {
    var nodes = [Node()]
    for sequence in sequences {
      guard !sequence.isEmpty else { return nil }
      var node = 0
      for token in sequence {
        if let next = nodes[node].next(token) {
          node = next
        } else {
          nodes.append(Node())
          nodes[node].children.append((token: token, node: nodes.count - 1))
          node = nodes.count - 1
        }
      }
      nodes[node].ends += 1
    }
    guard nodes.allSatisfy({ $0.ends == 0 || ($0.ends == 1 && $0.children.isEmpty) }) else { return nil }

    var branches: [Branch] = []
    var branchOfNode: [Int: Int] = [:]
    for (index, node) in nodes.enumerated() where node.children.count > 1 {
      branchOfNode[index] = branches.count
      branches.append(Branch(children: node.children.map(\.token)))
    }
    self.branches = branches
    rootBranch = branchOfNode[0]
    var decisions: [[(branch: Int, child: Int32)]] = []
    var paths: [Path] = []
    for sequence in sequences {
      var (node, taken, met): (Int, [(branch: Int, child: Int32)], [(branch: Int, depth: Int)]) = (0, [], [])
      for (depth, token) in sequence.enumerated() {
        if let branch = branchOfNode[node] {
          taken.append((branch: branch, child: token))
          if depth > 0 { met.append((branch: branch, depth: depth)) }
        }
        node = nodes[node].next(token) ?? node
      }
      decisions.append(taken)
      guard let deepest = met.last, !paths.contains(where: { $0.branches.contains { $0.branch == deepest.branch } }) else { continue }
      paths.append(Path(tokens: Array(sequence.prefix(deepest.depth)), branches: met))
    }
    self.decisions = decisions
    self.paths = paths
  }

  private struct Node {
    var children: [(token: Int32, node: Int)] = []
    var ends = 0

    func next(_ token: Int32) -> Int? { children.first { $0.token == token }?.node }
  }

  /// The number of choices.
  public var count: Int { decisions.count }

  /// Runs of paths that fit one pass. A path longer than a pass has no place: see ``longestPath``.
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

  /// The most tokens that a pass must hold for one choice.
  public var longestPath: Int { paths.map(\.tokens.count).max() ?? 0 }

  /// Sums the log-probabilities of each choice's decisions.
  func scores(_ branchScores: [[Int32: Double]]) -> [Double] {
    decisions.map { $0.reduce(0) { $0 + (branchScores[$1.branch][$1.child] ?? -.infinity) } }
  }
}
