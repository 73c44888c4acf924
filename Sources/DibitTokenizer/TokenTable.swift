/// The spelling of every token and the id of every spelling, compared byte by byte.
///
/// One arena and one open-addressing table instead of a dictionary: lookups take a range of a larger text without copying it,
/// and canonically equivalent spellings stay different tokens.
struct TokenTable: Sendable {
  /// The spellings of all tokens.
  private(set) var bytes: [UInt8]
  /// The range of the spelling of each id; `absent` for ids without a token.
  private var ranges: [Range<Int>]
  /// Open addressing, with room for twice the tokens.
  private var slots: [Slot]
  private var tokens = 0
  private let hash = ByteHash()
  /// The first token that is spelled like one before it, which is the one that is found.
  private(set) var repeated: Int32?

  private struct Slot {
    /// Of a spelling, see ``ByteHash/word(_:_:)``.
    let word: UInt64
    let length: Int32
    /// Negative in a vacant slot.
    let id: Int32
    static let vacant = Slot(word: 0, length: 0, id: -1)
  }

  private static let absent = -1 ..< -1

  /// A table of tokens with distinct ids.
  init(_ list: TokenList) {
    bytes = []
    // A list has much more room than it needs.
    bytes.reserveCapacity(list.bytes.count + 4096)
    bytes += list.bytes
    ranges = Array(repeating: Self.absent, count: list.highestID + 1)
    slots = []
    grow(toHold: list.count)
    for index in 0..<list.count { insert(list.range(index), list.ids[index]) }
  }

  /// The highest id plus one.
  var count: Int { ranges.count }

  /// Adds a token with an id that is not taken.
  mutating func append(_ spelling: [UInt8], id: Int32) {
    grow(toHold: tokens + 1)
    while ranges.count <= id { ranges.append(Self.absent) }
    let start = bytes.count
    bytes.append(contentsOf: spelling)
    insert(start..<bytes.count, id)
  }

  private mutating func insert(_ range: Range<Int>, _ id: Int32) {
    ranges[Int(id)] = range
    tokens += 1
    let word = hash.word(bytes, range)
    let slot = slot(of: bytes, range, word)
    if slots[slot].id < 0 {
      slots[slot] = Slot(word: word, length: Int32(clamping: range.count), id: id)
    } else {
      repeated = repeated ?? id
    }
  }

  private mutating func grow(toHold count: Int) {
    if slots.count >= max(16, count * 2) { return }
    var capacity = 16
    while capacity < count * 2 { capacity *= 2 }
    let old = slots
    slots = Array(repeating: .vacant, count: capacity)
    for entry in old where entry.id >= 0 {
      var slot = homeSlot(entry.word, entry.length)
      while slots[slot].id >= 0 { slot = (slot + 1) & (capacity - 1) }
      slots[slot] = entry
    }
  }

  /// The bytes of the token with this id, or nil when there is none.
  func spelling(of id: Int32) -> ArraySlice<UInt8>? { range(of: id).map { bytes[$0] } }

  /// Returns the range of these bytes in ``bytes``.
  func range(of id: Int32) -> Range<Int>? {
    guard id >= 0, id < ranges.count, ranges[Int(id)] != Self.absent else { return nil }
    return ranges[Int(id)]
  }

  /// Checks that the token with this id is spelled as `bytes[range]`.
  func isSpelled(_ id: Int32, _ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard ranges.indices.contains(Int(id)) else { return false }
    let known = ranges[Int(id)]
    guard known.count == range.count, known != Self.absent else { return false }
    for offset in 0..<range.count where self.bytes[known.lowerBound + offset] != bytes[range.lowerBound + offset] { return false }
    return true
  }

  /// The id of the token spelled as `bytes[range]`.
  func id(of bytes: [UInt8], in range: Range<Int>) -> Int32? {
    let id = slots[slot(of: bytes, range, hash.word(bytes, range))].id
    return id < 0 ? nil : id
  }

  /// The id of the token spelled as `bytes`.
  func id(of bytes: [UInt8]) -> Int32? { id(of: bytes, in: 0..<bytes.count) }

  /// The id that the first two slots suggest for `bytes[range]`, or -1. Nothing that is read decides what is done next: in a loop over many
  /// spellings the CPU waits for all their slots at once.
  func suggestion(for bytes: [UInt8], in range: Range<Int>) -> Int32 {
    let (word, length) = (hash.word(bytes, range), Int32(clamping: range.count))
    let homeSlot = homeSlot(word, length)
    let (first, second) = (slots[homeSlot], slots[(homeSlot + 1) & (slots.count - 1)])
    let suggestion = second.word ^ word | UInt64(UInt32(bitPattern: second.length ^ length)) == 0 ? second.id : -1
    return first.word ^ word | UInt64(UInt32(bitPattern: first.length ^ length)) == 0 ? first.id : suggestion
  }

  /// The id of the token spelled as `bytes[range]`, with what ``suggestion(for:in:)`` says.
  func id(of bytes: [UInt8], in range: Range<Int>, suggestion: Int32) -> Int32? {
    if suggestion >= 0, range.count <= 8 || isSpelled(suggestion, bytes, range) { return suggestion }
    return id(of: bytes, in: range)
  }

  /// The slot of the spelling `bytes[range]`, or the vacant one where it would be.
  private func slot(of bytes: [UInt8], _ range: Range<Int>, _ word: UInt64) -> Int {
    let length = Int32(clamping: range.count)
    var slot = homeSlot(word, length)
    while slots[slot].id >= 0 {
      let entry = slots[slot]
      if entry.word == word, entry.length == length, range.count <= 8 || isSpelled(entry.id, bytes, range) { break }
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  /// The slot where the search for a spelling begins.
  private func homeSlot(_ word: UInt64, _ length: Int32) -> Int {
    Int(truncatingIfNeeded: hash(word ^ UInt64(UInt32(bitPattern: length)))) & (slots.count - 1)
  }
}
