/// The levels of a grid and how many bits their codes take: a row of the table of grids.
///
/// A new grid is a row in ``all`` and one of `DIBIT_GRIDS` in cdibit.h, at the same index. Everything else asks the row.
package struct GridLevels: Hashable, Sendable {
  /// The number that names the grid in options and files, beside whether it is of full range.
  package let bits: Int
  /// Bits that a code takes in a file and in memory: 2, 3, 4 or 8.
  package let codeBits: Int
  /// Twice the code in the middle: the value of a code is `(code - middle) · scale`. An odd number leaves zero out. Of a trellis it is what a table
  /// makes of three codes that is multiplied so.
  package let twiceMiddle: Int
  /// True where the level of an input depends on its code and the two before it, in chains of ``Grid/chain`` inputs.
  package let isTrellis: Bool

  private init(bits: Int, codeBits: Int, twiceMiddle: Int, isTrellis: Bool = false) {
    (self.bits, self.codeBits, self.twiceMiddle, self.isTrellis) = (bits, codeBits, twiceMiddle, isTrellis)
  }

  /// ±1/2 and ±3/2.
  package static let two = GridLevels(bits: 2, codeBits: 2, twiceMiddle: 3)
  /// ±1/2, ±3/2, ±5/2 and ±7/2.
  package static let three = GridLevels(bits: 3, codeBits: 3, twiceMiddle: 7)
  /// ±1/2, ±3/2 ... ±15/2.
  package static let four = GridLevels(bits: 4, codeBits: 4, twiceMiddle: 15)

  /// -127 to 127, and zero among them; a code of zero, which rounding never chooses, is -128.
  package static let eight = GridLevels(bits: 8, codeBits: 8, twiceMiddle: 256)

  /// -2, -1, 0 and 1, under scales of either sign: the level that has none on the other side lies where it serves.
  package static let fullRangeTwo = GridLevels(bits: 2, codeBits: 2, twiceMiddle: 4)

  /// -4 to 3, in the same way.
  package static let fullRangeThree = GridLevels(bits: 3, codeBits: 3, twiceMiddle: 8)

  /// -8 to 7, in the same way.
  package static let fullRangeFour = GridLevels(bits: 4, codeBits: 4, twiceMiddle: 16)

  /// -7 to 7, of which the code before one leaves it four.
  package static let trellisTwo = GridLevels(bits: 2, codeBits: 2, twiceMiddle: 16, isTrellis: true)

  /// The table.
  package static let all = [two, four, eight, fullRangeTwo, fullRangeFour, three, fullRangeThree, trellisTwo]

  /// The rows from which a model takes its grids, in the order of their bits: one for each number of bits.
  package static func rows(_ family: LevelFamily) -> [GridLevels] {
    switch family {
    case .symmetric: [two, three, four, eight]
    case .fullRange: [fullRangeTwo, fullRangeThree, fullRangeFour, eight]
    case .trellis: [trellisTwo, fullRangeThree, fullRangeFour, eight]
    }
  }

  /// The row of `bits` bits; nil where there is none.
  package init?(bits: Int, _ family: LevelFamily = .symmetric) {
    guard let row = Self.rows(family).first(where: { $0.bits == bits }) else { return nil }
    self = row
  }

  /// The index in the table, which is that in `DIBIT_GRIDS`.
  package var index: Int { Self.all.firstIndex(of: self) ?? 0 }

  /// True when zero is a level.
  package var hasZero: Bool { twiceMiddle % 2 == 0 }

  /// True where zero is a level, and every code is one: there is one more below zero than above it, and a scale may be negative.
  package var isFullRange: Bool { hasZero && codeBits < 8 && !isTrellis }

  /// The codes that rounding chooses: all, or as many on both sides of zero.
  package var codes: ClosedRange<Int> {
    isTrellis ? 0...3 : isFullRange ? 0...twiceMiddle - 1 : hasZero ? 1...twiceMiddle - 1 : 0...twiceMiddle
  }

  /// The distance of the levels between which rounding chooses, in scales; of a trellis, whose four levels differ from input to input, the mean one.
  package var spacing: Float { isTrellis ? 3 : 1 }

  /// The mean square of the levels of codes that are drawn at random, in squares of the scale, of a grid of up to 4 bits.
  package var meanSquare: Float { isTrellis ? 12.75 : (Float(1 << (2 * codeBits)) - 1) / 12 }

  /// The value of a code where the scale is one. A code of a trellis has none by itself.
  package func level(_ code: Int) -> Float { Float(code) - Float(twiceMiddle) / 2 }
}

extension GridLevels: CustomStringConvertible {
  /// "2 bits", "2 bits of full range" or "2 bits on a trellis".
  package var description: String { "\(bits) bits" + (isFullRange ? " of full range" : isTrellis ? " on a trellis" : "") }
}

/// A kind of levels, which all grids of a model have in common.
package enum LevelFamily: Hashable, Sendable, CaseIterable {
  /// As many levels below zero as above it.
  case symmetric
  /// Zero and one level more on one side of it, under scales of either sign, up to 4 bits.
  case fullRange
  /// A trellis at 2 bits, full range at 3 and 4.
  case trellis

  /// The kind that loses least where matrices have so many bits or more. From 4 bits on that is a full range, whose layout is the older one.
  package static func losingLeast(bits: Int) -> LevelFamily { bits == GridLevels.trellisTwo.bits ? .trellis : .fullRange }
}
