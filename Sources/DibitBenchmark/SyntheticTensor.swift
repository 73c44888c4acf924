internal import DibitCheckpoint
internal import DibitModelStore
internal import DibitTensor

/// One tensor of a ``SyntheticModel``.
struct SyntheticTensor {
  let name: String
  let rows: Int
  let columns: Int
  let format: WeightFormat
  let isMatrix: Bool
  /// What every element of a vector is.
  let value: Float

  /// Bytes that are made and written at a time.
  private static let pieceBytes = 1 << 20

  init(name: String, rows: Int, columns: Int, format: WeightFormat, isMatrix: Bool, isBias: Bool) {
    (self.name, self.rows, self.columns, self.format, self.isMatrix) = (name, rows, columns, format, isMatrix)
    value = isBias ? 0 : 1
  }

  /// The static scale of int8 keys or values: normed keys rarely exceed 6.
  init(staticScale name: String) {
    (self.name, rows, columns, format, isMatrix, value) = (name, 1, 1, .f32, false, 0.05)
  }

  /// A row's dot product with inputs of the order of one is of that order when weights have this deviation.
  private var deviation: Float { 1 / Float(columns).squareRoot() }

  private var dtype: DType {
    switch format {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .grid: .u8
    }
  }

  /// Bytes of the tensor and its scales.
  var byteCount: Int {
    Weight.elementByteCount(rows: rows, columns: columns, format: format)
      + Weight.scaleByteCount(rows: rows, columns: columns, format: format)
  }

  /// What a safetensors file declares.
  var declarations: [(name: String, dtype: DType, shape: [Int])] {
    guard case .grid(let bits, let group) = format else {
      return [(name: name, dtype: dtype, shape: isMatrix ? [rows, columns] : [columns])]
    }
    return [
      (name: name, dtype: .u8, shape: [rows, Weight.codeBytesPerRow(columns: columns, bits: bits)]),
      (name: ModelFiles.scalesName(name), dtype: .f16, shape: [rows, Weight.groups(columns: columns, group: group)]),
    ]
  }

  /// Appends the tensor's bytes.
  func write(to writer: inout SafetensorsWriter, using generator: inout SplitMix64) throws(CheckpointError) {
    guard isMatrix else { return try append([Float](repeating: value, count: columns), to: &writer) }
    switch format {
    case .grid(let bits, let group):
      try writeCodes(bits, to: &writer, using: &generator)
      // Codes are uniform: their variance is (4^bits - 1) / 12 in units of the scale.
      let spread = (Float(1 << (2 * bits)) - 1) / 12
      try append(
        [Float](repeating: deviation / spread.squareRoot(), count: rows * Weight.groups(columns: columns, group: group)), to: &writer,
        as: .f16)
    case .f32, .f16, .bf16:
      // Uniform in ±bound has the deviation bound / √3.
      let bound = deviation * Float(3).squareRoot()
      let step = max(1, Self.pieceBytes / 4 / max(columns, 1))
      for first in stride(from: 0, to: rows, by: step) {
        let count = (min(first + step, rows) - first) * columns
        try append((0..<count).map { _ in generator.uniform(bound: bound) }, to: &writer, as: dtype)
      }
    }
  }

  private func append(_ values: [Float], to writer: inout SafetensorsWriter, as dtype: DType = .f32) throws(CheckpointError) {
    try writer.append(floats: values.span, as: dtype)
  }

  /// Random codes, zero behind the end of a row.
  private func writeCodes(_ bits: Int, to writer: inout SafetensorsWriter, using generator: inout SplitMix64) throws(CheckpointError) {
    let rowBytes = Weight.codeBytesPerRow(columns: columns, bits: bits)
    let step = max(1, Self.pieceBytes / max(rowBytes, 1))
    let kept = keptBits(bits)
    var piece = Buffer<UInt8>(count: min(step, rows) * rowBytes)
    for first in stride(from: 0, to: rows, by: step) {
      let count = (min(first + step, rows) - first) * rowBytes
      Self.fill(&piece, count, using: &generator)
      if kept.contains(where: { $0 != 0xFF }) {
        for end in stride(from: rowBytes, through: count, by: rowBytes) {
          for j in 0..<16 { piece[end - 16 + j] &= kept[j] }
        }
      }
      try writer.append(piece.span.extracting(0..<count))
    }
  }

  /// Which bits of a row's last block belong to elements; see docs/formats/model.md for their order.
  private func keptBits(_ bits: Int) -> [UInt8] {
    let perBlock = 128 / bits
    let used = (columns + perBlock - 1) % perBlock + 1
    return (0..<16).map { j in
      (0..<8 / bits).reduce(0) { $0 | (j + 16 * $1 < used ? UInt8((1 << bits) - 1) << UInt8($1 * bits) : 0) }
    }
  }

  /// Rows are blocks of 16 bytes, so that `count` is a multiple of 8.
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
