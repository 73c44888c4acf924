/// The order of a parameter's numbers in a checkpoint's tensor. Dibit's own models always hold rows.
package enum ParameterLayout: Equatable, Sendable {
  /// A row for each output: `[rows, columns]`.
  case rows
  /// A row for each input, as GPT-2 stores its layers: `[columns, rows]`.
  case transposed
  /// Rows head by head, each head's parts in turn, as GPT-NeoX stores queries, keys and values: `[heads, parts, D]` instead of
  /// `[parts, heads, D]`.
  case interleavedHeads(heads: Int, parts: Int)

  /// The shape of the tensor of a parameter `[rows, columns]`; a parameter of one row is a vector.
  package func shape(rows: Int, columns: Int) -> [Int] {
    if rows == 1 { return [columns] }
    return self == .transposed ? [columns, rows] : [rows, columns]
  }

  /// The output channel of the parameter that lies in row `row` of the tensor.
  package func output(at row: Int, of rows: Int) -> Int {
    guard case .interleavedHeads(let heads, let parts) = self else { return row }
    let size = rows / (heads * parts)
    return (row / size % parts * heads + row / size / parts) * size + row % size
  }

  /// A parameter's numbers, or its gradient's, in the order of the tensor.
  package func toCheckpoint(_ values: [Float], rows: Int, columns: Int) -> [Float] {
    switch self {
    case .rows: return values
    case .transposed:
      if rows == 1 { return values }
      return (0..<columns).flatMap { column in (0..<rows).map { values[$0 * columns + column] } }
    case .interleavedHeads:
      // The rows of a matrix, or the elements of a vector.
      let (outputs, size) = rows == 1 ? (columns, 1) : (rows, columns)
      return (0..<outputs).flatMap { row in
        let from = output(at: row, of: outputs) * size
        return values[from..<from + size]
      }
    }
  }

  /// The way back of ``toCheckpoint(_:rows:columns:)``.
  package func fromCheckpoint(_ values: [Float], rows: Int, columns: Int) -> [Float] {
    switch self {
    case .rows: return values
    case .transposed: return rows == 1 ? values : Self.transposed.toCheckpoint(values, rows: columns, columns: rows)
    case .interleavedHeads:
      let (outputs, size) = rows == 1 ? (columns, 1) : (rows, columns)
      var result = [Float](repeating: 0, count: values.count)
      for row in 0..<outputs {
        let to = output(at: row, of: outputs) * size
        for i in 0..<size { result[to + i] = values[row * size + i] }
      }
      return result
    }
  }

  /// The order of the rows of an adapter's `B`: as the outputs of the layer that it belongs to, but never transposed.
  package var ofAdapterB: ParameterLayout { self == .transposed ? .rows : self }
}

/// The location of a parameter in a checkpoint: a tensor, or some rows of one that a family stores fused.
package struct ParameterName: Equatable, Sendable {
  /// The tensor's name in the checkpoint.
  package var tensor: String
  /// Other names that checkpoints of the family use for it.
  package var alternatives: [String] = []
  /// The rows that belong to the parameter; nil for all.
  package var rows: Range<Int>?
  /// The module's path, for adapters: `model.layers.3.self_attn.q_proj`.
  package var module: String
  /// The order of the tensor's numbers.
  package var layout = ParameterLayout.rows

  /// The tensor called `module.weight`, or `module.bias`.
  init(_ module: String, _ kind: String = "weight") {
    tensor = module + "." + kind
    self.module = module
  }

  init(_ module: String, in tensor: String, rows: Range<Int>) {
    self.tensor = tensor
    self.rows = rows
    self.module = module
  }
}
