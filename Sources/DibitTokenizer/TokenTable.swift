/// The spelling of every token and the id of every spelling, compared byte by byte.
///
/// One arena and one open-addressing table instead of a dictionary: lookups take a range of a larger text without copying it,
/// and canonically equivalent spellings stay different tokens.
struct TokenTable: Sendable {
  private var arena: [UInt8] = []
  private var starts: [Int] = []
  private var isPresent: [Bool] = []
  private var slots: [Int32]
  private let mask: Int

  /// A table of tokens with distinct ids and distinct spellings.
  init(_ entries: [(spelling: [UInt8], id: Int32)]) {
    var capacity = 16
    while capacity < entries.count * 2 { capacity *= 2 }
    slots = Array(repeating: -1, count: capacity)
    mask = capacity - 1
    let highest = entries.reduce(-1) { max($0, Int($1.id)) }
    var byID = [[UInt8]?](repeating: nil, count: highest + 1)
    for entry in entries { byID[Int(entry.id)] = entry.spelling }
    starts.reserveCapacity(highest + 2)
    for (id, spelling) in byID.enumerated() {
      starts.append(arena.count)
      isPresent.append(spelling != nil)
      guard let spelling else { continue }
      arena.append(contentsOf: spelling)
      var slot = Self.hash(spelling, 0..<spelling.count) & mask
      while slots[slot] >= 0 { slot = (slot + 1) & mask }
      slots[slot] = Int32(id)
    }
    starts.append(arena.count)
  }

  /// The highest id plus one.
  var count: Int { isPresent.count }

  /// The bytes of the token with this id, or nil when there is none.
  func spelling(of id: Int32) -> ArraySlice<UInt8>? {
    guard id >= 0, id < isPresent.count, isPresent[Int(id)] else { return nil }
    return arena[starts[Int(id)]..<starts[Int(id) + 1]]
  }

  /// The id of the token spelled as `bytes[range]`.
  func id(of bytes: [UInt8], in range: Range<Int>) -> Int32? {
    var slot = Self.hash(bytes, range) & mask
    while slots[slot] >= 0 {
      let id = Int(slots[slot])
      if matches(id, bytes, range) { return slots[slot] }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// The id of the token spelled as `bytes`.
  func id(of bytes: [UInt8]) -> Int32? { id(of: bytes, in: 0..<bytes.count) }

  private func matches(_ id: Int, _ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    let start = starts[id]
    guard starts[id + 1] - start == range.count else { return false }
    for offset in 0..<range.count where arena[start + offset] != bytes[range.lowerBound + offset] { return false }
    return true
  }

  /// FNV-1a with a final fold, as a non-negative number.
  private static func hash(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in range { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3 }
    return Int(truncatingIfNeeded: (hash ^ (hash >> 29)) & 0x7FFF_FFFF_FFFF_FFFF)
  }
}
