/// A grid as weights are stored on it: its levels, and which weights share a scale. Knows where codes and scales lie; see
/// docs/formats/model.md.
package struct Grid: Hashable, Sendable {
  /// The row of the table.
  package let levels: GridLevels
  /// Consecutive inputs of a row that share an F16 scale; nil for a whole row.
  package let group: Int?

  /// A grid with these levels.
  package init(_ levels: GridLevels, group: Int?) { (self.levels, self.group) = (levels, group) }

  /// Rows whose codes and scales lie interleaved; the last panel of a weight is padded.
  package static let panelRows = 16

  /// Bytes of the smallest part of a panel: four for each of its rows.
  package static let blockBytes = 64

  /// The number of panels of `rows` rows.
  package static func panels(rows: Int) -> Int { (rows + panelRows - 1) / panelRows }

  /// Inputs whose codes hang together in a trellis.
  package static let chain = 32

  /// Inputs whose codes lie together in whole blocks: three blocks hold 32 codes of 3 bits of each row, two a chain of a trellis.
  package var unit: Int { levels.codeBits == 3 || levels.isTrellis ? 32 : 16 }

  /// The position of the code of an input in the chain of a trellis, 0 to 31, in the order of the bits, four neighbours of a row in four bytes.
  package static func position(inChain input: Int) -> Int { input % chain / 16 * 16 + input % 4 * 4 + input % 16 / 4 }

  /// Returns whether rows of `columns` inputs can be stored: groups are multiples of a ``unit``, or not shorter than a row.
  package func fits(columns: Int) -> Bool { group.map { $0 > 0 && ($0 % unit == 0 || $0 >= columns) } ?? true }

  /// The inputs that share a scale in rows of `columns` inputs.
  package func groupLength(columns: Int) -> Int { min(group ?? columns, columns) }

  /// The number of blocks of a panel; the inputs are padded to a multiple of a ``unit``.
  package func blocks(columns: Int) -> Int { (columns + unit - 1) / unit * (unit * levels.codeBits / 32) }

  /// The number of scales in a row; the last group may be short.
  package func groups(columns: Int) -> Int { group.map { (columns + $0 - 1) / $0 } ?? min(columns, 1) }

  /// The bytes of the codes of `rows` rows.
  package func codeByteCount(rows: Int, columns: Int) -> Int { codeShape(rows: rows, columns: columns).reduce(1, *) }

  /// The bytes of the scales of `rows` rows.
  package func scaleByteCount(rows: Int, columns: Int) -> Int {
    Self.panels(rows: rows) * groups(columns: columns) * Self.panelRows * 2
  }

  /// The shape in which a file holds codes: panels, blocks, bytes.
  package func codeShape(rows: Int, columns: Int) -> [Int] { [Self.panels(rows: rows), blocks(columns: columns), Self.blockBytes] }

  /// The shape in which a file holds scales: panels, an even number so that what follows in the file stays aligned, groups, rows.
  package func scaleShape(rows: Int, columns: Int) -> [Int] {
    [(Self.panels(rows: rows) + 1) / 2 * 2, groups(columns: columns), Self.panelRows]
  }
}

extension Grid: CustomStringConvertible {
  /// "2 bits, groups of 64".
  package var description: String {
    "\(levels), " + (group.map { "groups of \($0)" } ?? "one scale per row")
  }
}
