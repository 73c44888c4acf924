internal import DibitTensor

/// The hidden states of sequences that come again, as examples do epoch after epoch: a model needs to run on them but once.
///
/// A state depends on its sequence alone, so one that is kept is the one that would be computed again. That holds where products do not
/// depend on the number of rows: a library's may.
struct HiddenStates {
  private let columns: Int
  private let capacity: Int
  private var kept: [[Int32]: [Int: Int]] = [:]  // sequence, offset in it: number of the state
  private var states: [Float] = []
  private var batch: [(sequence: [Int32], start: Int)] = []

  /// Keeps up to `capacity` states of `columns` channels.
  init(capacity: Int, columns: Int) { (self.capacity, self.columns) = (capacity, columns) }

  /// Bytes of the states when there are as many as it keeps.
  var byteCount: Int { capacity * columns * MemoryLayout<Float>.stride }

  /// Is told the sequences of the batch that is asked about next.
  mutating func begin(_ tokens: Span<Int32>, lengths: [Int]) {
    batch.removeAll(keepingCapacity: true)
    var start = 0
    for length in lengths {
      batch.append(((start..<start + length).map { tokens[$0] }, start))
      start += length
    }
  }

  /// The batch's sequence that holds row `row`, and where in it.
  private func location(_ row: Int) -> (sequence: [Int32], offset: Int) {
    var (low, high) = (0, batch.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if batch[middle].start <= row { low = middle } else { high = middle }
    }
    return (batch[low].sequence, row - batch[low].start)
  }

  /// Overwrites rows of `x: [n, C]` with the states of the batch's rows `rows`; false where one of them is not kept.
  func copy(_ rows: Span<Int>, to x: inout Matrix) -> Bool {
    for index in rows.indices {
      let (sequence, offset) = location(rows[index])
      guard let number = kept[sequence]?[offset] else { return false }
      for column in 0..<columns { x[index, column] = states[number * columns + column] }
    }
    return true
  }

  /// Keeps the rows of `x`, the states of the batch's rows `rows`, up to its capacity.
  mutating func keep(_ rows: Span<Int>, _ x: borrowing Matrix) {
    if states.isEmpty { states.reserveCapacity(capacity * columns) }
    for index in rows.indices {
      let (sequence, offset) = location(rows[index])
      let count = states.count / columns
      guard count < capacity, kept[sequence]?[offset] == nil else { continue }
      kept[sequence, default: [:]][offset] = count
      for column in 0..<columns { states.append(x[index, column]) }
    }
  }
}
