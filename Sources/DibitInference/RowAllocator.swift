/// Slots, runs of neighbouring cache rows, first fit: as many texts as are under way hold one each, which is a few dozen.
struct RowAllocator: Sendable {
  /// The free rows, in order; neighbours are joined.
  private(set) var free: [Range<Int>]

  init(_ rows: Range<Int>) { free = rows.isEmpty ? [] : [rows] }

  /// The first slot of `count` rows, from 1 on; nil where none is long enough.
  mutating func allocate(_ count: Int) -> Range<Int>? {
    guard let index = free.firstIndex(where: { $0.count >= count }) else { return nil }
    let found = free[index]
    let taken = found.lowerBound..<found.lowerBound + count
    if taken.upperBound == found.upperBound { free.remove(at: index) } else { free[index] = taken.upperBound..<found.upperBound }
    return taken
  }

  /// Gives back what ``allocate(_:)`` returned.
  mutating func release(_ rows: Range<Int>) {
    let index = free.firstIndex { $0.lowerBound >= rows.upperBound } ?? free.count
    free.insert(rows, at: index)
    join(at: index)
    if index > 0 { join(at: index - 1) }
  }

  private mutating func join(at index: Int) {
    guard index + 1 < free.count, free[index].upperBound == free[index + 1].lowerBound else { return }
    free[index] = free[index].lowerBound..<free[index + 1].upperBound
    free.remove(at: index + 1)
  }
}
