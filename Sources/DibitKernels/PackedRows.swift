package import DibitTensor

/// Room for codes and scales of some rows, whole panels but for the last ones of a weight, in the byte order of ``WeightFormat/grid(bits:group:)``; used again from piece to piece.
@safe
package struct PackedRows: ~Copyable, Sendable {
  /// Elements of a row.
  package let columns: Int
  /// Bits of a code: 2 or 4.
  package let bits: Int
  /// Consecutive elements that share a scale; at least ``columns`` for one scale per row.
  package let group: Int
  /// Rows in use.
  package private(set) var rows = 0
  /// The most rows that fit.
  package let capacity: Int
  /// Codes; those of the rows in use are the first ``codeByteCount`` bytes.
  package private(set) var codes: Buffer<UInt8>
  /// F16 scales, little-endian; those of the rows in use are the first ``scaleByteCount`` bytes.
  package private(set) var scales: Buffer<UInt8>

  /// Room for `capacity` rows of `columns` elements; none is in use.
  package init(capacity: Int, columns: Int, bits: Int, group: Int) {
    require(bits == 2 || bits == 4, "PackedRows: \(bits) bits; 2 or 4 are supported")
    require(
      group > 0 && (group % 16 == 0 || group >= columns), "PackedRows: groups of \(group), not of a multiple of 16 or a row of \(columns)")
    (self.capacity, self.columns, self.bits, self.group) = (capacity, columns, bits, group)
    codes = Buffer(count: Weight.elementByteCount(rows: capacity, columns: columns, format: .grid(bits: bits, group: group)))
    scales = Buffer(count: Weight.scaleByteCount(rows: capacity, columns: columns, format: .grid(bits: bits, group: group)))
  }

  /// How the rows are stored.
  package var format: WeightFormat { .grid(bits: bits, group: group) }

  /// The number of scales of a row.
  package var groupsPerRow: Int { Weight.groups(columns: columns, group: group) }

  /// Bytes of the codes of the rows in use.
  package var codeByteCount: Int { Weight.elementByteCount(rows: rows, columns: columns, format: format) }

  /// Bytes of the scales of the rows in use.
  package var scaleByteCount: Int { Weight.scaleByteCount(rows: rows, columns: columns, format: format) }

  /// Uses the first `rows` rows.
  mutating func setRows(_ rows: Int) {
    require(rows >= 0 && rows <= capacity, "PackedRows: \(rows) rows exceed the capacity of \(capacity)")
    self.rows = rows
  }

  /// The addresses of codes and scales, for C kernels that write.
  @unsafe mutating func pointers() -> (codes: UnsafeMutablePointer<UInt8>, scales: UnsafeMutablePointer<UInt16>) {
    // SAFETY: the storage is 64-byte aligned and holds only bytes, which any type may be made of.
    unsafe (codes.mutablePointer, UnsafeMutableRawPointer(scales.mutablePointer).assumingMemoryBound(to: UInt16.self))
  }
}
