internal import CDibitKernels
internal import DibitTensor

/// Products in BF16, summed in floats. Tiles depend on the shapes alone, so the sums do not depend on the number of threads.
enum BFloatProducts {
  private static let stripe = Int(DIBIT_PAIR_COLUMNS)
  /// Rows of the right matrix that are rounded at a time: with 64 columns they fit the first-level cache.
  private static let depth = 256
  /// Rows of a result of one stripe that are worked on at a time, so that more threads than one get some. Many, for each task rounds the stripe.
  private static let block = 192

  /// The address of rows of pairs, and how many pairs they lie apart.
  typealias Rows = (pointer: UnsafePointer<UInt32>, stride: Int)

  /// `y = x w`, or `y += x w` when `accumulating`; `x: [n, m]`, `w: [m, k]`, `y: [n, k]`.
  @unsafe static func nn(
    _ x: borrowing BFloatRows, _ w: dibit_weight, into y: inout Matrix, accumulating: Bool, on compute: Compute
  ) {
    let (m, k) = unsafe (w.rows, w.columns)
    require(
      x.columns == m && y.rows == x.rows && y.columns == k, "BFloatProducts.nn: x [\(x.rows), \(x.columns)], w [\(m), \(k)], y \(y.shape)")
    let ys = unsafe y.mutablePointer
    unsafe product(x.view, depth: m, rows: y.rows, ys, columns: k, accumulating, compute) { first, last, columns, right in
      unsafe withUnsafePointer(to: w) { unsafe compute.kernels.pair_rows($0, first, last, columns.lowerBound, 1, right) }
    }
  }

  /// `y = x wᵀ` for a weight that is not packed; `x: [n, k]`, `w: [m, k]`, `y: [n, m]`.
  @unsafe static func nt(_ x: Rows, _ w: dibit_weight, into y: inout Matrix, on compute: Compute) {
    unsafe nt(x, w, into: &y, at: 0..<y.rows, accumulating: false, on: compute)
  }

  /// The same for the rows of `y` from `rows`, or `y += x wᵀ` for them when `accumulating`.
  @unsafe static func nt(_ x: Rows, _ w: dibit_weight, into y: inout Matrix, at rows: Range<Int>, accumulating: Bool, on compute: Compute) {
    let m = unsafe w.rows
    require(
      rows.lowerBound >= 0 && rows.upperBound <= y.rows && y.columns == m, "BFloatProducts.nt: rows \(rows) of y \(y.shape), w [\(m), …]")
    let ys = unsafe y.mutablePointer + rows.lowerBound * m
    unsafe product(x, depth: w.columns, rows: rows.count, ys, columns: m, accumulating, compute) { first, last, columns, right in
      unsafe withUnsafePointer(to: w) { unsafe compute.kernels.pair_columns($0, columns.lowerBound, first, last, right) }
    }
  }

  /// A sum over `sum` inputs, of which `pairs` prepares those from `first` to `last` for a stripe of the `m` columns of the result `ys`.
  @unsafe private static func product(
    _ x: Rows, depth sum: Int, rows n: Int, _ ys: UnsafeMutablePointer<Float>, columns m: Int, _ accumulating: Bool, _ compute: Compute,
    _ pairs: (_ first: Int, _ last: Int, _ columns: Range<Int>, _ right: UnsafeMutablePointer<UInt32>) -> Void
  ) {
    Gemm.tiles(n, m <= stripe ? block : max(n, 1), m, stripe, compute) { rows, columns, worker in
      let right = unsafe compute.pairScratch(worker, depth / 2)
      for first in Swift.stride(from: 0, to: sum, by: depth) {
        let last = min(first + depth, sum)
        unsafe pairs(first, last, columns, right)
        unsafe compute.kernels.pair_matmul(
          rows.count, columns.count, (last - first + 1) / 2, x.pointer + rows.lowerBound * x.stride + first / 2, x.stride, 1, right,
          ys + rows.lowerBound * m + columns.lowerBound, m, accumulating || first > 0 ? 1 : 0)
      }
    }
  }

  /// `y += narrowᵀ wide`; `narrow: [n, r]`, `wide: [n, k]`, `y: [r, k]`.
  static func tn(_ narrow: borrowing BFloatPairs, _ wide: borrowing Matrix, into y: inout Matrix, on compute: Compute) {
    let (n, r, k) = (wide.rows, narrow.columns, wide.columns)
    require(narrow.rows == n && y.rows == r && y.columns == k, "BFloatProducts.tn: [\(narrow.rows), \(r)], \(wide.shape), y \(y.shape)")
    let (view, ys) = unsafe (wide.kernelView, y.mutablePointer)
    unsafe eachStripe(of: view, compute) { first, rows, columns, right, _ in
      for (index, row) in Swift.stride(from: 0, to: r, by: stripe).enumerated() {
        unsafe compute.kernels.pair_matmul(
          min(stripe, r - row), columns.count, (rows + 1) / 2, narrow.stripe(index, row: first), 1, stripe, right,
          ys + row * k + columns.lowerBound, k, 1)
      }
    }
  }

  /// `y += wideᵀ narrow`; `wide: [n, k]`, `narrow: [n, r]`, `y: [k, r]`.
  static func tn(_ wide: borrowing Matrix, _ narrow: borrowing BFloatPairs, into y: inout Matrix, on compute: Compute) {
    let (n, r, k) = (wide.rows, narrow.columns, wide.columns)
    require(narrow.rows == n && y.rows == k && y.columns == r, "BFloatProducts.tn: \(wide.shape), [\(narrow.rows), \(r)], y \(y.shape)")
    let (view, ys) = unsafe (wide.kernelView, y.mutablePointer)
    unsafe eachStripe(of: view, compute) { first, rows, columns, left, _ in
      for (index, column) in Swift.stride(from: 0, to: r, by: stripe).enumerated() {
        unsafe compute.kernels.pair_matmul(
          columns.count, min(stripe, r - column), (rows + 1) / 2, left, 1, stripe, narrow.stripe(index, row: first),
          ys + columns.lowerBound * r + column, r, 1)
      }
    }
  }

  /// Calls `body` with each stripe of rows of `wideᵀ narrow`, `[rows.count, r]`, and with scratch memory for as many numbers: the whole never exists.
  /// `wide: [n, k]`, `narrow: [n, r]`.
  @unsafe static func eachStripe(
    of wide: borrowing Matrix, times narrow: borrowing BFloatPairs, _ compute: Compute,
    _ body: (_ rows: Range<Int>, _ product: UnsafeMutablePointer<Float>, _ scratch: UnsafeMutablePointer<Float>) -> Void
  ) {
    let (n, r) = (wide.rows, narrow.columns)
    require(narrow.rows == n, "BFloatProducts.eachStripe: \(wide.shape), [\(narrow.rows), \(r)]")
    unsafe eachStripe(of: wide.kernelView, scratch: 2 * stripe * r, compute) { first, rows, columns, left, product in
      for (index, column) in Swift.stride(from: 0, to: r, by: stripe).enumerated() {
        unsafe compute.kernels.pair_matmul(
          columns.count, min(stripe, r - column), (rows + 1) / 2, left, 1, stripe, narrow.stripe(index, row: first), product + column, r,
          first > 0 ? 1 : 0)
      }
      if first + rows == n { unsafe body(columns, product, product + stripe * r) }
    }
  }

  /// `y += xᵀ x` for a symmetric `y`; `x: [n, k]`, which is there in `pairs` too, `y: [k, k]`. Half of it is multiplied and the other half
  /// copied, to the same bits.
  static func squared(_ x: borrowing Matrix, _ pairs: borrowing BFloatPairs, into y: inout Matrix, on compute: Compute) {
    let (n, k) = (x.rows, x.columns)
    require(
      pairs.rows == n && pairs.columns == k && y.rows == k && y.columns == k,
      "BFloatProducts.squared: x \(x.shape), pairs [\(pairs.rows), \(pairs.columns)], y \(y.shape)")
    let (view, ys) = unsafe (x.kernelView, y.mutablePointer)
    unsafe eachStripe(of: view, compute) { first, rows, columns, left, _ in
      for (index, column) in Swift.stride(from: 0, to: columns.upperBound, by: stripe).enumerated() {
        let others = column..<min(column + stripe, k)
        unsafe compute.kernels.pair_matmul(
          columns.count, others.count, (rows + 1) / 2, left, 1, stripe, pairs.stripe(index, row: first),
          ys + columns.lowerBound * k + column, k, 1)
        guard first + rows == n, column < columns.lowerBound else { continue }
        for row in columns { for other in others { unsafe ys[other * k + row] = ys[row * k + other] } }
      }
    }
  }

  /// Pairs the rows of each stripe of a matrix, so many at a time; `body` has scratch memory for `own` numbers, too.
  @unsafe private static func eachStripe(
    of view: dibit_weight, scratch own: Int = 0, _ compute: Compute,
    _ body: (
      _ first: Int, _ rows: Int, _ columns: Range<Int>, _ pairs: UnsafeMutablePointer<UInt32>, _ scratch: UnsafeMutablePointer<Float>
    ) -> Void
  ) {
    unsafe compute.forEachRange(view.columns, step: stripe) { columns, worker in
      let used = depth / 2 * stripe
      let scratch = unsafe compute.scratch(worker, count: used + own)
      let pairs = unsafe UnsafeMutableRawPointer(scratch).assumingMemoryBound(to: UInt32.self)
      for first in unsafe Swift.stride(from: 0, to: view.rows, by: depth) {
        let last = unsafe min(first + depth, view.rows)
        unsafe withUnsafePointer(to: view) { unsafe compute.kernels.pair_rows($0, first, last, columns.lowerBound, 1, pairs) }
        unsafe body(first, last - first, columns, pairs, scratch + used)
      }
    }
  }
}

extension Compute {
  /// A worker's room for `count` rows of a stripe's pairs.
  @unsafe fileprivate func pairScratch(_ worker: Int, _ count: Int) -> UnsafeMutablePointer<UInt32> {
    unsafe UnsafeMutableRawPointer(scratch(worker, count: count * Int(DIBIT_PAIR_COLUMNS))).assumingMemoryBound(to: UInt32.self)
  }
}
