internal import CDibitKernels
package import DibitTensor

extension Matrix {
  /// `self += x`.
  package mutating func add(_ x: borrowing Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("add", begin, rows: rows, columns: columns) }
    require(count == x.count && columns == x.columns, "Matrix.add: \(x.shape) to \(shape)")
    let (xs, ys) = unsafe (x.pointer, mutablePointer)
    compute.forEachRange(count, step: 16_384) { r, _ in unsafe compute.kernels.add(xs + r.lowerBound, ys + r.lowerBound, r.count) }
  }

  /// `self -= x`.
  package mutating func subtract(_ x: borrowing Matrix, on compute: Compute) {
    require(count == x.count && columns == x.columns, "Matrix.subtract: \(x.shape) from \(shape)")
    let (xs, ys) = unsafe (x.pointer, mutablePointer)
    compute.forEachRange(count, step: 16_384) { r, _ in for index in r { unsafe ys[index] -= xs[index] } }
  }

  /// Multiplies each row by a factor of its own.
  package mutating func multiplyRows(by factors: [Float], on compute: Compute) {
    require(factors.count == rows, "Matrix.multiplyRows: \(factors.count) factors for \(shape)")
    let (ys, columns) = unsafe (mutablePointer, columns)
    compute.forEachRange(rows, step: 32) { r, _ in
      for row in r {
        let factor = factors[row]
        for index in row * columns..<(row + 1) * columns { unsafe ys[index] *= factor }
      }
    }
  }

  /// `self *= factor`.
  package mutating func multiply(by factor: Float, on compute: Compute) { unsafe compute.kernels.scale(factor, mutablePointer, count) }

  /// `Σ x²` in double precision.
  package func sumOfSquares(on compute: Compute) -> Double { unsafe compute.kernels.sum_of_squares(pointer, count) }

  /// `Σ x y` over some rows, where `other` has the same shape.
  package func sumOfProducts(with other: borrowing Matrix, rows part: Range<Int>, on compute: Compute) -> Double {
    require(
      rows == other.rows && columns == other.columns && part.lowerBound >= 0 && part.upperBound <= rows,
      "Matrix.sumOfProducts: rows \(part) of \(shape) and \(other.shape)")
    var sums = [Float](repeating: 0, count: columns)
    let (xs, ys, columns) = unsafe (pointer + part.lowerBound * columns, other.pointer + part.lowerBound * columns, columns)
    unsafe sums.withUnsafeMutableBufferPointer { sums in
      guard let base = sums.baseAddress else { return }
      unsafe compute.kernels.sum_products(xs, ys, part.count, columns, 0, columns, base)
    }
    return sums.reduce(0) { $0 + Double($1) }
  }

  /// Copies row `source` of `other` to row `row`.
  package mutating func copyRow(_ source: Int, of other: borrowing Matrix, to row: Int) {
    require(
      columns == other.columns && source < other.rows && row < rows && source >= 0 && row >= 0,
      "Matrix.copyRow: \(source) of \(other.shape) to \(row) of \(shape)")
    unsafe (mutablePointer + row * columns).update(from: other.pointer + source * columns, count: columns)
  }

  /// Keeps the first `count` rows that `kept` names, which must ascend, one after the other at the front.
  package mutating func keepRows(_ kept: borrowing Buffer<Int32>, count: Int) {
    let base = unsafe mutablePointer
    for index in 0..<count {
      let row = Int(kept[index])
      require(row >= index && row < rows, "Matrix.keepRows: row \(row) of \(shape) to \(index)")
      if row > index { unsafe (base + index * columns).update(from: base + row * columns, count: columns) }
    }
    setRows(count)
  }

  /// `self[row] += other[source]`.
  package mutating func addRow(_ source: Int, of other: borrowing Matrix, to row: Int, on compute: Compute) {
    require(
      columns == other.columns && source < other.rows && row < rows && source >= 0 && row >= 0,
      "Matrix.addRow: \(source) of \(other.shape) to \(row) of \(shape)")
    unsafe compute.kernels.add(other.pointer + source * columns, mutablePointer + row * columns, columns)
  }
}

extension Matrix {
  /// Copies the columns of `source` from `column` on, as many as fit: one part of a fused projection. Both have the same rows.
  package mutating func copyColumns(of source: borrowing Matrix, from column: Int) {
    require(
      rows == source.rows && column >= 0 && column + columns <= source.columns,
      "Matrix.copyColumns: from \(column) of \(source.shape) to \(shape)")
    let base = unsafe mutablePointer
    for row in 0..<rows {
      unsafe (base + row * columns).update(from: source.pointer + row * source.columns + column, count: columns)
    }
  }

  /// Copies all columns of `part` to the columns from `column` on: the way back of ``copyColumns(of:from:)``.
  package mutating func setColumns(from column: Int, to part: borrowing Matrix) {
    require(
      rows == part.rows && column >= 0 && column + part.columns <= columns, "Matrix.setColumns: \(part.shape) at \(column) of \(shape)")
    let base = unsafe mutablePointer
    for row in 0..<rows {
      unsafe (base + row * columns + column).update(from: part.pointer + row * part.columns, count: part.columns)
    }
  }
}
