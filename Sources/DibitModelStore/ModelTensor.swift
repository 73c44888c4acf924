package import DibitQuantization
package import DibitTensor

/// The form and offset of a model's tensor in model.safetensors.
package struct ModelTensor: Equatable, Sendable {
  /// Its published name.
  package let name: String
  /// Its published shape.
  package let shape: [Int]
  /// The rows of a matrix; 1 for a vector.
  package let rows: Int
  /// The elements of a row.
  package let columns: Int
  /// The storage format of the elements.
  package let format: WeightFormat

  /// A tensor of `rows` times `columns` elements, which `shape` may divide in another way.
  package init(name: String, shape: [Int], rows: Int, columns: Int, format: WeightFormat) {
    (self.name, self.shape, self.rows, self.columns, self.format) = (name, shape, rows, columns, format)
  }

  /// Bytes in the file, scales included.
  package var byteCount: Int { declarations.reduce(0) { $0 + $1.shape.reduce($1.dtype.byteCount, *) } }

  /// The declarations of the file: the tensor, and the scales of a packed one.
  package var declarations: [(name: String, dtype: DType, shape: [Int])] {
    guard let grid = format.grid else { return [(name: name, dtype: format.dtype, shape: shape)] }
    return [
      (name: name, dtype: format.dtype, shape: grid.codeShape(rows: rows, columns: columns)),
      (name: ModelFiles.scalesName(name), dtype: .f16, shape: grid.scaleShape(rows: rows, columns: columns)),
    ]
  }

  /// The order of the file. Packed tensors are multiples of 64 bytes, and F32 tensors of 4: so all are aligned for the kernels.
  package static func inFileOrder<Element>(_ elements: [Element], _ tensor: (Element) -> ModelTensor) -> [Element] {
    func section(_ format: WeightFormat) -> Int { format.grid != nil ? 0 : format == .f32 ? 1 : 2 }
    return (0...2).flatMap { part in elements.filter { section(tensor($0).format) == part } }
  }
}
