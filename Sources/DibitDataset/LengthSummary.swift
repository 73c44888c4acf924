/// The lengths of texts, summarised.
package struct LengthSummary: Equatable, Sendable {
  /// The number of texts.
  package let count: Int
  /// All lengths together.
  package let total: Int
  /// The shortest length.
  package let minimum: Int
  /// The length that half of the texts do not exceed.
  package let median: Int
  /// The length that nine in ten texts do not exceed.
  package let ninetieth: Int
  /// The length that 99 in 100 texts do not exceed.
  package let ninetyNinth: Int
  /// The greatest length.
  package let maximum: Int
  /// The number of texts as long as `bounds`, for each class that is not empty on both sides: 0...7, 8...15, 16...31, and so on.
  package let classes: [(bounds: ClosedRange<Int>, count: Int)]

  /// A summary of lengths; nil when there are none.
  package init?(_ lengths: [Int]) {
    let sorted = lengths.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    // The smallest length that at least this share of all does not exceed.
    func quantile(_ percent: Int) -> Int { sorted[(sorted.count * percent + 99) / 100 - 1] }
    count = sorted.count
    total = sorted.reduce(0, +)
    (minimum, maximum) = (first, last)
    (median, ninetieth, ninetyNinth) = (quantile(50), quantile(90), quantile(99))
    var counts = [Int](repeating: 0, count: 62)
    for length in sorted { counts[Self.classIndex(of: length)] += 1 }
    classes = (Self.classIndex(of: first)...Self.classIndex(of: last)).map { (Self.bounds(of: $0), counts[$0]) }
  }

  private static func classIndex(of length: Int) -> Int { max(0, Int.bitWidth - length.leadingZeroBitCount - 3) }

  private static func bounds(of index: Int) -> ClosedRange<Int> { index == 0 ? 0...7 : (4 << index)...((4 << index) - 1 + (4 << index)) }

  /// Checks that all numbers are the same.
  package static func == (left: LengthSummary, right: LengthSummary) -> Bool {
    (left.count, left.total, left.minimum, left.median) == (right.count, right.total, right.minimum, right.median)
      && (left.ninetieth, left.ninetyNinth, left.maximum) == (right.ninetieth, right.ninetyNinth, right.maximum)
      && left.classes.elementsEqual(right.classes) { $0 == $1 }
  }
}
