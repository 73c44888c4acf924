/// The ids of pieces of text that were encoded before: words come again and again.
struct WordCache {
  private var slots: [UInt32] = []
  private var entries: [Entry] = []
  private var bytes: [UInt8] = []
  private var ids: [Int32] = []

  private struct Entry {
    let hash: UInt64
    let start: Int
    let count: Int
    let firstID: Int
    let endID: Int
  }

  /// Longer pieces are not kept.
  static let longestPiece = 64
  private static let capacity = 1 << 17

  /// FNV-1a, eight bytes at a time where there are so many.
  static func hash(_ text: [UInt8], _ range: Range<Int>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(range.count)
    var index = range.lowerBound
    while range.upperBound - index >= 8 {
      var word: UInt64 = 0
      for offset in 0..<8 { word |= UInt64(text[index + offset]) << UInt64(8 * offset) }
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
      index += 8
    }
    while index < range.upperBound {
      hash = (hash ^ UInt64(text[index])) &* 0x100_0000_01B3
      index += 1
    }
    return hash ^ (hash >> 29)
  }

  /// Appends the ids of `text[range]` to `output` if they are known.
  func lookUp(_ text: [UInt8], _ range: Range<Int>, hash: UInt64, into output: inout [Int32]) -> Bool {
    if slots.isEmpty { return false }
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] != 0 {
      let entry = entries[Int(slots[slot]) - 1]
      if entry.hash == hash, entry.count == range.count, matches(entry.start, text, range) {
        for index in entry.firstID..<entry.endID { output.append(ids[index]) }
        return true
      }
      slot = (slot + 1) & mask
    }
    return false
  }

  /// Keeps the ids of a piece that is not known yet.
  mutating func insert(_ text: [UInt8], _ range: Range<Int>, hash: UInt64, _ result: ArraySlice<Int32>) {
    guard entries.count < Self.capacity else { return }
    if (entries.count + 1) * 2 > slots.count { grow() }
    entries.append(
      Entry(hash: hash, start: bytes.count, count: range.count, firstID: ids.count, endID: ids.count + result.count))
    bytes.append(contentsOf: text[range])
    ids.append(contentsOf: result)
    link(entries.count - 1)
  }

  private func matches(_ start: Int, _ text: [UInt8], _ range: Range<Int>) -> Bool {
    for offset in 0..<range.count where bytes[start + offset] != text[range.lowerBound + offset] { return false }
    return true
  }

  private mutating func link(_ number: Int) {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: entries[number].hash) & mask
    while slots[slot] != 0 { slot = (slot + 1) & mask }
    slots[slot] = UInt32(number + 1)
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: max(64, slots.count * 2))
    for number in entries.indices { link(number) }
  }
}
