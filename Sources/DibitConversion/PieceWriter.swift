internal import DibitFailure
internal import DibitCheckpoint
internal import DibitKernels
internal import DibitQuantization
internal import DibitTensor

/// Writes a model's tensors in their order; a packed piece waits until the next one is being made.
struct PieceWriter: ~Copyable {
  private var writer: SafetensorsWriter
  /// A piece that is not written yet, and whether its tensor's scales follow it.
  private var pending: PackedRows?
  private var endsTensor = false
  /// Room that is free for the next piece.
  private var spare: PackedRows?
  /// Scales of the tensor at work.
  private var scales: [UInt8] = []
  private var failure: CheckpointError?

  /// The size of the whole file in bytes.
  var byteCount: Int { writer.byteCount }

  init(
    path: String, tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)]
  ) throws(ConversionError) {
    writer = try rethrow(as: ConversionError.checkpoint, SafetensorsWriter(path: path, tensors: tensors, metadata: metadata))
  }

  /// Panels for a piece, those of an earlier one where it fits.
  mutating func panels(rows: Int, columns: Int, grid: Grid) -> PackedRows {
    if let panels = spare.take(), panels.capacity >= rows, panels.columns == columns, panels.grid == grid { return panels }
    return PackedRows(capacity: rows, columns: columns, grid: grid)
  }

  /// Writes the piece that waits, if there is one. A failure is thrown by the next `append`.
  mutating func writePending() {
    guard failure == nil, let piece = pending.take() else { return }
    do throws(CheckpointError) { try Self.write(piece, endsTensor, &scales, &writer) } catch { failure = error }
    spare = consume piece
  }

  private static func write(
    _ piece: borrowing PackedRows, _ endsTensor: Bool, _ scales: inout [UInt8], _ writer: inout SafetensorsWriter
  ) throws(CheckpointError) {
    try writer.append(piece.codes.span.extracting(0..<piece.codeByteCount))
    scales += Array(copying: piece.scales.span.extracting(0..<piece.scaleByteCount))
    guard endsTensor else { return }
    let panel = piece.grid.scaleByteCount(rows: 1, columns: piece.columns)
    if scales.count / panel % 2 == 1 { scales += [UInt8](repeating: 0, count: panel) }  // see Grid.scaleShape
    try writer.append(scales.span)
    scales.removeAll(keepingCapacity: true)
  }

  /// Adds a packed piece; `endsTensor` with the last one of a tensor.
  mutating func append(_ piece: consuming PackedRows, endsTensor: Bool) throws(ConversionError) {
    try flush()
    pending = consume piece
    self.endsTensor = endsTensor
  }

  /// Adds floats.
  mutating func append(floats: Span<Float>, as dtype: DType) throws(ConversionError) {
    try flush()
    try rethrow(as: ConversionError.checkpoint, writer.append(floats: floats, as: dtype))
  }

  /// Adds stored bytes as they are.
  mutating func append(bytes: Span<UInt8>) throws(ConversionError) {
    try flush()
    try rethrow(as: ConversionError.checkpoint, writer.append(bytes))
  }

  /// Ends the file and returns its digest.
  consuming func finalize() throws(ConversionError) -> String {
    try flush()
    do throws(CheckpointError) { return try writer.finalize() } catch { throw .checkpoint(error) }
  }

  private mutating func flush() throws(ConversionError) {
    writePending()
    if let failure { throw .checkpoint(failure) }
  }
}
