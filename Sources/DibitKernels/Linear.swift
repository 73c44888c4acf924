internal import CDibitKernels
internal import DibitQuantization
package import DibitTensor

/// `y = x Wᵀ` for a weight in any format.
///
/// A packed weight is multiplied with rounded activations: see ``QuantizedRows``. With ``ActivationPrecision/float``, and in the backward
/// pass, it is expanded tile by tile and never as a whole. So is a float weight where ``Compute/floats`` are BF16.
package enum Linear {
  /// Up to this many rows a weight is read row by row, and a packed one is unpacked in registers.
  static let smallBatchRows = 4

  /// `y = x Wᵀ`; `x: [n, k]`, `W: [m, k]`, `y: [n, m]`. Where ``usesRounded(_:on:)``, `rounded` holds `x` rounded for that weight.
  package static func forward(
    _ x: borrowing Matrix, rounded: borrowing QuantizedRows, weight w: Weight, into y: inout Matrix, on compute: Compute
  ) {
    guard usesRounded(w, on: compute) else { return forwardFloats(x, weight: w, into: &y, on: compute) }
    require(rounded.rows == x.rows && rounded.columns == x.columns, "Linear: x \(x.shape), rounded [\(rounded.rows), \(rounded.columns)]")
    if rounded.areCodes { return forward(rounded, weight: w, into: &y, on: compute) }
    let begin = compute.begin()
    defer { compute.end("linear", begin, rows: w.rows, columns: w.columns, bytes: w.byteCount) }
    require(y.rows == rounded.rows && y.columns == w.rows, "Linear: x [\(rounded.rows), \(rounded.columns)], W \(w.shape), y \(y.shape)")
    unsafe BFloatProducts.nt(rounded.pairs, w.kernelView, into: &y, on: compute)
  }

  /// The format to which activations are rounded.
  enum Rounding { case codes, bfloat }

  /// Returns the format to which the product with `w` needs its activations rounded; nil for floats.
  static func rounding(for w: Weight, on compute: Compute) -> Rounding? {
    if w.isPacked { return compute.activations == .float ? nil : .codes }
    return compute.floats == .bfloat16 ? .bfloat : nil
  }

  /// Returns whether the product with `w` needs its activations rounded.
  package static func usesRounded(_ w: Weight, on compute: Compute) -> Bool { rounding(for: w, on: compute) != nil }

  /// `y = x Wᵀ` with a packed weight and the codes of `x: [n, k]`.
  package static func forward(_ x: borrowing QuantizedRows, weight w: Weight, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("linear", begin, rows: w.rows, columns: w.columns, bytes: w.byteCount) }
    require(
      w.isPacked && x.columns == w.columns && y.rows == x.rows && y.columns == w.rows,
      "Linear: x [\(x.rows), \(x.columns)], W \(w.shape) of \(w.format), y \(y.shape)")
    let (n, m, panels) = (x.rows, w.rows, Grid.panels(rows: w.rows))
    let ys = unsafe y.mutablePointer
    let (weight, activations) = unsafe (w.kernelView, x.view)
    if n <= smallBatchRows { return unsafe smallBatch([Product(weight, ys), nil, nil], x, on: compute) }
    let across = min(4, (panels + compute.threads - 1) / compute.threads)
    Gemm.tiles(n, 512, panels, across, compute) { rows, p, worker in
      let scratch = unsafe compute.scratch(worker, count: Int(DIBIT_GRID_SCRATCH) / 4)
      unsafe withUnsafePointer(to: weight) { weight in
        unsafe withUnsafePointer(to: activations) { activations in
          unsafe compute.kernels.grid_matmul(
            weight, p.lowerBound, p.upperBound, activations, rows.lowerBound, rows.upperBound, ys + rows.lowerBound * m, m,
            UnsafeMutableRawPointer(scratch).assumingMemoryBound(to: UInt8.self))
        }
      }
    }
  }

  /// `y = x Wᵀ`; `x: [n, k]`, `W: [m, k]`, `y: [n, m]`. Allocates where the product needs its activations rounded.
  package static func forward(_ x: borrowing Matrix, weight w: Weight, into y: inout Matrix, on compute: Compute) {
    guard usesRounded(w, on: compute) else { return forwardFloats(x, weight: w, into: &y, on: compute) }
    var rounded = QuantizedRows(capacity: x.rows, columns: x.columns)
    rounded.round(x, for: w, on: compute)
    forward(x, rounded: rounded, weight: w, into: &y, on: compute)
  }

  /// `y = x Wᵀ` in floats, whatever the weight's format; `x: [n, k]`, `W: [m, k]`, `y: [n, m]`.
  static func forwardFloats(_ x: borrowing Matrix, weight w: Weight, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("linear", begin, rows: w.rows, columns: w.columns, bytes: w.byteCount) }
    require(x.columns == w.columns && y.rows == x.rows && y.columns == w.rows, "Linear: x \(x.shape), W \(w.shape), y \(y.shape)")
    let (n, m, k) = (x.rows, w.rows, w.columns)
    let (xs, ys) = unsafe (x.pointer, y.mutablePointer)
    let weight = unsafe w.kernelView
    if n <= smallBatchRows {
      compute.forEachRange(m, step: 64) { rows, worker in
        let scratch = unsafe compute.scratch(worker, count: k)
        unsafe withUnsafePointer(to: weight) {
          unsafe compute.kernels.matvec($0, rows.lowerBound, rows.upperBound, xs, n, k, ys, m, scratch)
        }
      }
      return
    }
    // Large tiles feed the product best; a small weight is cut finer so that every thread gets some.
    Gemm.tiles(n, 512, m, m >= 1024 ? 256 : 64, compute) { rows, columns, worker in
      let tile = unsafe compute.tile(of: w, weight, columns, 0..<k, worker)
      unsafe compute.products.nt(
        rows.count, columns.count, k, 1, xs + rows.lowerBound * k, k, tile.base, tile.stride, 0,
        ys + rows.lowerBound * m + columns.lowerBound, m)
    }
  }

  /// `dx += dy W`; `dy: [n, m]`, `W: [m, k]`, `dx: [n, k]`.
  package static func backward(_ dy: borrowing Matrix, weight w: Weight, dx: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("linear backward", begin, rows: w.rows, columns: w.columns, bytes: w.byteCount) }
    require(
      dy.columns == w.rows && dx.rows == dy.rows && dx.columns == w.columns, "Linear.backward: dy \(dy.shape), W \(w.shape), dx \(dx.shape)"
    )
    let (n, m, k) = (dy.rows, w.rows, w.columns)
    let (dys, dxs) = unsafe (dy.pointer, dx.mutablePointer)
    let weight = unsafe w.kernelView
    Gemm.tiles(n, 512, k, 256, compute) { rows, columns, worker in
      for first in stride(from: 0, to: m, by: 256) {
        let part = first..<min(first + 256, m)
        let tile = unsafe compute.tile(of: w, weight, part, columns, worker)
        unsafe compute.products.nn(
          rows.count, columns.count, part.count, 1, dys + rows.lowerBound * m + first, m, tile.base, tile.stride,
          dxs + rows.lowerBound * k + columns.lowerBound, k)
      }
    }
  }

  /// Returns whether the backward pass multiplies with `w` in BF16.
  package static func usesBFloat(_ w: Weight, on compute: Compute) -> Bool {
    if w.isPacked { compute.gradients == .bfloat16 } else { compute.floats == .bfloat16 }
  }

  /// `dx = dy W`, or `dx += dy W` when `accumulating`, in BF16; `dy: [n, m]`, `W: [m, k]`, `dx: [n, k]`.
  package static func backward(
    _ dy: borrowing BFloatRows, weight w: Weight, dx: inout Matrix, accumulating: Bool, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("linear backward", begin, rows: w.rows, columns: w.columns, bytes: w.byteCount) }
    unsafe BFloatProducts.nn(dy, w.kernelView, into: &dx, accumulating: accumulating, on: compute)
  }

  /// `dW += dyᵀ x`; `dy: [n, m]`, `x: [n, k]`, `dW: [m, k]`.
  package static func backwardWeight(_ dy: borrowing Matrix, _ x: borrowing Matrix, dWeight: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("linear weight gradient", begin, rows: dWeight.rows, columns: dWeight.columns) }
    Gemm.tn(dy, x, into: &dWeight, on: compute)
  }

  /// The same in BF16.
  package static func backwardWeight(_ dy: borrowing Matrix, _ x: borrowing BFloatPairs, dWeight: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("linear weight gradient", begin, rows: dWeight.rows, columns: dWeight.columns) }
    BFloatProducts.tn(dy, x, into: &dWeight, on: compute)
  }
}

extension Weight {
  /// The C kernels' view of the weight. The weight must outlive the view.
  @unsafe var kernelView: dibit_weight {
    let (format, group): (dibit_format, Int) =
      switch self.format {
      case .f32: (DIBIT_F32, 0)
      case .f16: (DIBIT_F16, 0)
      case .bf16: (DIBIT_BF16, 0)
      case .grid(let grid): (grid.kernel, grid.kernelGroup(columns))
      }
    return unsafe dibit_weight(
      elements: elements.pointer, scales: scales.pointer.assumingMemoryBound(to: UInt16.self), rows: rows, columns: columns, group: group,
      format: format)
  }
}

extension Compute {
  /// The floats of a part of a weight: in place for F32, otherwise expanded into the worker's scratch.
  @unsafe func tile(of w: Weight, _ view: dibit_weight, _ rows: Range<Int>, _ columns: Range<Int>, _ worker: Int) -> (
    base: UnsafePointer<Float>, stride: Int
  ) {
    if w.format == .f32 {
      let base = unsafe view.elements.assumingMemoryBound(to: Float.self)
      return unsafe (base + rows.lowerBound * w.columns + columns.lowerBound, w.columns)
    }
    let scratch = unsafe scratch(worker, count: rows.count * columns.count)
    unsafe withUnsafePointer(to: view) {
      unsafe kernels.expand($0, rows.lowerBound, rows.upperBound, columns.lowerBound, columns.upperBound, scratch, columns.count)
    }
    return unsafe (UnsafePointer(scratch), columns.count)
  }
}
