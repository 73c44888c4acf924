internal import DibitQuantization
package import DibitTensor

extension Weight {
  /// The same numbers as F32: itself, or a copy that can be trained.
  package func floats(on compute: Compute) -> Weight {
    if format == .f32 { return self }
    var values = Matrix(rows: rows, columns: columns)
    let all = (0..<rows).map { Int32($0) }
    Embedding.forward(all.span, weight: self, into: &values, on: compute)
    return Weight(rows: rows, columns: columns, values: values.values)
  }
}
