internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

/// A small batch of rows, one as a rule: a weight is read once and in order, so that the time is that of its bytes and of the fork.
extension Linear {
  /// `yᵢ = x Wᵢᵀ`, the same as one ``forward(_:rounded:weight:into:on:)`` after the other.
  ///
  /// Packed weights and a small batch need one loop for all: a fork and a join less.
  package static func forward(
    _ x: borrowing Matrix, rounded: borrowing QuantizedRows, weights w1: Weight, _ w2: Weight, into y1: inout Matrix, _ y2: inout Matrix,
    on compute: Compute
  ) {
    guard isSmallBatch(x, w1, w2, on: compute) else {
      forward(x, rounded: rounded, weight: w1, into: &y1, on: compute)
      forward(x, rounded: rounded, weight: w2, into: &y2, on: compute)
      return
    }
    let begin = compute.begin()
    defer { compute.end("linear", begin, rows: w1.rows + w2.rows, columns: x.columns, bytes: w1.byteCount + w2.byteCount) }
    unsafe smallBatch([Product(w1, x, rounded, &y1), Product(w2, x, rounded, &y2), nil], rounded, on: compute)
  }

  /// The same with three weights.
  package static func forward(
    _ x: borrowing Matrix, rounded: borrowing QuantizedRows, weights w1: Weight, _ w2: Weight, _ w3: Weight, into y1: inout Matrix,
    _ y2: inout Matrix, _ y3: inout Matrix, on compute: Compute
  ) {
    guard isSmallBatch(x, w1, w2, on: compute), isSmallBatch(x, w2, w3, on: compute) else {
      forward(x, rounded: rounded, weights: w1, w2, into: &y1, &y2, on: compute)
      forward(x, rounded: rounded, weight: w3, into: &y3, on: compute)
      return
    }
    let begin = compute.begin()
    defer {
      compute.end(
        "linear", begin, rows: w1.rows + w2.rows + w3.rows, columns: x.columns, bytes: w1.byteCount + w2.byteCount + w3.byteCount)
    }
    unsafe smallBatch(
      [Product(w1, x, rounded, &y1), Product(w2, x, rounded, &y2), Product(w3, x, rounded, &y3)], rounded, on: compute)
  }

  private static func isSmallBatch(_ x: borrowing Matrix, _ w1: Weight, _ w2: Weight, on compute: Compute) -> Bool {
    x.rows <= smallBatchRows && rounding(for: w1, on: compute) == .codes && rounding(for: w2, on: compute) == .codes
  }

  /// One weight of a loop, and where its product goes. Both must outlive it.
  @unsafe struct Product {
    let weight: dibit_weight
    let y: UnsafeMutablePointer<Float>
    let panels: Int

    init(_ weight: dibit_weight, _ y: UnsafeMutablePointer<Float>) {
      unsafe (self.weight, self.y, panels) = (weight, y, Grid.panels(rows: weight.rows))
    }

    init(_ w: Weight, _ x: borrowing Matrix, _ rounded: borrowing QuantizedRows, _ y: inout Matrix) {
      require(
        x.columns == w.columns && y.rows == x.rows && y.columns == w.rows && rounded.rows == x.rows && rounded.columns == x.columns,
        "Linear: x \(x.shape), rounded [\(rounded.rows), \(rounded.columns)], W \(w.shape), y \(y.shape)")
      unsafe self.init(w.kernelView, y.mutablePointer)
    }
  }

  /// Rows do not depend on each other: a few pieces for each thread, not smaller than what a fork costs.
  static func smallBatch(_ products: InlineArray<3, Product?>, _ x: borrowing QuantizedRows, on compute: Compute) {
    var panels = 0
    for index in 0..<3 { unsafe panels += products[index]?.panels ?? 0 }
    let pieces = min(4 * compute.threads, max(1, panels * x.columns / 16_384))
    let (rows, activations) = unsafe (x.rows, x.view)
    compute.forEachRange(panels, step: max(1, (panels + pieces - 1) / pieces)) { range, _ in
      var first = 0
      for index in 0..<3 {
        guard let product = unsafe products[index] else { break }
        let (lower, upper) = unsafe (max(range.lowerBound - first, 0), min(range.upperBound - first, product.panels))
        unsafe first += product.panels
        guard lower < upper else { continue }
        unsafe withUnsafePointer(to: product.weight) { weight in
          unsafe withUnsafePointer(to: activations) { activations in
            for row in 0..<rows {
              unsafe compute.kernels.grid_matvec(weight, lower, upper, activations, row, product.y + row * weight.pointee.rows)
            }
          }
        }
      }
    }
  }
}
