internal import DibitTensor

/// Collects elements of a stored tensor in the order of a view.
enum Gather {
  /// Rows and columns that are copied together, so that both sides stay in the cache while a matrix is transposed.
  private static let tile = 64

  /// Fills `target` with rows of the view, from floats in the stored order.
  static func gather(_ stored: Span<Float>, _ order: ElementOrder, rows: Range<Int>, into target: inout MutableSpan<Float>) {
    forEachElement(order, rows) { at, source in target[at] = stored[source] }
  }

  /// Fills `target` with rows of the view, from stored elements of `dtype`.
  static func gather(_ stored: Bytes, _ dtype: DType, _ order: ElementOrder, rows: Range<Int>, into target: inout MutableSpan<Float>) {
    let size = dtype.byteCount
    let raw = stored.bytes
    var ordered = [UInt8](repeating: 0, count: target.count * size)
    var bytes = ordered.mutableSpan
    switch size {
    case 2:
      forEachElement(order, rows) { at, source in
        bytes[at * 2] = raw[source * 2]
        bytes[at * 2 + 1] = raw[source * 2 + 1]
      }
    default:
      forEachElement(order, rows) { at, source in
        for byte in 0..<size { bytes[at * size + byte] = raw[source * size + byte] }
      }
    }
    Widening.widen(Bytes(SharedBytes(ordered)), dtype, into: &target)
  }

  /// Calls `body` with each element's index in the target and in the stored tensor, tile by tile.
  @inline(__always)
  private static func forEachElement(_ order: ElementOrder, _ rows: Range<Int>, _ body: (_ at: Int, _ source: Int) -> Void) {
    let columns = order.columnOffsets.count
    for firstRow in stride(from: rows.lowerBound, to: rows.upperBound, by: tile) {
      for firstColumn in stride(from: 0, to: columns, by: tile) {
        for row in firstRow..<min(firstRow + tile, rows.upperBound) {
          let (start, at) = (order.rowStarts[row], (row - rows.lowerBound) * columns)
          for column in firstColumn..<min(firstColumn + tile, columns) { body(at + column, start + order.columnOffsets[column]) }
        }
      }
    }
  }
}
