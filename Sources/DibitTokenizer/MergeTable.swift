/// The merges of a byte-pair model in order of rank, and the rank of every pair.
struct MergeTable: Sendable {
  /// One merge: `left` and `right` become `result`.
  struct Merge: Sendable, Equatable {
    let left: Int32
    let right: Int32
    let result: Int32
  }

  /// The merges; the index is the rank, lowest first.
  let merges: [Merge]
  private var keys: [UInt64]
  private var ranks: [UInt32]
  private let shift: UInt64
  private static let vacant = UInt64.max

  /// A pair that is listed twice has the rank of its last listing.
  init(_ merges: [Merge]) {
    self.merges = merges
    var bits: UInt64 = 4
    while 1 << bits < merges.count * 2 { bits += 1 }
    shift = 64 - bits
    keys = Array(repeating: Self.vacant, count: 1 << bits)
    ranks = Array(repeating: 0, count: 1 << bits)
    for (rank, merge) in merges.enumerated() {
      let key = Self.key(merge.left, merge.right)
      var slot = slot(of: key)
      while keys[slot] != Self.vacant && keys[slot] != key { slot = (slot + 1) & (keys.count - 1) }
      keys[slot] = key
      ranks[slot] = UInt32(rank)
    }
  }

  /// The rank of the merge of two neighbours, or nil when they do not merge.
  func rank(_ left: Int32, _ right: Int32) -> Int? {
    let key = Self.key(left, right)
    var slot = slot(of: key)
    while keys[slot] != Self.vacant {
      if keys[slot] == key { return Int(ranks[slot]) }
      slot = (slot + 1) & (keys.count - 1)
    }
    return nil
  }

  private static func key(_ left: Int32, _ right: Int32) -> UInt64 {
    UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
  }

  /// Multiplicative hashing: the top bits of the product.
  private func slot(of key: UInt64) -> Int {
    let mixed = (key ^ (key >> 29)) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> shift)
  }
}
