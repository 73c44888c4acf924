/// The normalisation forms of Unicode: decompose, order the marks, compose.
///
/// They are those of Unicode 9, the version that Hugging Face's library has: marks that came later are not reordered. The same
/// text must give the same ids as where the model was trained.
enum CanonicalComposition {
  /// `text`, which is valid UTF-8, in NFC. Text without a scalar from U+0300 on is returned as it is.
  static func composed(_ text: [UInt8]) -> [UInt8] {
    // Bytes below 0xCC start scalars below U+0300, all of which are composed already.
    guard text.contains(where: { $0 >= 0xCC }) else { return text }
    return normalized(text, isCompatible: false, composes: true)
  }

  /// `text`, which is valid UTF-8, in NFD, NFKC, NFKD or NFC. ASCII is returned as it is.
  static func normalized(_ text: [UInt8], isCompatible: Bool, composes: Bool) -> [UInt8] {
    guard text.contains(where: { $0 >= 0x80 }) else { return text }
    var scalars: [Unicode.Scalar] = []
    scalars.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      let (scalar, next) = ScalarScanner.scalar(in: text, at: index)
      if isCompatible, scalar.value >= 0xA0, let parts = compatible[scalar.value] {
        scalars += parts
      } else {
        decompose(scalar, into: &scalars)
      }
      index = next
    }
    order(&scalars)
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    for scalar in composes ? compose(scalars) : scalars {
      result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
    return result
  }

  private static let compatible: [UInt32: [Unicode.Scalar]] = {
    var table: [UInt32: [Unicode.Scalar]] = [:]
    var scalar: UInt32 = 0
    for entry in CompatibilityDecompositions.text.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }) {
      var parts: [UInt32] = [0]
      for character in entry {
        switch character {
        case UInt8(ascii: ":"): (scalar, parts) = (parts[0], [0])
        case UInt8(ascii: "."): parts.append(0)
        default: parts[parts.count - 1] = parts[parts.count - 1] << 4 | UInt32(character < 0x3A ? character - 0x30 : character - 0x37)
        }
      }
      table[scalar] = parts.compactMap { Unicode.Scalar($0) }
      scalar += 1
    }
    return table
  }()

  private struct Table {
    var decompositions: [UInt32: [Unicode.Scalar]] = [:]
    var compositions: [UInt64: Unicode.Scalar] = [:]
  }

  private static let table: Table = {
    var table = Table()
    var scalar: UInt32 = 0
    for entry in CanonicalDecompositions.text.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }) {
      var parts: [UInt32] = [0]
      var composes = true
      for character in entry {
        switch character {
        case UInt8(ascii: ":"): (scalar, parts) = (parts[0], [0])
        case UInt8(ascii: "."): parts.append(0)
        case UInt8(ascii: "!"): composes = false
        default: parts[parts.count - 1] = parts[parts.count - 1] << 4 | UInt32(character < 0x3A ? character - 0x30 : character - 0x37)
        }
      }
      table.decompositions[scalar] = parts.compactMap { Unicode.Scalar($0) }
      if composes, parts.count == 2 { table.compositions[key(parts[0], parts[1])] = Unicode.Scalar(scalar) }
      scalar += 1
    }
    return table
  }()

  private static func key(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

  private static let syllables: Range<UInt32> = 0xAC00..<0xD7A4
  private static let leads: Range<UInt32> = 0x1100..<0x1113
  private static let vowels: Range<UInt32> = 0x1161..<0x1176
  private static let trails: Range<UInt32> = 0x11A8..<0x11C3

  private static func decompose(_ scalar: Unicode.Scalar, into scalars: inout [Unicode.Scalar]) {
    if scalar.value < 0xC0 { return scalars.append(scalar) }
    if syllables.contains(scalar.value) {
      let index = scalar.value - syllables.lowerBound
      let parts = [leads.lowerBound + index / 588, vowels.lowerBound + index % 588 / 28, trails.lowerBound - 1 + index % 28]
      scalars += parts.prefix(index % 28 == 0 ? 2 : 3).compactMap { Unicode.Scalar($0) }
    } else if let parts = table.decompositions[scalar.value] {
      for part in parts { decompose(part, into: &scalars) }
    } else {
      scalars.append(scalar)
    }
  }

  private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
    if scalar.value < 0x300 { return 0 }
    let properties = scalar.properties
    let combiningClass = properties.canonicalCombiningClass.rawValue
    return combiningClass == 0 || (properties.age?.major ?? .max) > 9 ? 0 : combiningClass
  }

  /// Sorts every run of combining marks by class, keeping the order within a class.
  private static func order(_ scalars: inout [Unicode.Scalar]) {
    var index = 0
    while index < scalars.count {
      var end = index
      while end < scalars.count, combiningClass(scalars[end]) != 0 { end += 1 }
      if end - index > 1 {
        let marks = scalars[index..<end].enumerated().map { (mark: $1, key: (combiningClass($1), $0)) }
        scalars.replaceSubrange(index..<end, with: marks.sorted { $0.key < $1.key }.map(\.mark))
      }
      index = end + 1
    }
  }

  /// Composes every scalar with the last starter before it unless a mark of the same or a higher class stands between.
  private static func compose(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    result.reserveCapacity(scalars.count)
    var starter: Int?
    var lastClass: UInt8 = 0
    for scalar in scalars {
      let currentClass = combiningClass(scalar)
      if let starter, result.count - 1 == starter || (lastClass < currentClass && lastClass != 0),
        let composite = pair(result[starter], scalar)
      {
        result[starter] = composite
        continue
      }
      if currentClass == 0 { starter = result.count }
      lastClass = currentClass
      result.append(scalar)
    }
    return result
  }

  private static func pair(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    if leads.contains(first.value), vowels.contains(second.value) {
      let index = (first.value - leads.lowerBound) * 588 + (second.value - vowels.lowerBound) * 28
      return Unicode.Scalar(syllables.lowerBound + index)
    }
    if syllables.contains(first.value), (first.value - syllables.lowerBound) % 28 == 0, trails.contains(second.value) {
      return Unicode.Scalar(first.value + second.value - trails.lowerBound + 1)
    }
    return table.compositions[key(first.value, second.value)]
  }
}
