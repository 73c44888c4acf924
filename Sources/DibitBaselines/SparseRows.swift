internal import DibitTensor

/// Rows of features most of which are zero: each row has only the others, so that memory grows with these and not with the columns.
struct SparseRows: Equatable {
  /// The number of columns.
  let columns: Int
  /// `starts[r]..<starts[r + 1]` are the entries of row r.
  private(set) var starts = [0]
  /// The column of each entry.
  private(set) var indices: [Int32] = []
  /// The value of each entry.
  private(set) var values: [Double] = []

  /// No rows of `columns` columns.
  init(columns: Int) { self.columns = columns }

  /// The number of rows.
  var count: Int { starts.count - 1 }

  /// Adds an entry to the row that is being made.
  mutating func append(_ value: Double, at column: Int) {
    require(column >= 0 && column < columns, "SparseRows: column \(column) of \(columns)")
    indices.append(Int32(column))
    values.append(value)
  }

  /// Ends the row that is being made.
  mutating func endRow() { starts.append(indices.count) }

  /// The columns of row `row` with their values.
  func entries(_ row: Int) -> some Sequence<(Int32, Double)> {
    zip(indices[starts[row]..<starts[row + 1]], values[starts[row]..<starts[row + 1]])
  }

  /// Adds to `sums` each entry of row `row` times the row of `matrix` that its column names; rows of `matrix` are as long as `sums`.
  func addProducts(_ row: Int, _ matrix: Span<Double>, to sums: inout [Double]) {
    var sums = sums.mutableSpan
    for entry in starts[row]..<starts[row + 1] {
      let (factor, first) = (values[entry], Int(indices[entry]) * sums.count)
      let other = matrix.extracting(first..<first + sums.count)
      require(other.count == sums.count, "SparseRows: \(other.count) columns of \(sums.count)")
      for index in other.indices { sums[index] += factor * other[index] }
    }
  }

  /// The columns as rows, with their entries in the order of the rows.
  func transposed() -> SparseRows {
    var ends = [Int](repeating: 0, count: columns + 1)
    for column in indices { ends[Int(column) + 1] += 1 }
    for column in 0..<columns { ends[column + 1] += ends[column] }
    var flipped = SparseRows(columns: count)
    flipped.starts = ends
    flipped.indices = [Int32](repeating: 0, count: indices.count)
    flipped.values = [Double](repeating: 0, count: values.count)
    for row in 0..<count {
      for entry in starts[row]..<starts[row + 1] {
        let column = Int(indices[entry])
        flipped.indices[ends[column]] = Int32(row)
        flipped.values[ends[column]] = values[entry]
        ends[column] += 1
      }
    }
    return flipped
  }
}
