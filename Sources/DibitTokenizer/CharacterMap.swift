/// SentencePiece's `precompiled_charsmap`: a double array that finds byte sequences, and what each is replaced by.
///
/// The bytes: the size of the array in bytes (32 bits, little-endian), the array's 32-bit units, then the replacements, each ended by
/// a zero byte. A unit is `offset << 10`, a flag for offsets in steps of 256 (bit 9), a flag for "a key ends here" (bit 8) and the byte
/// that leads to it; the unit at a key's end has bit 31 and the offset of the replacement.
struct CharacterMap: Sendable, Equatable {
  /// A fault in a map.
  struct Fault: Error, Equatable {
    let reason: String
  }

  let bytes: [UInt8]
  private let units: [UInt32]
  private let replacements: [UInt8]
  /// True for each byte with which a key starts.
  private let startsKey: [Bool]

  /// Reads a map and follows every path of its array, so that lookups need no further care.
  init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count >= 4 else { throw Fault(reason: "it has \(bytes.count) bytes") }
    let size = Int(Self.word(bytes, 0))
    guard size % 4 == 0, size >= 4, size <= bytes.count - 4 else {
      throw Fault(reason: "its array of \(size) bytes does not fit into \(bytes.count - 4) bytes")
    }
    self.bytes = bytes
    units = (0..<size / 4).map { Self.word(bytes, 4 + 4 * $0) }
    replacements = Array(bytes[(4 + size)...])
    guard replacements.isEmpty || replacements.last == 0 else { throw Fault(reason: "its last replacement does not end") }
    guard String(validating: replacements, as: UTF8.self) != nil else { throw Fault(reason: "its replacements are not UTF-8") }
    startsKey = try Self.check(units, replacements)
  }

  /// Longer replacements are refused, so that a text grows by a bounded factor.
  static let replacementLimit = 256

  private static func word(_ bytes: [UInt8], _ at: Int) -> UInt32 {
    UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16 | UInt32(bytes[at + 3]) << 24
  }

  private static func offset(_ unit: UInt32) -> Int { Int((unit >> 10) << ((unit & (1 << 9)) >> 6)) }

  /// Visits every state once.
  private static func check(_ units: [UInt32], _ replacements: [UInt8]) throws(Fault) -> [Bool] {
    var isSeen = [Bool](repeating: false, count: units.count)
    var startsKey = [Bool](repeating: false, count: 256)
    var waiting = [0]
    isSeen[0] = true
    while let state = waiting.popLast() {
      let base = state ^ offset(units[state])
      if state != 0, units[state] >> 8 & 1 == 1 {
        guard base < units.count else { throw Fault(reason: "a state leads out of its array") }
        let start = Int(units[base] & 0x7FFF_FFFF)
        guard start < replacements.count else { throw Fault(reason: "a key has no replacement") }
        guard replacements[start] & 0xC0 != 0x80 else { throw Fault(reason: "a replacement starts within a scalar") }
        guard replacements[start...].prefix(replacementLimit + 1).contains(0) else {
          throw Fault(reason: "a replacement has more than \(replacementLimit) bytes")
        }
      }
      for byte in 1..<256 {
        let child = base ^ byte
        guard child < units.count, units[child] & 0x8000_00FF == UInt32(byte) else { continue }
        if state == 0 { startsKey[byte] = true }
        if isSeen[child] { continue }
        isSeen[child] = true
        waiting.append(child)
      }
    }
    return startsKey
  }

  func canStart(_ byte: UInt8) -> Bool { startsKey[Int(byte)] }

  /// The length of a key that `text[start..<end]` starts with and its replacement, or nil: the shortest, or the longest.
  func match(_ text: [UInt8], _ start: Int, _ end: Int, longest: Bool) -> (length: Int, replacement: Range<Int>)? {
    var found: (length: Int, replacement: Int)?
    var state = offset(of: 0)
    var index = start
    while index < end, text[index] != 0 {
      let next = state ^ Int(text[index])
      guard next < units.count, units[next] & 0x8000_00FF == UInt32(text[index]) else { break }
      index += 1
      state = next ^ offset(of: next)
      guard units[next] >> 8 & 1 == 1 else { continue }
      found = (index - start, Int(units[state] & 0x7FFF_FFFF))
      if !longest { break }
    }
    guard let found else { return nil }
    var stop = found.replacement
    while replacements[stop] != 0 { stop += 1 }
    return (found.length, found.replacement..<stop)
  }

  private func offset(of state: Int) -> Int { Self.offset(units[state]) }

  func bytes(of replacement: Range<Int>) -> ArraySlice<UInt8> { replacements[replacement] }

  func write(_ replacement: Range<Int>, into output: inout [UInt8]) {
    for index in replacement { output.append(replacements[index]) }
  }

  /// The text after Hugging Face's `Precompiled`: a grapheme cluster of less than six bytes that starts with a key becomes the
  /// replacement of its shortest key, all of it; other clusters are replaced scalar by scalar.
  func applied(_ text: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(text.count + text.count / 8)
    forEachPart(text) { part, replacement in
      if let replacement { write(replacement, into: &output) } else { for index in part { output.append(text[index]) } }
      return true
    }
    return output
  }

  /// Calls `body` with every part of the text, in order, and its replacement if it has one, until `body` returns false.
  func forEachPart(_ text: [UInt8], _ body: (Range<Int>, Range<Int>?) -> Bool) {
    var index = 0
    while index < text.count {
      // Between two ASCII bytes is a boundary of clusters, except within a line end.
      if isAlone(text, index) {
        guard body(index..<index + 1, replacement(text, index, index + 1)) else { return }
        index += 1
        continue
      }
      var end = index + 1
      while end < text.count, !(isAlone(text, end) && text[end - 1] < 0x80) { end += 1 }
      let run = String(decoding: text[index..<end], as: UTF8.self)
      for cluster in run {
        let stop = index + cluster.utf8.count
        if stop - index < 6, let match = match(text, index, stop, longest: false) {
          guard body(index..<stop, match.replacement) else { return }
        } else {
          var scalar = index
          while scalar < stop {
            let next = ScalarScanner.scalar(in: text, at: scalar).next
            guard body(scalar..<next, replacement(text, scalar, next)) else { return }
            scalar = next
          }
        }
        index = stop
      }
    }
  }

  private func isAlone(_ text: [UInt8], _ index: Int) -> Bool {
    guard text[index] < 0x80 else { return false }
    if index > 0, text[index] == 0x0A, text[index - 1] == 0x0D { return false }
    guard index + 1 < text.count else { return true }
    return text[index + 1] < 0x80 && !(text[index] == 0x0D && text[index + 1] == 0x0A)
  }

  private func replacement(_ text: [UInt8], _ start: Int, _ end: Int) -> Range<Int>? {
    startsKey[Int(text[start])] ? match(text, start, end, longest: false)?.replacement : nil
  }
}
