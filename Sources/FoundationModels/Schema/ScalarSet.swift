/// A set of scalars as ranges, in order and apart from each other. Surrogates are never in it.
struct ScalarSet: Equatable {
  let ranges: [ClosedRange<UInt32>]

  init(_ ranges: [ClosedRange<UInt32>]) {
    var merged: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound &+ 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    self.ranges = merged.flatMap(Self.withoutSurrogates)
  }

  private static func withoutSurrogates(_ range: ClosedRange<UInt32>) -> [ClosedRange<UInt32>] {
    guard range.overlaps(0xD800...0xDFFF) else { return [range] }
    var parts: [ClosedRange<UInt32>] = []
    if range.lowerBound < 0xD800 { parts.append(range.lowerBound...0xD7FF) }
    if range.upperBound > 0xDFFF { parts.append(0xE000...range.upperBound) }
    return parts
  }

  /// All scalars that are not in the set.
  var inverted: ScalarSet {
    var (result, next): ([ClosedRange<UInt32>], UInt32) = ([], 0)
    for range in ranges {
      if range.lowerBound > next { result.append(next...range.lowerBound - 1) }
      next = range.upperBound + 1
    }
    if next <= 0x10FFFF { result.append(next...0x10FFFF) }
    return ScalarSet(result)
  }

  func subtracting(_ other: ScalarSet) -> ScalarSet { ScalarSet(inverted.ranges + other.ranges).inverted }

  func intersection(_ other: ScalarSet) -> ScalarSet { subtracting(other.inverted) }

  /// The set with the upper and lower case of its letters, as far as European scripts have them.
  var withBothCases: ScalarSet {
    var result = ranges
    for letters: ClosedRange<UInt32> in [0x41...0x24F, 0x370...0x52F] {
      for range in ranges where range.overlaps(letters) {
        for value in range.clamped(to: letters) {
          guard let scalar = Unicode.Scalar(value) else { continue }
          for mapping in [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping] {
            guard mapping.unicodeScalars.count == 1, let mapped = mapping.unicodeScalars.first?.value else { continue }
            result.append(mapped...mapped)
          }
        }
      }
    }
    return ScalarSet(result)
  }

  /// The set as a pattern: a scalar, or a class.
  var pattern: String {
    if ranges.count == 1, ranges[0].count == 1 { return Self.spelled(ranges[0].lowerBound, "^$\\.*+?()[]{}|/") }
    let parts = ranges.map { range in
      let low = Self.spelled(range.lowerBound, "\\]^-[")
      return range.count == 1 ? low : low + (range.count == 2 ? "" : "-") + Self.spelled(range.upperBound, "\\]^-[")
    }
    return "[\(parts.joined())]"
  }

  private static func spelled(_ value: UInt32, _ special: String) -> String {
    guard let scalar = Unicode.Scalar(value) else { return "" }
    switch value {
    case 0x09: return "\\t"
    case 0x0A: return "\\n"
    case 0x0D: return "\\r"
    case 0x00..<0x20, 0x7F..<0xA1, 0x2000..<0x2070, 0xE000..., 0x0300..<0x0370: return "\\u{\(String(value, radix: 16))}"
    default: return special.unicodeScalars.contains(scalar) ? "\\\(scalar)" : String(scalar)
    }
  }
}

extension ScalarSet {
  static let all = ScalarSet([0...0x10FFFF])
  static let lineEnds = ScalarSet([0x0A...0x0D, 0x85...0x85, 0x2028...0x2029])
  static let horizontalSpace = ScalarSet([
    0x09...0x09, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000,
  ])
  static let space = ScalarSet(lineEnds.ranges + horizontalSpace.ranges)
  static let digits = ScalarSet([0x30...0x39])

  /// Letters, digits and the underscore of common scripts: at most what `\w` matches.
  static let word = ScalarSet([
    0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x24F, 0x391...0x3A1, 0x3A3...0x3C9,
    0x400...0x45F, 0x5D0...0x5EA, 0x621...0x63A, 0x641...0x64A, 0x905...0x939, 0x1E00...0x1EFF, 0x3041...0x3096, 0x30A1...0x30FA,
    0x4E00...0x9FEF, 0xAC00...0xD7A3,
  ])

  /// Marks and spaces of common scripts: at most what `\W` matches.
  static let nonWord = ScalarSet(
    [
      0x00...0x2F, 0x3A...0x40, 0x5B...0x5E, 0x60...0x60, 0x7B...0xA9, 0xAB...0xB1, 0xB4...0xB4, 0xB6...0xB8, 0xBB...0xBB, 0xBF...0xBF,
      0xD7...0xD7, 0xF7...0xF7, 0x2010...0x2029, 0x2030...0x203E, 0x20A0...0x20BF, 0x2190...0x23FF, 0x3001...0x3003, 0x3008...0x3011,
    ] + space.ranges)

  /// At least what `\d` matches: ASCII digits and all scalars that are not known to be others.
  static let digitsAtMost = ScalarSet(digits.ranges + [0x660...0x10FFFF]).subtracting(
    ScalarSet(word.subtracting(digits).ranges + nonWord.ranges))
}
