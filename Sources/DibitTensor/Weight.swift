/// How a weight's elements are stored.
package enum WeightFormat: Equatable, Sendable {
  case f32
  case f16
  case bf16
  /// Codes of `bits` bits on the grid `(code - (2^bits - 1) / 2) * scale`, one F16 scale for each `group` consecutive inputs of a row.
  ///
  /// `bits` is 2 or 4. See docs/formats/model.md for the order of the codes in a byte.
  case grid(bits: Int, group: Int)
}

/// A frozen or trainable matrix `[rows, columns]` that many owners may share; a row is one output channel.
///
/// A value: writing through ``withMutableValues(_:)`` copies when the storage is shared or mapped from a file.
package struct Weight: Sendable {
  /// Output channels.
  package let rows: Int
  /// Inputs of an output channel.
  package let columns: Int
  /// How the elements are stored.
  package let format: WeightFormat
  /// The elements, or the packed codes.
  package private(set) var elements: Bytes
  /// The F16 scales of a grid, `[panels, groups, 16]`; empty otherwise.
  package private(set) var scales: Bytes

  /// A weight over stored elements. The byte counts must fit the format: see ``elementByteCount(rows:columns:format:)``.
  package init(rows: Int, columns: Int, format: WeightFormat, elements: Bytes, scales: Bytes? = nil) {
    if case .grid(let bits, let group) = format {
      require(bits == 2 || bits == 4, "Weight: a grid of \(bits) bits; 2 or 4 are supported")
      require(
        group > 0 && (group % 16 == 0 || group >= columns),
        "Weight [\(rows), \(columns)]: groups of \(group), not of a multiple of 16 or a row")
    }
    let expected = Self.elementByteCount(rows: rows, columns: columns, format: format)
    let expectedScales = Self.scaleByteCount(rows: rows, columns: columns, format: format)
    let scales = scales ?? Bytes(SharedBytes(zeroed: 0))
    require(elements.count == expected, "Weight [\(rows), \(columns)] \(format): \(elements.count) bytes, expected \(expected)")
    require(
      scales.count == expectedScales, "Weight [\(rows), \(columns)] \(format): \(scales.count) scale bytes, expected \(expectedScales)")
    self.rows = rows
    self.columns = columns
    self.format = format
    self.elements = elements
    self.scales = scales
  }

  /// Zeroed F32 elements.
  package init(zerosWithRows rows: Int, columns: Int) {
    self.init(rows: rows, columns: columns, format: .f32, elements: Bytes(SharedBytes(zeroed: rows * columns * 4)))
  }

  /// A packed weight whose numbers have no meaning yet.
  package init(gridWithRows rows: Int, columns: Int, bits: Int, group: Int) {
    let format = WeightFormat.grid(bits: bits, group: group)
    self.init(
      rows: rows, columns: columns, format: format,
      elements: Bytes(SharedBytes(zeroed: Self.elementByteCount(rows: rows, columns: columns, format: format))),
      scales: Bytes(SharedBytes(zeroed: Self.scaleByteCount(rows: rows, columns: columns, format: format))))
  }

  /// F32 elements, row by row.
  package init(rows: Int, columns: Int, values: [Float]) {
    require(values.count == rows * columns, "Weight: \(values.count) values for [\(rows), \(columns)]")
    self.init(zerosWithRows: rows, columns: columns)
    withMutableValues { span in for index in span.indices { span[index] = values[index] } }
  }

  /// The number of elements.
  package var count: Int { rows * columns }

  /// `[rows, columns]`, for messages.
  package var shape: String { "[\(rows), \(columns)]" }

  /// Bytes of elements and scales together.
  package var byteCount: Int { elements.count + scales.count }

  /// The bytes that `rows x columns` elements take in `format`, without scales.
  package static func elementByteCount(rows: Int, columns: Int, format: WeightFormat) -> Int {
    switch format {
    case .f32: rows * columns * 4
    case .f16, .bf16: rows * columns * 2
    case .grid(let bits, _): panels(rows: rows) * blocks(columns: columns, bits: bits) * blockBytes
    }
  }

  /// The bytes of the F16 scales of `rows x columns` elements in `format`.
  package static func scaleByteCount(rows: Int, columns: Int, format: WeightFormat) -> Int {
    if case .grid(_, let group) = format { panels(rows: rows) * groups(columns: columns, group: group) * panelRows * 2 } else { 0 }
  }

  /// Rows whose codes and scales lie interleaved; the last panel of a weight is padded.
  package static let panelRows = 16

  /// Bytes of the smallest part of a panel: 16 inputs of 2 bits, or 8 of 4 bits, of each of its rows.
  package static let blockBytes = 64

  /// The number of panels of `rows` rows.
  package static func panels(rows: Int) -> Int { (rows + panelRows - 1) / panelRows }

  /// The number of blocks of a panel; the inputs are padded to a multiple of 16.
  package static func blocks(columns: Int, bits: Int) -> Int { (columns + 15) / 16 * bits / 2 }

  /// The number of scales in a row; the last group may be short.
  package static func groups(columns: Int, group: Int) -> Int { (columns + group - 1) / group }

  /// The shape in which a file holds codes: panels, blocks, bytes.
  package static func codeShape(rows: Int, columns: Int, bits: Int) -> [Int] {
    [panels(rows: rows), blocks(columns: columns, bits: bits), blockBytes]
  }

  /// The shape in which a file holds scales: panels, an even number so that what follows in the file stays aligned, groups, rows.
  package static func scaleShape(rows: Int, columns: Int, group: Int) -> [Int] {
    [(panels(rows: rows) + 1) / 2 * 2, groups(columns: columns, group: group), panelRows]
  }

  /// The F32 elements for reading; the format must be `.f32`.
  package var values: Span<Float> {
    // SAFETY: init checked `count` floats; writable storage is 64-byte aligned and mapped tensors are 4-byte aligned by their reader.
    @_lifetime(borrow self) get {
      require(format == .f32, "Weight.values: the format is \(format), not f32")
      return unsafe _overrideLifetime(
        Span(_unsafeStart: elements.pointer.assumingMemoryBound(to: Float.self), count: count), borrowing: self)
    }
  }

  /// Calls `body` with the codes and scales of a packed weight for writing, after copying them when they are shared.
  @unsafe package mutating func withMutableGrid(_ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt16>) -> Void) {
    if case .grid = format {} else { trap("Weight.withMutableGrid: the format is \(format)", file: #fileID, line: #line) }
    unsafe Self.withMutable(&elements, &scales, body)
  }

  // The owners come apart here: a closure that has one field would lock the whole struct.
  @unsafe private static func withMutable(
    _ elements: inout Bytes, _ scales: inout Bytes, _ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt16>) -> Void
  ) {
    unsafe elements.withMutablePointer { codes in
      // SAFETY: exclusive writable storage; bytes may be read as any type, and allocations are 64-byte aligned.
      unsafe scales.withMutablePointer { scales in
        unsafe body(codes.assumingMemoryBound(to: UInt8.self), scales.assumingMemoryBound(to: UInt16.self))
      }
    }
  }

  /// Calls `body` with the F32 elements for writing, after copying them when they are shared; the format must be `.f32`.
  package mutating func withMutableValues<Result, Failure: Error>(_ body: (inout MutableSpan<Float>) throws(Failure) -> Result)
    throws(Failure) -> Result
  {
    require(format == .f32, "Weight.withMutableValues: the format is \(format), not f32")
    let count = count
    return try unsafe elements.withMutablePointer { base throws(Failure) in
      // SAFETY: exclusive writable storage of `count` floats.
      var span = unsafe MutableSpan(_unsafeStart: base.assumingMemoryBound(to: Float.self), count: count)
      return try body(&span)
    }
  }
}
