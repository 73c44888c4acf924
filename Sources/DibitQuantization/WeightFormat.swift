/// The format in which a weight's elements are stored.
package enum WeightFormat: Hashable, Sendable {
  case f32
  case f16
  case bf16
  /// Codes on a grid, and F16 scales beside them.
  case grid(Grid)

  /// A grid of `bits` bits, of which the table must have one, with a scale for each `group` inputs.
  package static func grid(bits: Int, group: Int?) -> WeightFormat {
    guard let levels = GridLevels(bits: bits) else {
      fatalError("WeightFormat: a grid of \(bits) bits; the table has \(GridLevels.rows(.symmetric).map(\.bits))")
    }
    return .grid(Grid(levels, group: group))
  }

  /// The grid; nil for floats.
  package var grid: Grid? { if case .grid(let grid) = self { grid } else { nil } }

  /// Bits of an element, its share of a scale left out.
  package var bits: Int {
    switch self {
    case .f32: 32
    case .f16, .bf16: 16
    case .grid(let grid): grid.levels.bits
    }
  }

  /// The bytes that `rows x columns` elements take, without scales.
  package func elementByteCount(rows: Int, columns: Int) -> Int {
    grid.map { $0.codeByteCount(rows: rows, columns: columns) } ?? rows * columns * bits / 8
  }

  /// The bytes of the F16 scales of `rows x columns` elements.
  package func scaleByteCount(rows: Int, columns: Int) -> Int { grid?.scaleByteCount(rows: rows, columns: columns) ?? 0 }
}
