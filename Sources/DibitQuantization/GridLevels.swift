/// The levels of a grid and how many bits their codes take: a row of the table of grids.
///
/// A new grid is a row in ``all`` and one of `DIBIT_GRIDS` in cdibit.h, at the same index. Everything else asks the row.
package struct GridLevels: Hashable, Sendable {
  /// The number that names the grid in options and files, beside whether it is of full range.
  package let bits: Int
  /// Bits that a code takes in a file and in memory: 2, 3, 4 or 8.
  package let codeBits: Int
  /// Twice the code in the middle: the value of a code is `(code - middle) · scale`. An odd number leaves zero out.
  package let twiceMiddle: Int

  private init(bits: Int, codeBits: Int, twiceMiddle: Int) {
    (self.bits, self.codeBits, self.twiceMiddle) = (bits, codeBits, twiceMiddle)
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

  /// The table.
  package static let all = [two, four, eight, fullRangeTwo, fullRangeFour, three, fullRangeThree]

  /// The rows from which a model takes its grids, in the order of their bits: one for each number of bits, of full range where that is asked
  /// for and there is one.
  package static func rows(fullRange: Bool) -> [GridLevels] {
    all.filter { !$0.isFullRange }.sorted { $0.bits < $1.bits }.map { row in
      all.first { $0.bits == row.bits && $0.isFullRange == fullRange } ?? row
    }
  }

  /// The row of `bits` bits, of full range where that is asked for and there is one; nil where there is none at all.
  package init?(bits: Int, fullRange: Bool = false) {
    guard let row = Self.rows(fullRange: fullRange).first(where: { $0.bits == bits }) else { return nil }
    self = row
  }

  /// The index in the table, which is that in `DIBIT_GRIDS`.
  package var index: Int { Self.all.firstIndex(of: self) ?? 0 }

  /// True when zero is a level.
  package var hasZero: Bool { twiceMiddle % 2 == 0 }

  /// True where zero is a level, and every code is one: there is one more below zero than above it, and a scale may be negative.
  package var isFullRange: Bool { hasZero && codeBits < 8 }

  /// The codes that rounding chooses: all, or as many on both sides of zero.
  package var codes: ClosedRange<Int> { isFullRange ? 0...twiceMiddle - 1 : hasZero ? 1...twiceMiddle - 1 : 0...twiceMiddle }

  /// The value of a code where the scale is one.
  package func level(_ code: Int) -> Float { Float(code) - Float(twiceMiddle) / 2 }
}

extension GridLevels: CustomStringConvertible {
  /// "2 bits", or "2 bits of full range".
  package var description: String { "\(bits) bits" + (isFullRange ? " of full range" : "") }
}
