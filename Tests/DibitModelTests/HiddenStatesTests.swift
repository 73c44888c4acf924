import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitModel

@Suite struct HiddenStatesTests {
  private static let sequences: [[Int32]] = [[1, 2, 3], [1, 2], [7, 8, 9, 4]]

  /// The rows of a batch, each with a state of its own.
  private func states(of batch: [[Int32]]) -> Matrix {
    var x = Matrix(rows: batch.map(\.count).reduce(0, +), columns: 2)
    var row = 0
    for sequence in batch {
      for offset in sequence.indices {
        (x[row, 0], x[row, 1]) = (Float(sequence.reduce(0, +)), Float(offset))
        row += 1
      }
    }
    return x
  }

  private func begin(_ states: inout HiddenStates, _ batch: [[Int32]]) {
    states.begin(Array(batch.joined()).span, lengths: batch.map(\.count))
  }

  @Test("states are found again in any batch, by their sequence and their offset")
  func finds() {
    var kept = HiddenStates(capacity: 9, columns: 2)
    let batch = Self.sequences
    begin(&kept, batch)
    let rows = [0, 2, 3, 8]
    var x = Matrix(rows: rows.count, columns: 2)
    #expect(!kept.copy(rows.span, to: &x))
    let all = states(of: batch)
    for (index, row) in rows.enumerated() { x.copyRow(row, of: all, to: index) }
    kept.keep(rows.span, x)
    let other = [batch[2], batch[0], batch[1]]
    begin(&kept, other)
    // The same rows: the last of the third, the first and last of the first, the first of the second.
    let again = [3, 4, 6, 7]
    var y = Matrix(rows: again.count, columns: 2)
    #expect(kept.copy(again.span, to: &y))
    let expected = states(of: other)
    for (index, row) in again.enumerated() { #expect(y[index, 0] == expected[row, 0] && y[index, 1] == expected[row, 1]) }
    // Another offset, another sequence with the same beginning.
    #expect(!kept.copy([5].span, to: &y))
    begin(&kept, [[1, 2, 3, 4]])
    #expect(!kept.copy([0].span, to: &y))
  }

  @Test("no more than the capacity is kept")
  func capacity() {
    var kept = HiddenStates(capacity: 2, columns: 2)
    #expect(kept.byteCount == 16)
    begin(&kept, Self.sequences)
    var x = Matrix(rows: 3, columns: 2)
    kept.keep([0, 1, 2].span, x)
    #expect(kept.copy([0, 1].span, to: &x) && !kept.copy([2].span, to: &x))
  }
}
