package import DibitQuantization

/// Room for codes and scales of some rows, whole panels but for the last ones of a weight, in the byte order of their ``Grid``; used again from piece to piece.
@safe
package struct PackedRows: ~Copyable, Sendable {
  /// Elements of a row.
  package let columns: Int
  /// The grid on which the rows are stored.
  package let grid: Grid
  /// Rows in use.
  package private(set) var rows = 0
  /// The most rows that fit.
  package let capacity: Int
  /// Codes; those of the rows in use are the first ``codeByteCount`` bytes.
  package private(set) var codes: Buffer<UInt8>
  /// F16 scales, little-endian; those of the rows in use are the first ``scaleByteCount`` bytes.
  package private(set) var scales: Buffer<UInt8>

  /// Room for `capacity` rows of `columns` elements; none is in use.
  package init(capacity: Int, columns: Int, grid: Grid) {
    require(grid.fits(columns: columns), "PackedRows: \(grid), not of a multiple of \(grid.unit) or a row of \(columns)")
    (self.capacity, self.columns, self.grid) = (capacity, columns, grid)
    codes = Buffer(count: grid.codeByteCount(rows: capacity, columns: columns))
    scales = Buffer(count: grid.scaleByteCount(rows: capacity, columns: columns))
  }

  /// Bytes of the codes of the rows in use.
  package var codeByteCount: Int { grid.codeByteCount(rows: rows, columns: columns) }

  /// Bytes of the scales of the rows in use.
  package var scaleByteCount: Int { grid.scaleByteCount(rows: rows, columns: columns) }

  /// Uses the first `rows` rows.
  package mutating func setRows(_ rows: Int) {
    require(rows >= 0 && rows <= capacity, "PackedRows: \(rows) rows exceed the capacity of \(capacity)")
    self.rows = rows
  }

  /// Takes all rows of a packed weight on the same grid.
  package mutating func copy(_ weight: Weight) {
    require(weight.format.grid == grid && weight.columns == columns, "PackedRows.copy: \(weight.shape), \(weight.format)")
    setRows(weight.rows)
    for index in 0..<codeByteCount { codes[index] = weight.elements[index] }
    for index in 0..<scaleByteCount { scales[index] = weight.scales[index] }
  }

  /// The addresses of codes and scales, for C kernels that write.
  @unsafe package mutating func pointers() -> (codes: UnsafeMutablePointer<UInt8>, scales: UnsafeMutablePointer<UInt16>) {
    // SAFETY: the storage is 64-byte aligned and holds only bytes, which any type may be made of.
    unsafe (codes.mutablePointer, UnsafeMutableRawPointer(scales.mutablePointer).assumingMemoryBound(to: UInt16.self))
  }
}
