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
  private var keys: [UInt64]
  private var values: [Value]
  /// The result of each rank where ranks are distinct, else empty.
  private let results: [Int32]
  private let shift: UInt64
  private static let vacant = UInt64.max

  /// What two neighbours become, and how soon: lowest rank first.
  struct Value: Sendable, Equatable {
    var rank: UInt32
    var result: Int32
  }

  /// A table whose ranks are the places in the list. A pair that is listed twice has the rank of its last listing.
  init(_ merges: [Merge]) {
    self.init(merges: merges, count: merges.count, results: merges.map(\.result))
    for (rank, merge) in merges.enumerated() { insert(merge, rank: UInt32(rank)) }
  }

  /// A table of pairs with ranks that several may share; `listed` is what a file shows of them.
  init(ranked: [(merge: Merge, rank: UInt32)], listed: [Merge]) {
    self.init(merges: listed, count: ranked.count, results: [])
    for entry in ranked { insert(entry.merge, rank: entry.rank) }
  }

  private init(merges: [Merge], count: Int, results: [Int32]) {
    self.merges = merges
    self.results = results
    var bits: UInt64 = 4
    while 1 << bits < count * 2 { bits += 1 }
    shift = 64 - bits
    keys = Array(repeating: Self.vacant, count: 1 << bits)
    values = Array(repeating: Value(rank: 0, result: 0), count: 1 << bits)
  }

  private mutating func insert(_ merge: Merge, rank: UInt32) {
    let key = Self.key(merge.left, merge.right)
    var slot = slot(of: key)
    while keys[slot] != Self.vacant && keys[slot] != key { slot = (slot + 1) & (keys.count - 1) }
    keys[slot] = key
    values[slot] = Value(rank: rank, result: merge.result)
  }

  /// The merge of two neighbours, or nil when they do not merge.
  func value(_ left: Int32, _ right: Int32) -> Value? {
    let key = Self.key(left, right)
    var slot = slot(of: key)
    while keys[slot] != Self.vacant {
      if keys[slot] == key { return values[slot] }
      slot = (slot + 1) & (keys.count - 1)
    }
    return nil
  }

  /// Whether an entry of this rank, made for an older pair, still counts for the present pair.
  func holds(_ rank: UInt32, for value: Value) -> Bool {
    value.rank == rank || (!results.isEmpty && results[Int(rank)] == value.result)
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
