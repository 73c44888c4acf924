internal import DibitJSON

/// The pairs of tokens that merge, in the order of a file: the spelling of the left one, and directly behind it that of the right one.
struct PairList: Sendable {
  private(set) var bytes: [UInt8] = []
  private var middles: [UInt32] = []
  private var ends: [UInt32] = []

  /// Reads an array of `"a b"` and `["a", "b"]`, which is shorter than 4 GiB. Spellings may be anything.
  init(_ reader: inout JSONReader) throws(JSONError) {
    try reader.expect("[")
    // `"a b",` is the shortest pair: room that is not used is never touched.
    bytes.reserveCapacity(reader.remaining)
    middles.reserveCapacity(reader.remaining / 6)
    ends.reserveCapacity(reader.remaining / 6)
    if reader.accept("]") { return }
    repeat {
      if reader.accept("[") {
        try reader.string(into: &bytes)
        middles.append(UInt32(bytes.count))
        try reader.expect(",")
        try reader.string(into: &bytes)
        try reader.expect("]")
      } else {
        let start = bytes.count
        try reader.string(into: &bytes)
        if start < bytes.count, bytes[start] == UInt8(ascii: "#"), bytes[start...].starts(with: "#version".utf8) {
          // Nothing looks this up, so nothing else would find that it is no text.
          guard String(validating: bytes[start...], as: UTF8.self) != nil else { throw reader.unexpected("UTF-8") }
          bytes.removeSubrange(start...)
          continue
        }
        guard let middle = Self.closeGap(in: &bytes, from: start) else { throw reader.unexpected("a pair") }
        middles.append(UInt32(middle))
      }
      ends.append(UInt32(bytes.count))
    } while reader.accept(",")
    try reader.expect("]")
  }

  /// Takes out the one space behind `start` and returns where it was; nil when there is none, or another.
  private static func closeGap(in bytes: inout [UInt8], from start: Int) -> Int? {
    var middle = start
    while middle < bytes.count, bytes[middle] != 0x20 { middle += 1 }
    guard middle < bytes.count else { return nil }
    for index in middle + 1..<bytes.count {
      if bytes[index] == 0x20 { return nil }
      bytes[index - 1] = bytes[index]
    }
    bytes.removeLast()
    return middle
  }

  var count: Int { ends.count }

  /// Returns the ranges of the left token of a pair and of its right one in ``bytes``.
  func ranges(_ index: Int) -> (left: Range<Int>, right: Range<Int>) {
    let middle = Int(middles[index])
    return ((index == 0 ? 0 : Int(ends[index - 1]))..<middle, middle..<Int(ends[index]))
  }
}
