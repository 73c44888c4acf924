/// The merges of a byte-pair model in order of rank, and the rank of every pair.
struct MergeTable: Sendable {
  /// One merge: `left` and `right` become `result`.
  struct Merge: Sendable, Equatable {
    let left: Int32
    let right: Int32
    let result: Int32
  }

  /// The merges as a file lists them.
  let merges: [Merge]
  /// Open addressing.
  private var slots: [Slot]
  private let hash = ByteHash()
  private let hasDistinctRanks: Bool

  /// The result of merging two neighbours, and its rank: lowest first.
  struct Value: Sendable, Equatable {
    var rank: UInt32
    var result: Int32
  }

  private struct Slot {
    var key: UInt64
    var value: Value
    static let vacant = Slot(key: .max, value: Value(rank: 0, result: -1))
  }

  /// A table whose ranks are the indices in the list. A pair that is listed twice has the rank of its last listing.
  init(_ merges: [Merge]) {
    self.init(merges: merges, count: merges.count, hasDistinctRanks: true)
    for (rank, merge) in merges.enumerated() { insert(merge, rank: UInt32(rank)) }
  }

  /// A table of pairs with ranks that several may share; `listed` is what a file shows of them.
  init(ranked: [(merge: Merge, rank: UInt32)], listed: [Merge]) {
    self.init(merges: listed, count: ranked.count, hasDistinctRanks: false)
    for entry in ranked { insert(entry.merge, rank: entry.rank) }
  }

  private init(merges: [Merge], count: Int, hasDistinctRanks: Bool) {
    self.merges = merges
    self.hasDistinctRanks = hasDistinctRanks
    var capacity = 16
    while capacity < count * 2 { capacity *= 2 }
    slots = Array(repeating: .vacant, count: capacity)
  }

  private mutating func insert(_ merge: Merge, rank: UInt32) {
    let key = Self.key(merge.left, merge.right)
    slots[slot(of: key)] = Slot(key: key, value: Value(rank: rank, result: merge.result))
  }

  /// The merge of two neighbours, or nil when they do not merge.
  func value(_ left: Int32, _ right: Int32) -> Value? {
    let key = Self.key(left, right)
    let slot = slots[slot(of: key)]
    return slot.key == key && slot.value.result >= 0 ? slot.value : nil
  }

  /// Checks that an entry of this rank, made for an older pair, still counts for the present pair.
  func holds(_ rank: UInt32, for value: Value) -> Bool {
    value.rank == rank || (hasDistinctRanks && merges[Int(rank)].result == value.result)
  }

  private static func key(_ left: Int32, _ right: Int32) -> UInt64 {
    UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
  }

  /// The slot of a pair, or the vacant one where it would be.
  private func slot(of key: UInt64) -> Int {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash(key)) & mask
    while slots[slot].key != key, slots[slot].key != Slot.vacant.key { slot = (slot + 1) & mask }
    return slot
  }
}
