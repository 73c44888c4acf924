/// The spellings of tokens as a tree of bytes, for finding every token that starts at an offset.
struct ByteTrie: Sendable {
  /// The first step, by byte; 0 is the root, which nothing leads to.
  private var first = [UInt32](repeating: 0, count: 256)
  /// Open addressing: `node << 36 | byte << 28 | child`.
  private var slots: [UInt64]
  private var mask: Int
  private var count = 0
  /// The token that ends at each node, or -1.
  private(set) var tokens: [Int32] = [-1]
  private static let vacant = UInt64.max
  private static let childMask: UInt64 = (1 << 28) - 1

  init() {
    slots = Array(repeating: Self.vacant, count: 16)
    mask = 15
  }

  /// Adds a spelling, which is not empty.
  mutating func insert(_ spelling: ArraySlice<UInt8>, _ token: Int32) {
    var node: UInt32 = 0
    for byte in spelling {
      if let child = child(of: node, byte) {
        node = child
        continue
      }
      let child = UInt32(tokens.count)
      tokens.append(-1)
      if node == 0 { first[Int(byte)] = child } else { link(node, byte, child) }
      node = child
    }
    tokens[Int(node)] = token
  }

  /// The node after one more byte, or nil when no spelling goes on like this.
  func child(of node: UInt32, _ byte: UInt8) -> UInt32? {
    if node == 0 {
      let child = first[Int(byte)]
      return child == 0 ? nil : child
    }
    let key = UInt64(node) << 8 | UInt64(byte)
    var slot = Self.hash(key) & mask
    while true {
      let entry = slots[slot]
      if entry >> 28 == key { return UInt32(truncatingIfNeeded: entry & Self.childMask) }
      if entry == Self.vacant { return nil }
      slot = (slot + 1) & mask
    }
  }

  private mutating func link(_ node: UInt32, _ byte: UInt8, _ child: UInt32) {
    if (count + 1) * 2 > slots.count { grow() }
    count += 1
    insert((UInt64(node) << 8 | UInt64(byte)) << 28 | UInt64(child))
  }

  private mutating func insert(_ entry: UInt64) {
    var slot = Self.hash(entry >> 28) & mask
    while slots[slot] != Self.vacant { slot = (slot + 1) & mask }
    slots[slot] = entry
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: Self.vacant, count: old.count * 2)
    mask = slots.count - 1
    for entry in old where entry != Self.vacant { insert(entry) }
  }

  private static func hash(_ key: UInt64) -> Int {
    let mixed = key &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 24)
  }
}
