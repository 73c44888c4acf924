internal import DibitTensor

/// A text as the set of its runs of three words, in which letters count without case and everything between words counts for nothing.
enum WordShingles {
  /// Words of a run; a shorter text is one run.
  static let length = 3

  /// Calls `body` with a hash of each run, repeated ones too.
  @inline(__always)
  static func forEach(in text: String, _ body: (UInt64) -> Void) {
    let none = FNV1a()
    var (first, second, word) = (none, none, none)
    var words = 0
    func end() {
      words += 1
      if words >= length { body(run(first, second, word)) }
      (first, second, word) = (second, word, none)
    }
    let bytes = text.utf8Span.span
    for index in bytes.indices {
      let byte = bytes[index]
      let isLetter = byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
      if isLetter || byte >= 0x80 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
        // Upper and lower case differ in one bit.
        word.add(UInt64(isLetter ? byte | 0x20 : byte))
      } else if word != none {
        end()
      }
    }
    if word != none { end() }
    if words > 0, words < length { body(FNV1a.mixed(first.value ^ second.mixed)) }
  }

  @inline(__always)
  private static func run(_ first: FNV1a, _ second: FNV1a, _ third: FNV1a) -> UInt64 {
    FNV1a.mixed(first.value &* 0x9E37_79B9_7F4A_7C15 ^ FNV1a.mixed(second.value &* 0xC2B2_AE3D_27D4_EB4F ^ third.value))
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

}
