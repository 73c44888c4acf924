/// One way to read the text so far: a state in a leaf and what must follow it.
struct Configuration: Hashable, Sendable {
  var state: Int32
  /// The cell that follows the leaf, or -1 for nothing. For an undeclared key: the rest of its object.
  var cell: Int32
  /// The scalars that a string must still get, and may.
  var atLeast: Int32 = 0
  var atMost: Int32 = .max
  /// The undeclared key so far, -1 when it is empty; -2 when this is no such key.
  var key: Int32 = -2
}

/// Several ways at once, and whether the text may end here.
struct Front: Sendable {
  var ways: [Configuration] = []
  var isComplete = false
  private var known: Set<Configuration> = []
  private static let smallCount = 12

  var isDead: Bool { ways.isEmpty && !isComplete }

  mutating func removeAll() {
    ways.removeAll(keepingCapacity: true)
    if !known.isEmpty { known.removeAll(keepingCapacity: true) }
    isComplete = false
  }

  /// Adds a way unless it is there.
  mutating func insert(_ way: Configuration) {
    if ways.count < Self.smallCount {
      if ways.contains(way) { return }
    } else {
      if known.isEmpty { known = Set(ways) }
      guard known.insert(way).inserted else { return }
    }
    ways.append(way)
  }

  /// Keeps the first ways and the one at `index`.
  mutating func prune(to limit: Int, keeping index: Int) {
    guard ways.count > limit else { return }
    if index >= limit { ways.swapAt(limit - 1, index) }
    ways.removeLast(ways.count - limit)
    known = []
  }
}
