package import DibitTensor

/// Products of float matrices. Tiles depend on the shapes alone, so the sums do not depend on the number of threads.
package enum Gemm {
  /// `y = alpha x wᵀ`, or `y += alpha x wᵀ` when `accumulating`; `x: [n, k]`, `w: [m, k]`, `y: [n, m]`. From some rows of `x` to as many
  /// of `y`; by default from all to all.
  package static func nt(
    _ x: borrowing Matrix, rows from: Range<Int>? = nil, _ w: borrowing Matrix, scale alpha: Float = 1, accumulating: Bool = false,
    into y: inout Matrix, at to: Range<Int>? = nil, on compute: Compute
  ) {
    let (from, to) = (from ?? 0..<x.rows, to ?? 0..<y.rows)
    require(
      x.columns == w.columns && from.count == to.count && from.upperBound <= x.rows && to.upperBound <= y.rows && y.columns == w.rows,
      "Gemm.nt: rows \(from) of x \(x.shape), w \(w.shape), rows \(to) of y \(y.shape)")
    let (n, m, k) = (from.count, w.rows, x.columns)
    let (xs, ws, ys) = unsafe (x.pointer + from.lowerBound * x.columns, w.pointer, y.mutablePointer + to.lowerBound * y.columns)
    tiles(n, 256, m, 128, compute) { rows, columns, _ in
      unsafe compute.products.nt(
        rows.count, columns.count, k, alpha, xs + rows.lowerBound * k, k, ws + columns.lowerBound * k, k, accumulating ? 1 : 0,
        ys + rows.lowerBound * m + columns.lowerBound, m)
    }
  }

  /// `y += alpha x w`; `x: [n, k]`, `w: [k, m]`, `y: [n, m]`.
  package static func nn(_ x: borrowing Matrix, _ w: borrowing Matrix, scale alpha: Float = 1, into y: inout Matrix, on compute: Compute) {
    require(x.columns == w.rows && y.rows == x.rows && y.columns == w.columns, "Gemm.nn: x \(x.shape), w \(w.shape), y \(y.shape)")
    let (n, m, k) = (x.rows, w.columns, x.columns)
    let (xs, ws, ys) = unsafe (x.pointer, w.pointer, y.mutablePointer)
    tiles(n, 256, m, 256, compute) { rows, columns, _ in
      unsafe compute.products.nn(
        rows.count, columns.count, k, alpha, xs + rows.lowerBound * k, k, ws + columns.lowerBound, m,
        ys + rows.lowerBound * m + columns.lowerBound, m)
    }
  }

  /// `y += alpha xᵀ w`; `x: [k, n]`, `w: [k, m]`, `y: [n, m]`.
  package static func tn(_ x: borrowing Matrix, _ w: borrowing Matrix, scale alpha: Float = 1, into y: inout Matrix, on compute: Compute) {
    require(x.rows == w.rows && y.rows == x.columns && y.columns == w.columns, "Gemm.tn: x \(x.shape), w \(w.shape), y \(y.shape)")
    let (n, m, k) = (x.columns, w.columns, x.rows)
    let (xs, ws, ys) = unsafe (x.pointer, w.pointer, y.mutablePointer)
    tiles(n, 128, m, 256, compute) { rows, columns, _ in
      unsafe compute.products.tn(
        rows.count, columns.count, k, alpha, xs + rows.lowerBound, n, ws + columns.lowerBound, m,
        ys + rows.lowerBound * m + columns.lowerBound, m)
    }
  }

  /// Calls `body` for each tile of a `[rows, columns]` result.
  static func tiles(
    _ rows: Int, _ rowStep: Int, _ columns: Int, _ columnStep: Int, _ compute: Compute,
    _ body: (_ rows: Range<Int>, _ columns: Range<Int>, _ worker: Int) -> Void
  ) {
    let (down, across) = ((rows + rowStep - 1) / rowStep, (columns + columnStep - 1) / columnStep)
    compute.pool.forEach(down * across) { task, worker in
      let (r, c) = (task / across * rowStep, task % across * columnStep)
      body(r..<min(r + rowStep, rows), c..<min(c + columnStep, columns), worker)
    }
  }
}
