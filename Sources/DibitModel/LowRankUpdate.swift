package import DibitKernels
package import DibitTensor

/// The factors of all that is added to a weight, side by side: `B A = s B₁ A₁ + B₂ A₂`.
enum LowRankUpdate {
  /// `[A₁; A₂]` of `a: [R₁, in]` and F32 `other: [R₂, in]`.
  static func stacked(_ a: borrowing Matrix, _ other: Weight) -> Matrix {
    var all = Matrix(rows: a.rows + other.rows, columns: a.columns)
    for row in 0..<a.rows { all.copyRow(row, of: a, to: row) }
    for row in 0..<other.rows { for column in 0..<a.columns { all[a.rows + row, column] = other.values[row * a.columns + column] } }
    return all
  }

  /// `[s B₁, B₂]` of `b: [out, R₁]` and F32 `other: [out, R₂]`.
  static func beside(_ b: borrowing Matrix, scale: Float, _ other: Weight) -> Matrix {
    var all = Matrix(rows: b.rows, columns: b.columns + other.columns)
    for row in 0..<b.rows {
      for column in 0..<b.columns { all[row, column] = scale * b[row, column] }
      for column in 0..<other.columns { all[row, b.columns + column] = other.values[row * other.columns + column] }
    }
    return all
  }
}

extension DecoderWeights {
  /// Adds to `rows: [n, in]`, the expanded rows of the weight at an index that `ids` names, what its recovery adds to it, `B A`.
  package func addRecovery(of index: Int, rows ids: [Int32], to rows: inout Matrix, on compute: Compute) {
    guard let (a, b) = recovery(of: index) else { return }
    var part = Matrix(rows: ids.count, columns: b.columns)
    Embedding.forward(ids.span, weight: b, into: &part, on: compute)
    var whole = Matrix(rows: a.rows, columns: a.columns)
    let all = (0..<Int32(a.rows)).map { $0 }
    Embedding.forward(all.span, weight: a, into: &whole, on: compute)
    Gemm.nn(part, whole, into: &rows, on: compute)
  }

  /// The F32 elements of the weight at an index, with what its recovery adds to it.
  package func floats(of index: Int, on compute: Compute) -> Weight {
    let weight = parameters[index].weight.floats(on: compute)
    guard recovery(of: index) != nil else { return weight }
    var rows = Matrix(rows: weight.rows, columns: weight.columns, values: Array(copying: weight.values))
    addRecovery(of: index, rows: (0..<Int32(weight.rows)).map { $0 }, to: &rows, on: compute)
    return Weight(rows: rows.rows, columns: rows.columns, values: rows.values)
  }
}
