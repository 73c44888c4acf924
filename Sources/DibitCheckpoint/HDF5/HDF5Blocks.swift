/// Rows of an array, cut into blocks that an HDF5 hyperslab can name and that are no larger than a limit; row-major and in order.
struct HDF5Blocks {
  /// A block: a range along each dimension.
  struct Block: Equatable {
    let start: [Int]
    let count: [Int]

    /// The number of its elements.
    var elements: Int { count.reduce(1, *) }
  }

  private(set) var blocks: [Block] = []

  /// Rows as in ``TensorContainer/readRows(_:rows:into:)``; `limit` is in elements and at least 1.
  init(_ shape: [Int], rows: Range<Int>, limit: Int) {
    if shape.isEmpty {
      blocks = rows.isEmpty ? [] : [Block(start: [], count: [])]
    } else if !shape.contains(0), !rows.isEmpty {
      append(shape, at: [], range: shape.count >= 2 ? rows : 0..<shape[0], limit: limit)
    }
  }

  /// The part of the array at the indices `at` of the leading dimensions, within `range` of the next one.
  private mutating func append(_ shape: [Int], at: [Int], range: Range<Int>, limit: Int) {
    let rest = Array(shape.dropFirst(at.count + 1))
    let inner = rest.reduce(1, *)
    guard inner <= limit else {
      // Not even one step fits: each step is cut along the next dimension. `rest` has one, because `inner` of none is 1.
      for index in range { append(shape, at: at + [index], range: 0..<rest[0], limit: limit) }
      return
    }
    let step = limit / inner
    for begin in stride(from: range.lowerBound, to: range.upperBound, by: step) {
      let end = min(begin + step, range.upperBound)
      blocks.append(
        Block(
          start: at + [begin] + rest.map { _ in 0 }, count: at.map { _ in 1 } + [end - begin] + rest))
    }
  }
}
