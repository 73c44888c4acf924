/// The classes of scalars that patterns distinguish, as bits: the general categories of Unicode 16, and the controls that are space.
struct ScalarClasses: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  static let upper = Self(rawValue: 1 << 0)
  static let lower = Self(rawValue: 1 << 1)
  static let title = Self(rawValue: 1 << 2)
  static let modifier = Self(rawValue: 1 << 3)
  static let otherLetter = Self(rawValue: 1 << 4)
  static let nonspacing = Self(rawValue: 1 << 5)
  static let spacingMark = Self(rawValue: 1 << 6)
  static let enclosing = Self(rawValue: 1 << 7)
  static let decimal = Self(rawValue: 1 << 8)
  static let letterNumber = Self(rawValue: 1 << 9)
  static let otherNumber = Self(rawValue: 1 << 10)
  static let connector = Self(rawValue: 1 << 11)
  static let dash = Self(rawValue: 1 << 12)
  static let open = Self(rawValue: 1 << 13)
  static let close = Self(rawValue: 1 << 14)
  static let initial = Self(rawValue: 1 << 15)
  static let final = Self(rawValue: 1 << 16)
  static let otherPunctuation = Self(rawValue: 1 << 17)
  static let math = Self(rawValue: 1 << 18)
  static let currency = Self(rawValue: 1 << 19)
  static let modifierSymbol = Self(rawValue: 1 << 20)
  static let otherSymbol = Self(rawValue: 1 << 21)
  static let spaceSeparator = Self(rawValue: 1 << 22)
  static let lineSeparator = Self(rawValue: 1 << 23)
  static let paragraphSeparator = Self(rawValue: 1 << 24)
  static let control = Self(rawValue: 1 << 25)
  static let format = Self(rawValue: 1 << 26)
  static let surrogate = Self(rawValue: 1 << 27)
  static let privateUse = Self(rawValue: 1 << 28)
  static let unassigned = Self(rawValue: 1 << 29)
  /// U+0009…U+000D and U+0085, which are `\p{Cc}` and `\s`.
  static let spaceControl = Self(rawValue: 1 << 30)

  static let letters: Self = [.upper, .lower, .title, .modifier, .otherLetter]
  static let marks: Self = [.nonspacing, .spacingMark, .enclosing]
  static let numbers: Self = [.decimal, .letterNumber, .otherNumber]
  static let punctuation: Self = [.connector, .dash, .open, .close, .initial, .final, .otherPunctuation]
  static let symbols: Self = [.math, .currency, .modifierSymbol, .otherSymbol]
  static let separators: Self = [.spaceSeparator, .lineSeparator, .paragraphSeparator]
  static let others: Self = [.control, .format, .surrogate, .privateUse, .unassigned, .spaceControl]
  static let spaces: Self = [.spaceSeparator, .lineSeparator, .paragraphSeparator, .spaceControl]
  static let all = Self(rawValue: (1 << 31) - 1)

  /// The classes that `\p{name}` means, or nil for a name that is not supported.
  static func named(_ name: String) -> Self? {
    switch name {
    case "L", "Letter": .letters
    case "Lu": .upper
    case "Ll": .lower
    case "Lt": .title
    case "Lm": .modifier
    case "Lo": .otherLetter
    case "M", "Mark": .marks
    case "Mn": .nonspacing
    case "Mc": .spacingMark
    case "Me": .enclosing
    case "N", "Number": .numbers
    case "Nd": .decimal
    case "Nl": .letterNumber
    case "No": .otherNumber
    case "P", "Punctuation": .punctuation
    case "S", "Symbol": .symbols
    case "Z", "Separator": .separators
    case "Zs": .spaceSeparator
    case "C", "Other": .others
    case "Cc": [.control, .spaceControl]
    case "Cf": .format
    default: nil
    }
  }

  /// The class of a scalar: one bit.
  init(_ scalar: Unicode.Scalar) { self.init(rawValue: 1 << UInt32(Self.index(scalar))) }

  /// The number of the bit of a scalar.
  static func index(_ scalar: Unicode.Scalar) -> UInt8 {
    scalar.value < 0x10000 ? plane[Int(scalar.value)] : lookedUp(scalar)
  }

  /// The bit numbers of the basic plane, so that hot loops do not ask the runtime.
  private static let plane: [UInt8] = (0..<0x10000).map { value in Unicode.Scalar(UInt32(value)).map(lookedUp) ?? 27 }

  private static func lookedUp(_ scalar: Unicode.Scalar) -> UInt8 {
    switch scalar.value {
    case 0x09...0x0D, 0x85: return 30
    case 0x295: return 1  // Changed in Unicode 17.
    default: break
    }
    if ScalarKind.isNew(scalar) { return 29 }
    return switch scalar.properties.generalCategory {
    case .uppercaseLetter: 0
    case .lowercaseLetter: 1
    case .titlecaseLetter: 2
    case .modifierLetter: 3
    case .otherLetter: 4
    case .nonspacingMark: 5
    case .spacingMark: 6
    case .enclosingMark: 7
    case .decimalNumber: 8
    case .letterNumber: 9
    case .otherNumber: 10
    case .connectorPunctuation: 11
    case .dashPunctuation: 12
    case .openPunctuation: 13
    case .closePunctuation: 14
    case .initialPunctuation: 15
    case .finalPunctuation: 16
    case .otherPunctuation: 17
    case .mathSymbol: 18
    case .currencySymbol: 19
    case .modifierSymbol: 20
    case .otherSymbol: 21
    case .spaceSeparator: 22
    case .lineSeparator: 23
    case .paragraphSeparator: 24
    case .control: 25
    case .format: 26
    case .surrogate: 27
    case .privateUse: 28
    default: 29
    }
  }

  init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A set of scalars: classes and ranges, or all others.
struct ScalarSet: Sendable, Hashable {
  private(set) var classes: ScalarClasses = []
  private(set) var ranges: [ClosedRange<UInt32>] = []
  var isNegated = false
  /// Bit per ASCII scalar, negation applied; made by ``sealed()``.
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  mutating func insert(_ classes: ScalarClasses) { self.classes.formUnion(classes) }

  /// Adds a range; with `foldingCase` also the other case of its ASCII letters.
  mutating func insert(_ range: ClosedRange<UInt32>, foldingCase: Bool) {
    ranges.append(range)
    guard foldingCase else { return }
    for (from, distance) in [(UInt32(0x41)...0x5A, 0x20), (0x61...0x7A, -0x20)] as [(ClosedRange<UInt32>, Int)] {
      guard range.overlaps(from) else { continue }
      let part = range.clamped(to: from)
      ranges.append(UInt32(Int(part.lowerBound) + distance)...UInt32(Int(part.upperBound) + distance))
    }
    // The long s and the Kelvin sign fold to ASCII letters.
    if range.contains(0x73) || range.contains(0x53) { ranges.append(0x17F...0x17F) }
    if range.contains(0x6B) || range.contains(0x4B) { ranges.append(0x212A...0x212A) }
  }

  /// The set ready for ``contains(_:)``.
  func sealed() -> ScalarSet {
    var set = self
    (set.low, set.high) = (0, 0)
    for value in UInt32(0)..<128 where holds(Unicode.Scalar(value) ?? "?") {
      if value < 64 { set.low |= 1 << UInt64(value) } else { set.high |= 1 << UInt64(value - 64) }
    }
    return set
  }

  func contains(ascii byte: UInt8) -> Bool {
    (byte < 64 ? low >> UInt64(byte) : high >> UInt64(byte & 63)) & 1 != 0
  }

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x80 ? contains(ascii: UInt8(scalar.value)) : holds(scalar)
  }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    var found = !classes.isEmpty && classes.rawValue >> UInt32(ScalarClasses.index(scalar)) & 1 != 0
    for range in ranges where !found { found = range.contains(scalar.value) }
    return found != isNegated
  }
}
