/// A set of Unicode scalars as sorted ranges that do not touch. Surrogates are never members.
struct ScalarRanges: Hashable, Sendable {
  private(set) var ranges: [ClosedRange<UInt32>]

  /// Every scalar.
  static let all = ScalarRanges([0...0xD7FF, 0xE000...0x10FFFF])
  static let digits = ScalarRanges([0x30...0x39])
  static let word = ScalarRanges([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  /// The scalars that `\s` matches in ECMAScript.
  static let space = ScalarRanges([
    0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F, 0x205F...0x205F,
    0x3000...0x3000, 0xFEFF...0xFEFF,
  ])
  static let lineEnds = ScalarRanges([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])

  init(_ ranges: [ClosedRange<UInt32>]) {
    var result: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, range.lowerBound <= last.upperBound + 1 {
        result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    // A range of scalars that reaches over the surrogates does not hold them.
    self.ranges = result.flatMap { range -> [ClosedRange<UInt32>] in
      guard range.overlaps(0xD800...0xDFFF) else { return [range] }
      return (range.lowerBound < 0xD800 ? [range.lowerBound...0xD7FF] : []) + (range.upperBound > 0xDFFF ? [0xE000...range.upperBound] : [])
    }
  }

  var inverted: ScalarRanges {
    var (result, next): ([ClosedRange<UInt32>], UInt32) = ([], 0)
    for range in ranges {
      if range.lowerBound > next { result.append(next...range.lowerBound - 1) }
      next = range.upperBound + 1
    }
    if next <= 0x10FFFF { result.append(next...0x10FFFF) }
    return ScalarRanges(result)
  }

  func union(_ other: ScalarRanges) -> ScalarRanges { ScalarRanges(ranges + other.ranges) }

  func contains(_ value: UInt32) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(value)
  }
}
