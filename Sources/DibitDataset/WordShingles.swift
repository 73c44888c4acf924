/// A text as the set of its runs of three words, in which letters count without case and everything between words counts for nothing.
enum WordShingles {
  /// Words of a run; a shorter text is one run.
  static let length = 3

  /// Calls `body` with a hash of each run, repeated ones too.
  @inline(__always)
  static func forEach(in text: String, _ body: (UInt64) -> Void) {
    var (first, second, word) = (seed, seed, seed)
    var words = 0
    func end() {
      words += 1
      if words >= length { body(mixed(first &* 0x9E37_79B9_7F4A_7C15 ^ mixed(second &* 0xC2B2_AE3D_27D4_EB4F ^ word))) }
      (first, second, word) = (second, word, seed)
    }
    let bytes = text.utf8Span.span
    for index in bytes.indices {
      let byte = bytes[index]
      let isLetter = byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
      if isLetter || byte >= 0x80 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
        // FNV-1a's step; upper and lower case differ in one bit.
        word = (word ^ UInt64(isLetter ? byte | 0x20 : byte)) &* 0x100_0000_01B3
      } else if word != seed {
        end()
      }
    }
    if word != seed { end() }
    if words > 0, words < length { body(mixed(first ^ mixed(second))) }
  }

  /// The hashes of a text, sorted and each once.
  static func set(of text: String) -> [UInt64] {
    var all: [UInt64] = []
    forEach(in: text) { all.append($0) }
    all.sort()
    var distinct: [UInt64] = []
    for hash in all where hash != distinct.last { distinct.append(hash) }
    return distinct
  }

  /// The share of the runs of both that are common to both: 1 for the same words in the same order.
  static func similarity(_ left: String, _ right: String) -> Double {
    let (a, b) = (set(of: left), set(of: right))
    var (i, j, common) = (0, 0, 0)
    while i < a.count, j < b.count {
      if a[i] == b[j] {
        common += 1
        i += 1
        j += 1
      } else if a[i] < b[j] {
        i += 1
      } else {
        j += 1
      }
    }
    let all = a.count + b.count - common
    return all > 0 ? Double(common) / Double(all) : 0
  }

  private static let seed: UInt64 = 0xCBF2_9CE4_8422_2325

  /// Spreads every bit over all (the finaliser of MurmurHash3).
  private static func mixed(_ value: UInt64) -> UInt64 {
    var bits = value
    bits = (bits ^ bits >> 33) &* 0xFF51_AFD7_ED55_8CCD
    bits = (bits ^ bits >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return bits ^ bits >> 33
  }
}
