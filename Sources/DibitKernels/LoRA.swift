package import DibitTensor

/// A low-rank update of a linear layer: `y += s (x Aᵀ) Bᵀ` (Hu et al., "LoRA", 2021).
package enum LoRA {
  /// `h = x Aᵀ`, `y += s h Bᵀ`; `x: [n, k]`, `A: [r, k]`, `B: [m, r]`, `h: [n, r]`, `y: [n, m]`. `h` is saved for the backward pass.
  package static func forward(
    _ x: borrowing Matrix, a: borrowing Matrix, b: borrowing Matrix, scale: Float, saving h: inout Matrix, into y: inout Matrix,
    on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora", begin, rows: b.rows, columns: a.columns, bytes: 4 * (a.count + b.count)) }
    Gemm.nt(x, a, into: &h, on: compute)
    Gemm.nt(h, b, scale: scale, accumulating: true, into: &y, on: compute)
  }

  /// The same for some rows of `x` and `y` alone, with `work` for `h` in place of saving it: `x: [n, k]`, `y: [n, m]`.
  package static func forward(
    _ x: borrowing Matrix, rows: Range<Int>, a: borrowing Matrix, b: borrowing Matrix, scale: Float, work h: inout Matrix,
    into y: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora", begin, rows: b.rows, columns: a.columns, bytes: 4 * (a.count + b.count)) }
    require(
      rows.lowerBound >= 0 && rows.upperBound <= x.rows && y.rows == x.rows, "LoRA: rows \(rows) of x \(x.shape), y \(y.shape)")
    h.reshape(rows: rows.count, columns: a.rows)
    Gemm.nt(x, rows: rows, a, into: &h, on: compute)
    Gemm.nt(h, b, scale: scale, accumulating: true, into: &y, at: rows, on: compute)
  }

  /// The same in BF16, where `work` has rounded `x`.
  package static func forward(
    rows: Range<Int>, a: borrowing Matrix, b: borrowing Matrix, scale: Float, work: inout BFloatWork, projected h: inout Matrix,
    into y: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora", begin, rows: b.rows, columns: a.columns, bytes: 4 * (a.count + b.count)) }
    require(
      rows.lowerBound >= 0 && rows.upperBound <= work.rows.rows && y.rows == work.rows.rows && work.rows.columns == a.columns,
      "LoRA: rows \(rows) of x [\(work.rows.rows), \(work.rows.columns)], A \(a.shape), y \(y.shape)")
    h.reshape(rows: rows.count, columns: a.rows)
    unsafe BFloatProducts.nt(work.rows.view(from: rows.lowerBound), a.kernelView, into: &h, on: compute)
    work.rankRows.round(h, factor: scale, on: compute)
    unsafe BFloatProducts.nt(work.rankRows.view, b.kernelView, into: &y, at: rows, accumulating: true, on: compute)
  }

  /// Accumulates `dB: [m, r]` from `dy: [n, m]` and `h: [n, r]`.
  package static func backwardB(_ dy: borrowing Matrix, scale: Float, saved h: borrowing Matrix, db: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("lora backward, parameters", begin, rows: db.rows, columns: db.columns) }
    Gemm.tn(dy, h, scale: scale, into: &db, on: compute)  // dB += s dyᵀ h
  }

  /// Accumulates `dA: [r, k]` and overwrites `dh: [n, r]`, from which ``backwardInput(_:a:accumulating:dx:on:)`` goes on.
  package static func backwardA(
    _ dy: borrowing Matrix, x: borrowing Matrix, b: borrowing Matrix, scale: Float, dh: inout Matrix, da: inout Matrix,
    on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora backward, parameters", begin, rows: b.rows, columns: x.columns, bytes: 4 * b.count) }
    dh.reshape(rows: dy.rows, columns: b.columns)
    dh.fill(0)
    Gemm.nn(dy, b, scale: scale, into: &dh, on: compute)  // dh  = s dy B
    Gemm.tn(dh, x, into: &da, on: compute)  // dA += dhᵀ x
  }

  /// Overwrites `dx: [n, k]` with `dh A`, or adds it when `accumulating`.
  package static func backwardInput(
    _ dh: borrowing Matrix, a: borrowing Matrix, accumulating: Bool, dx: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora backward, input", begin, rows: a.rows, columns: a.columns, bytes: 4 * a.count) }
    if !accumulating { dx.fill(0) }
    Gemm.nn(dh, a, into: &dx, on: compute)
  }

  /// ``backwardB(_:scale:saved:db:on:)`` in BF16.
  package static func backwardB(
    _ dy: borrowing Matrix, scale: Float, saved h: borrowing Matrix, work: inout BFloatWork, db: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora backward, parameters", begin, rows: db.rows, columns: db.columns) }
    work.pairs.round(h, factor: scale, on: compute)
    BFloatProducts.tn(dy, work.pairs, into: &db, on: compute)  // dB += s dyᵀ h
  }

  /// ``backwardA(_:x:b:scale:dh:da:on:)`` in BF16, where `work` has rounded `dy` and is left with `dh`.
  package static func backwardA(
    x: borrowing Matrix, b: borrowing Matrix, scale: Float, work: inout BFloatWork, dh: inout Matrix, da: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora backward, parameters", begin, rows: b.rows, columns: x.columns, bytes: 4 * b.count) }
    dh.reshape(rows: x.rows, columns: b.columns)
    unsafe BFloatProducts.nn(work.rows, b.kernelView, into: &dh, accumulating: false, on: compute)  // dh = dy B
    work.pairs.round(dh, factor: scale, on: compute)
    BFloatProducts.tn(work.pairs, x, into: &da, on: compute)  // dA += s dhᵀ x
    work.rankRows.round(dh, factor: scale, on: compute)
  }

  /// The same from the `dh` that `work` was left with.
  package static func backwardInput(
    _ work: borrowing BFloatWork, a: borrowing Matrix, accumulating: Bool, dx: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("lora backward, input", begin, rows: a.rows, columns: a.columns, bytes: 4 * a.count) }
    unsafe BFloatProducts.nn(work.rankRows, a.kernelView, into: &dx, accumulating: accumulating, on: compute)
  }
}

/// Working memory of low-rank terms and of a backward pass in BF16; allocated once.
package struct BFloatWork: ~Copyable, Sendable {
  /// The gradient of a layer's output, rounded; in a forward pass its input.
  package var rows: BFloatRows
  /// The inputs of the layer, for the gradient of its weight; empty where weights are frozen.
  package var inputs: BFloatPairs
  /// Its product with a low-rank factor, rounded.
  package var rankRows: BFloatRows
  var pairs: BFloatPairs

  /// Bytes of the allocation.
  package var byteCount: Int { rows.byteCount + inputs.byteCount + rankRows.byteCount + pairs.byteCount }

  /// Room for `capacity` rows of up to `columns`, for adapters of up to `rank` and, with `includesWeights`, for gradients of weights.
  package init(capacity: Int, columns: Int, rank: Int, includesWeights: Bool = false) {
    inputs = BFloatPairs(capacity: includesWeights ? capacity : 0, columns: columns)
    rows = BFloatRows(capacity: capacity, columns: columns)
    rankRows = BFloatRows(capacity: capacity, columns: rank)
    pairs = BFloatPairs(capacity: capacity, columns: rank)
  }
}
