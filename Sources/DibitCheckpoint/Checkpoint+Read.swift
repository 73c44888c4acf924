package import DibitTensor

extension Checkpoint {
  /// Returns the facts known about a tensor.
  ///
  /// - Throws: ``CheckpointError/unknownTensor(_:path:)``; with `shape`, ``CheckpointError/shapeMismatch(tensor:file:expected:found:)``.
  package func tensor(_ name: String, shape: [Int]? = nil) throws(CheckpointError) -> TensorInfo {
    guard let info = info(name) else { throw .unknownTensor(name, path: path) }
    if let shape, shape != info.shape { throw .shapeMismatch(tensor: name, file: info.file, expected: shape, found: info.shape) }
    return info
  }

  /// Reads rows of a tensor as floats into `matrix`, whose ``Matrix/rows`` becomes `rows.count`.
  ///
  /// A tensor with fewer than two dimensions is one row; one with more is `[shape[0], rest]`. Every dtype up to 16 bits and F32 are
  /// exact; F64 and 32- or 64-bit integers are rounded to nearest. NaN and infinity are kept: see ``firstNonFinite(_:)``.
  /// `matrix` needs the columns of the tensor and capacity for the rows.
  ///
  /// - Throws: ``CheckpointError`` when there is no such tensor, its columns are not those of `matrix`, or it has no such rows.
  package func readRows(_ name: String, rows: Range<Int>, into matrix: inout Matrix) throws(CheckpointError) {
    let info = try tensor(name)
    guard info.columns == matrix.columns else {
      throw .shapeMismatch(tensor: name, file: info.file, expected: [info.rows, matrix.columns], found: info.shape)
    }
    guard rows.lowerBound >= 0, rows.upperBound <= info.rows else {
      throw .rowsOutside(tensor: name, file: info.file, rows: rows, count: info.rows)
    }
    matrix.setRows(rows.count)
    var target = matrix.mutableSpan
    try read(try location(of: name), rows: rows, into: &target)
  }

  /// Reads rows of a tensor as floats into `target`, which has room for exactly these; several threads may do so at a time.
  ///
  /// Shapes and rounding as in the reading of a matrix.
  ///
  /// - Throws: ``CheckpointError`` when there is no such tensor or it has no such rows.
  package func readRows(_ name: String, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    let info = try tensor(name)
    guard rows.lowerBound >= 0, rows.upperBound <= info.rows else {
      throw .rowsOutside(tensor: name, file: info.file, rows: rows, count: info.rows)
    }
    require(target.count == rows.count * info.columns, "Checkpoint: \(rows.count) rows of \(info.columns) into \(target.count) floats")
    try read(try location(of: name), rows: rows, into: &target)
  }

  /// Reads a whole tensor as floats; shapes and rounding as in ``readRows(_:rows:into:)``.
  package func readMatrix(_ name: String) throws(CheckpointError) -> Matrix {
    let info = try tensor(name)
    var matrix = Matrix(rows: info.rows, columns: info.columns)
    try readRows(name, rows: 0..<info.rows, into: &matrix)
    return matrix
  }

  /// Reads a whole tensor as a list of floats, row by row; rounding as in ``readRows(_:rows:into:)``.
  package func readVector(_ name: String) throws(CheckpointError) -> [Float] {
    let info = try tensor(name)
    var values = [Float](repeating: 0, count: info.count)
    var target = values.mutableSpan
    try read(try location(of: name), rows: 0..<info.rows, into: &target)
    return values
  }
}

/// The index of the first NaN or infinity, or nil when all values are finite.
package func firstNonFinite(_ values: Span<Float>) -> Int? {
  for index in values.indices where !values[index].isFinite { return index }
  return nil
}
