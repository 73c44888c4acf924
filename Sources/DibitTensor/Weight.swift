package import DibitQuantization

/// A frozen or trainable matrix `[rows, columns]` that many owners may share; a row is one output channel.
///
/// A value: writing through ``withMutableValues(_:)`` copies when the storage is shared or mapped from a file.
package struct Weight: Sendable {
  /// Output channels.
  package let rows: Int
  /// Inputs of an output channel.
  package let columns: Int
  /// The format of the elements.
  package let format: WeightFormat
  /// The elements, or the packed codes.
  package private(set) var elements: Bytes
  /// The F16 scales of a grid, `[panels, groups, 16]`; empty otherwise.
  package private(set) var scales: Bytes

  /// A weight over stored elements. The byte counts must fit the format: see ``WeightFormat/elementByteCount(rows:columns:)``.
  package init(rows: Int, columns: Int, format: WeightFormat, elements: Bytes, scales: Bytes? = nil) {
    if let grid = format.grid {
      require(grid.fits(columns: columns), "Weight [\(rows), \(columns)]: \(grid), not of a multiple of \(grid.unit) or a row")
    }
    let expected = format.elementByteCount(rows: rows, columns: columns)
    let expectedScales = format.scaleByteCount(rows: rows, columns: columns)
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

  /// Bytes that are zero: F32 zeros, or a packed weight whose numbers have no meaning yet.
  package init(zerosWithRows rows: Int, columns: Int, format: WeightFormat = .f32) {
    self.init(
      rows: rows, columns: columns, format: format,
      elements: Bytes(SharedBytes(zeroed: format.elementByteCount(rows: rows, columns: columns))),
      scales: Bytes(SharedBytes(zeroed: format.scaleByteCount(rows: rows, columns: columns))))
  }

  /// F32 elements, row by row.
  package init(rows: Int, columns: Int, values: [Float]) {
    require(values.count == rows * columns, "Weight: \(values.count) values for [\(rows), \(columns)]")
    self.init(zerosWithRows: rows, columns: columns)
    withMutableValues { span in for index in span.indices { span[index] = values[index] } }
  }

  /// F32 elements rounded to BF16; a weight of another format as it is.
  package func roundedToBFloat() -> Weight {
    guard format == .f32 else { return self }
    let numbers = values
    var elements = Bytes(SharedBytes(zeroed: 2 * count))
    unsafe elements.withMutablePointer { base in
      // SAFETY: `count` numbers of two bytes.
      let target = unsafe base.assumingMemoryBound(to: UInt16.self)
      for index in numbers.indices { unsafe target[index] = BFloat16(numbers[index]).bitPattern }
    }
    return Weight(rows: rows, columns: columns, format: .bf16, elements: elements)
  }

  /// The number of elements.
  package var count: Int { rows * columns }

  /// `[rows, columns]`, for messages.
  package var shape: String { "[\(rows), \(columns)]" }

  /// True when the elements are codes on a grid.
  package var isPacked: Bool { format.grid != nil }

  /// Bytes of elements and scales together.
  package var byteCount: Int { elements.count + scales.count }

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
    require(isPacked, "Weight.withMutableGrid: the format is \(format)")
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
