internal import DibitJSON

/// Tokens in the order of a file: their spellings one behind the other, and their ids.
struct TokenList: Sendable {
  private(set) var bytes: [UInt8] = []
  private var ends: [Int] = []
  private(set) var ids: [Int32] = []

  init() {}

  init(_ entries: some Sequence<(spelling: [UInt8], id: Int32)>) { for entry in entries { append(entry.spelling, id: entry.id) } }

  /// Reads an object of tokens with their ids. Spellings may be anything.
  init(_ reader: inout JSONReader) throws(JSONError) {
    try reader.expect("{")
    // `"a":0,` is the shortest entry: room that is not used is never touched.
    bytes.reserveCapacity(reader.remaining)
    ends.reserveCapacity(reader.remaining / 6)
    ids.reserveCapacity(reader.remaining / 6)
    if reader.accept("}") { return }
    repeat {
      try reader.string(into: &bytes)
      try reader.expect(":")
      let id = try reader.naturalNumber()
      guard id < Tokenizer.idLimit else { throw reader.unexpected("a lower id") }
      ends.append(bytes.count)
      ids.append(Int32(id))
    } while reader.accept(",")
    try reader.expect("}")
  }

  var count: Int { ids.count }

  /// -1 where there is no token.
  var highestID: Int { Int(ids.max() ?? -1) }

  /// The indices of two tokens with one id; ids are not negative.
  var sharedID: (first: Int, second: Int)? {
    var owners = [Int32](repeating: -1, count: highestID + 1)
    for (index, id) in ids.enumerated() {
      if owners[Int(id)] >= 0 { return (Int(owners[Int(id)]), index) }
      owners[Int(id)] = Int32(index)
    }
    return nil
  }

  /// True where the spellings are UTF-8 and the ids distinct and not too high, as they must be in a table. Tokens may still be repeated.
  var isUsable: Bool { isUTF8 && highestID < Tokenizer.idLimit(for: count) && sharedID == nil }

  /// True where every spelling is valid UTF-8: all of them together are, and none starts within a scalar.
  private var isUTF8: Bool {
    (try? UTF8Span(validating: bytes.span)) != nil && ends.allSatisfy { $0 == bytes.count || bytes[$0] & 0xC0 != 0x80 }
  }

  /// Returns the range in ``bytes`` of the spelling of the token at an index.
  func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  func text(_ index: Int) -> String { String(decoding: bytes[range(index)], as: UTF8.self) }

  mutating func append(_ spelling: some Sequence<UInt8>, id: Int32) {
    bytes.append(contentsOf: spelling)
    ends.append(bytes.count)
    ids.append(id)
  }
}
