internal import CDibitKernels
package import DibitTensor

/// The sequences of a batch: which rows of the queries and of the key/value cache belong together.
///
/// Sequences of different lengths lie one after the other without padding and do not see each other. Query `i` of a segment sees
/// the shared rows `prefix`, then its own rows from `start` up to itself.
@safe
package struct Segments: ~Copyable, Sendable {
  private var storage: Buffer<dibit_segment>
  /// The number of segments.
  package private(set) var count = 0
  /// The number of query rows.
  package private(set) var rows = 0
  /// The most rows of a segment.
  package private(set) var maximumRows = 0
  /// The most keys that any query sees.
  package private(set) var longest = 0
  /// The number of cache rows in use: one more than the highest row that is read or written.
  package private(set) var cacheRows = 0

  /// Room for `capacity` segments.
  package init(capacity: Int) { storage = Buffer(count: capacity) }

  /// The most segments that fit.
  package var capacity: Int { storage.count }

  /// Forgets all segments; the room stays.
  package mutating func removeAll() { (count, rows, maximumRows, longest, cacheRows) = (0, 0, 0, 0, 0) }

  /// Adds a segment of `rows` queries. Its keys are the cache rows `prefix`, the `past` rows from `start`, and the `rows` rows after
  /// those, which the forward pass writes.
  package mutating func append(rows: Int, start: Int, past: Int = 0, prefix: Range<Int> = 0..<0) {
    require(count < capacity, "Segments: no room for more than \(capacity)")
    require(
      rows >= 0 && start >= 0 && past >= 0 && prefix.lowerBound >= 0,
      "Segments: \(rows) rows, start \(start), past \(past), prefix \(prefix): none may be negative")
    storage[count] = dibit_segment(
      row: Int32(self.rows), rows: Int32(rows), prefix: Int32(prefix.lowerBound), prefix_rows: Int32(prefix.count), own: Int32(start),
      past: Int32(past))
    count += 1
    self.rows += rows
    maximumRows = max(maximumRows, rows)
    longest = max(longest, prefix.count + past + rows)
    cacheRows = max(cacheRows, start + past + rows, prefix.isEmpty ? 0 : prefix.upperBound)
  }

  /// Calls `body` with each segment's first query row, number of rows, first cache row to write and first position.
  package func forEach(_ body: (_ row: Int, _ rows: Int, _ cacheRow: Int, _ position: Int) -> Void) {
    for index in 0..<count {
      let s = storage[index]
      body(Int(s.row), Int(s.rows), Int(s.own + s.past), Int(s.prefix_rows + s.past))
    }
  }

  /// True when every segment stands alone: no shared prefix and nothing before its own rows. The backward pass needs that.
  package var areWhole: Bool {
    for index in 0..<count where storage[index].prefix_rows != 0 || storage[index].past != 0 { return false }
    return true
  }

  /// Becomes the segments of some of `other`'s query rows, which lie one after the other from now on: each run of neighbours is a segment
  /// whose past ends before it.
  ///
  /// The first `count` entries of `selected` name the rows and ascend. Nothing is written through such segments: the keys of all rows lie in the cache already.
  package mutating func select(_ selected: borrowing Buffer<Int32>, count selectedCount: Int, of other: borrowing Segments) {
    removeAll()
    var (index, first) = (0, 0)
    while first < selectedCount {
      let row = Int(selected[first])
      while index < other.count, row >= Int(other.storage[index].row + other.storage[index].rows) { index += 1 }
      require(index < other.count, "Segments.select: row \(row) of \(other.rows)")
      let s = other.storage[index]
      let (offset, end) = (row - Int(s.row), Int(s.row + s.rows))
      var run = 1
      while first + run < selectedCount, Int(selected[first + run]) == row + run, row + run < end { run += 1 }
      require(first + run == selectedCount || Int(selected[first + run]) >= row + run, "Segments.select: rows do not ascend")
      append(
        rows: run, start: Int(s.own), past: Int(s.past) + offset, prefix: Int(s.prefix)..<Int(s.prefix + s.prefix_rows))
      first += run
    }
  }

  /// The last query row of a segment, or nil when it has none.
  package func lastRow(of index: Int) -> Int? {
    require(index >= 0 && index < count, "Segments.lastRow: \(index) of \(count)")
    return storage[index].rows > 0 ? Int(storage[index].row + storage[index].rows) - 1 : nil
  }

  @unsafe var pointer: UnsafePointer<dibit_segment> { unsafe storage.pointer }
}
