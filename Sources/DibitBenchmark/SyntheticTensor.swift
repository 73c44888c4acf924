internal import DibitCheckpoint
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// One tensor of a ``SyntheticModel``.
struct SyntheticTensor {
  let stored: ModelTensor
  /// The value of every element of a vector; nil for a matrix, whose elements are random.
  let value: Float?

  /// Bytes that are made and written at a time.
  private static let pieceBytes = 1 << 20

  init(_ stored: ModelTensor, value: Float?) { (self.stored, self.value) = (stored, value) }

  /// The static scale of int8 keys or values: normed keys rarely exceed 6.
  init(staticScale name: String) {
    self.init(ModelTensor(name: name, shape: [1], rows: 1, columns: 1, format: .f32), value: 0.05)
  }

  private var rows: Int { stored.rows }
  private var columns: Int { stored.columns }

  /// A row's dot product with inputs of the order of one is of that order when weights have this deviation.
  private var deviation: Float { 1 / Float(columns).squareRoot() }

  /// Appends the tensor's bytes.
  func write(to writer: inout SafetensorsWriter, using generator: inout SplitMix64) throws(CheckpointError) {
    if let value { return try append([Float](repeating: value, count: columns), to: &writer) }
    if let grid = stored.format.grid {
      try writeCodes(to: &writer, using: &generator)
      let spread = grid.levels.meanSquare
      let scales = grid.scaleShape(rows: rows, columns: columns).reduce(1, *)
      try append([Float](repeating: deviation / spread.squareRoot(), count: scales), to: &writer, as: .f16)
    } else {
      // Uniform in ±bound has the deviation bound / √3.
      let bound = deviation * Float(3).squareRoot()
      let step = max(1, Self.pieceBytes / 4 / max(columns, 1))
      for first in stride(from: 0, to: rows, by: step) {
        let count = (min(first + step, rows) - first) * columns
        try append((0..<count).map { _ in generator.uniform(bound: bound) }, to: &writer, as: stored.format.dtype)
      }
    }
  }

  private func append(_ values: [Float], to writer: inout SafetensorsWriter, as dtype: DType = .f32) throws(CheckpointError) {
    try writer.append(floats: values.span, as: dtype)
  }

  /// Random codes, also where a matrix is padded: what lies there means nothing.
  private func writeCodes(to writer: inout SafetensorsWriter, using generator: inout SplitMix64) throws(CheckpointError) {
    let bytes = stored.format.elementByteCount(rows: rows, columns: columns)
    var piece = Buffer<UInt8>(count: min(Self.pieceBytes, bytes))
    for first in stride(from: 0, to: bytes, by: Self.pieceBytes) {
      let count = min(Self.pieceBytes, bytes - first)
      Self.fill(&piece, count, using: &generator)
      try writer.append(piece.span.extracting(0..<count))
    }
  }

  /// Blocks have 64 bytes, so that `count` is a multiple of 8.
  private static func fill(_ piece: inout Buffer<UInt8>, _ count: Int, using generator: inout SplitMix64) {
    var span = piece.mutableSpan
    for first in stride(from: 0, to: count, by: 8) {
      var random = generator.next()
      for index in first..<first + 8 {
        span[index] = UInt8(truncatingIfNeeded: random)
        random >>= 8
      }
    }
  }
}
