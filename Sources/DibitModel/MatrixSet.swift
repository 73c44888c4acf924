internal import BasicContainers
internal import DibitTensor

/// Matrices that belong together, listed once: what allocates, counts and reshapes them walks the list.
protocol MatrixSet: ~Copyable, Sendable {
  /// The sizes that their widths follow from.
  associatedtype Shape

  /// Matrices without any elements.
  init()

  /// Calls `body` with each matrix and its columns, 0 for one that `shape` does not need.
  mutating func forEachMatrix(_ shape: Shape, _ body: (_ matrix: inout Matrix, _ columns: Int) -> Void)
}

extension MatrixSet where Self: ~Copyable {
  /// Allocates `rows` rows of the matrices that `shape` needs.
  init(rows: Int, for shape: Shape) {
    self.init()
    forEachMatrix(shape) { matrix, columns in matrix = Matrix(rows: columns > 0 ? rows : 0, columns: columns) }
  }

  /// Uses the first `rows` rows of everything.
  mutating func setRows(_ rows: Int, for shape: Shape) {
    forEachMatrix(shape) { matrix, columns in if columns > 0 { matrix.setRows(rows) } }
  }

  /// Floats of a row of each matrix.
  static func widths(for shape: Shape) -> [Int] {
    var empty = Self()
    var widths: [Int] = []
    empty.forEachMatrix(shape) { _, columns in widths.append(columns) }
    return widths
  }
}

/// Working memory that is lent for a while: matrices that are allocated once, each to one borrower at a time.
struct MatrixPool: ~Copyable, Sendable {
  private var free: UniqueArray<Matrix>
  private let rows: Int
  /// Bytes of the allocations.
  let byteCount: Int

  /// A matrix of `rows` rows for each of `widths`: those that are lent at once.
  init(rows: Int, widths: [Int]) {
    free = UniqueArray(minimumCapacity: widths.count)
    for width in widths { free.append(Matrix(rows: rows, columns: width)) }
    self.rows = rows
    byteCount = widths.reduce(0) { $0 + rows * $1 * MemoryLayout<Float>.stride }
  }

  /// The narrowest free matrix that has room for `columns`, as `[rows, columns]`; its elements have no meaning.
  mutating func take(rows: Int, columns: Int) -> Matrix {
    var (found, size) = (-1, Int.max)
    for i in 0..<free.count where free[i].elementCapacity >= self.rows * columns && free[i].elementCapacity < size {
      (found, size) = (i, free[i].elementCapacity)
    }
    require(found >= 0, "MatrixPool: no matrix of \(columns) columns is free")
    var matrix = free.remove(at: found)
    matrix.reshape(rows: rows, columns: columns)
    return matrix
  }

  /// Takes a matrix back.
  mutating func give(_ matrix: consuming Matrix) { free.append(matrix) }

  /// Widths of a pool that serves borrowers one after the other, each of which needs some widths at once.
  static func widths(_ needs: [[Int]]) -> [Int] {
    var widest: [Int] = []
    for need in needs {
      for (index, width) in need.filter({ $0 > 0 }).sorted(by: >).enumerated() {
        if index == widest.count { widest.append(width) } else { widest[index] = max(widest[index], width) }
      }
    }
    return widest
  }
}
