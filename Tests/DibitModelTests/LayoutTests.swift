import DibitModel
import Testing

@Suite struct ParameterLayoutTests {
  /// Rows of a parameter are numbered `part * 6 + head * 3 + d`: two heads of three elements, three parts.
  static let interleaved = ParameterLayout.interleavedHeads(heads: 2, parts: 3)

  @Test func headsOneAfterTheOther() {
    let stored: [Float] = [0, 1, 2, 6, 7, 8, 12, 13, 14, 3, 4, 5, 9, 10, 11, 15, 16, 17]
    let rows = (0..<18).map { Float($0) }
    #expect(Self.interleaved.toCheckpoint(rows, rows: 1, columns: 18) == stored)
    #expect(Self.interleaved.fromCheckpoint(stored, rows: 1, columns: 18) == rows)
    let two = rows.flatMap { [$0, -$0] }
    #expect(Self.interleaved.toCheckpoint(two, rows: 18, columns: 2) == stored.flatMap { [$0, -$0] })
    #expect(Self.interleaved.fromCheckpoint(stored.flatMap { [$0, -$0] }, rows: 18, columns: 2) == two)
    #expect(Self.interleaved.shape(rows: 18, columns: 2) == [18, 2])
    #expect(Self.interleaved.ofAdapterB == Self.interleaved)
  }

  @Test func transposed() {
    #expect(ParameterLayout.transposed.toCheckpoint([1, 2, 3, 4, 5, 6], rows: 2, columns: 3) == [1, 4, 2, 5, 3, 6])
    #expect(ParameterLayout.transposed.fromCheckpoint([1, 4, 2, 5, 3, 6], rows: 2, columns: 3) == [1, 2, 3, 4, 5, 6])
    #expect(ParameterLayout.transposed.toCheckpoint([1, 2, 3], rows: 1, columns: 3) == [1, 2, 3])
    #expect(ParameterLayout.transposed.shape(rows: 2, columns: 3) == [3, 2])
    #expect(ParameterLayout.transposed.shape(rows: 1, columns: 3) == [3])
    #expect(ParameterLayout.transposed.ofAdapterB == .rows)
  }
}
