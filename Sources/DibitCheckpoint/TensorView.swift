/// A tensor under another name, and in another order of its elements, than a file stores it.
///
/// The stored tensor is seen as `split` (row-major, the same number of elements), its axes are put into `order` (axis `i` of the result is
/// axis `order[i]` of `split`), and the result is seen as `shape`. All changes of layout between formats are of this kind:
///
///     transposition of [n, m]                 split [n, m]          order [1, 0]        shape [m, n]
///     halves of a head from interleaved pairs split [H, D/2, 2, C]  order [0, 2, 1, 3]  shape [H D, C]
///     q, k, v of each head in turn            split [H, 3, D, C]    order [1, 0, 2, 3]  shape [3 H D, C]
package struct TensorView: Equatable, Sendable {
  /// The name that the rest of the program uses.
  package let name: String
  /// The name in the file.
  package let source: String
  /// The shape that the rest of the program sees; nil leaves the stored shape, and the order, as they are.
  package let shape: [Int]?
  /// The shape in which the stored elements are seen before their axes are put into `order`.
  package let split: [Int]
  /// The axes of `split`, in the order of the result.
  package let order: [Int]

  /// The tensor `source`, as it is, called `name`.
  package init(_ name: String, from source: String) {
    self.name = name
    self.source = source
    shape = nil
    split = []
    order = []
  }

  /// The tensor `source` in another order, called `name`.
  package init(_ name: String, from source: String, split: [Int], order: [Int], shape: [Int]) {
    self.name = name
    self.source = source
    self.split = split
    self.order = order
    self.shape = shape
  }
}

extension TensorView {
  /// For each row of the view the stored row that it is; nil where none moves. The last axis of a matrix, its columns, must stay the last.
  package func rowOrder(isVector: Bool = false) -> [Int]? {
    guard shape != nil else { return nil }
    let axes = isVector ? split.count : split.count - 1
    var steps = [Int](repeating: 1, count: axes)
    for axis in (0..<axes).dropLast().reversed() { steps[axis] = steps[axis + 1] * split[axis + 1] }
    var result = [0]
    for axis in order where axis < axes { result = result.flatMap { start in (0..<split[axis]).map { start + $0 * steps[axis] } } }
    return result
  }
}
