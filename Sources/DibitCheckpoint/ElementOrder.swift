/// The offsets in the stored tensor of the elements of one that is seen in another order; see ``TensorView``.
///
/// Element `(r, c)` of the view is stored element `rowStarts[r] + columnOffsets[c]`.
struct ElementOrder: Equatable, Sendable {
  /// The dimensions of the view.
  let shape: [Int]
  /// The rows and columns of the stored tensor.
  let storedRows: Int
  let storedColumns: Int
  /// For each row of the view, the stored element that the offsets count from.
  let rowStarts: [Int]
  /// For each column of the view.
  let columnOffsets: [Int]
  /// True where the offsets are 0, 1, 2, …
  let rowsAreContiguous: Bool

  /// Nil when `view` does not describe an order of the elements of a tensor with `stored` as its shape.
  init?(_ view: TensorView, stored: TensorInfo) {
    guard let shape = view.shape, view.split.count == view.order.count, view.split.count <= 8, shape.count <= 8,
      Set(view.order) == Set(view.split.indices), Self.product(view.split) == stored.count, Self.product(shape) == stored.count
    else { return nil }
    var strides = [Int](repeating: 1, count: view.split.count)
    for axis in view.split.indices.dropLast().reversed() { strides[axis] = strides[axis + 1] * view.split[axis + 1] }
    let sizes = view.order.map { view.split[$0] }
    let steps = view.order.map { strides[$0] }
    // The first axes must make exactly the rows.
    let rows = shape.count >= 2 ? shape[0] : 1
    var boundary = 0
    var product = 1
    while product < rows, boundary < sizes.count {
      product *= sizes[boundary]
      boundary += 1
    }
    guard product == rows else { return nil }
    self.shape = shape
    (storedRows, storedColumns) = (stored.rows, stored.columns)
    rowStarts = Self.offsets(sizes[..<boundary], steps[..<boundary])
    columnOffsets = Self.offsets(sizes[boundary...], steps[boundary...])
    rowsAreContiguous = columnOffsets.enumerated().allSatisfy { $0.offset == $0.element }
  }

  /// The product, or nil where it overflows or a dimension is negative.
  private static func product(_ sizes: [Int]) -> Int? {
    var product = 1
    for size in sizes {
      let (next, overflow) = product.multipliedReportingOverflow(by: size)
      guard size >= 0, !overflow else { return nil }
      product = next
    }
    return product
  }

  /// The offset of every combination of the axes, the last axis running fastest.
  private static func offsets(_ sizes: ArraySlice<Int>, _ steps: ArraySlice<Int>) -> [Int] {
    var result = [0]
    for (size, step) in zip(sizes, steps) {
      var next: [Int] = []
      next.reserveCapacity(result.count * size)
      for offset in result { for index in 0..<size { next.append(offset + index * step) } }
      result = next
    }
    return result
  }
}
