internal import DibitCheckpoint
internal import DibitJSON
public import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// Turns a float checkpoint into a model directory, a piece of a tensor at a time: memory does not grow with the model.
public struct Converter: Sendable {
  private let source: String
  private let output: String
  private let options: ConversionOptions
  private let compute: Compute

  /// Floats that are rounded in one piece: 16 MB.
  private static let pieceElements = 4 << 20

  /// A conversion of the checkpoint directory `source` to the model directory `output`.
  public init(source: String, output: String, options: ConversionOptions, on compute: Compute) {
    self.source = source
    self.output = output
    self.options = options
    self.compute = compute
  }

  /// Converts; `progress` is called for each piece and stops the conversion, leaving nothing behind, by returning false.
  public func run(progress: (ConversionProgress) -> Bool = { _ in true }) throws(ConversionError) -> ConversionReport {
    let clock = ContinuousClock()
    let start = clock.now
    let plan = try ConversionPlan(source: source, scheme: options.scheme)
    let directory = try staged()
    var report = ConversionReport(source: source, output: output, architecture: plan.configuration.family.rawValue)
    let weightsDigest = try writeWeights(plan, to: directory.path(of: StoreFile.weights), &report, progress)
    let files = ModelFiles(
      configuration: plan.configurationJSON, scheme: options.scheme, tokenizer: plan.tokenizer, weightsDigest: weightsDigest,
      source: ["path": .string(source), "bytes": .integer(report.sourceBytes)])
    do throws(ModelStoreError) { report.digest = try files.write(into: directory) } catch { throw .source(error) }
    do throws(CheckpointError) { try directory.commit() } catch { throw .checkpoint(error) }
    let elapsed = clock.now - start
    report.seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
    return report
  }

  private func staged() throws(ConversionError) -> StagedDirectory {
    do throws(CheckpointError) { return try StagedDirectory(destination: output, overwrite: options.overwrite) } catch {
      throw .checkpoint(error)
    }
  }

  /// Writes model.safetensors and returns its digest.
  private func writeWeights(
    _ plan: ConversionPlan, to path: String, _ report: inout ConversionReport, _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> String {
    do {
      var writer = try SafetensorsWriter(
        path: path, tensors: plan.tensors.flatMap(\.declarations), metadata: [(key: "format", value: "pt")])
      report.outputBytes = writer.byteCount
      var pass = Pass(checkpoint: plan.checkpoint, total: plan.tensors.reduce(0) { $0 + $1.sourceBytes })
      for tensor in plan.tensors { report.tensors.append(try write(tensor, to: &writer, &pass, progress)) }
      return try writer.finish()
    } catch let error as CheckpointError {
      throw .checkpoint(error)
    } catch let error as ConversionError {
      throw error
    } catch { throw .interrupted }
  }

  /// Where a conversion stands.
  private struct Pass {
    let checkpoint: Checkpoint
    let total: Int
    var done = 0
  }

  private func write(
    _ tensor: PlannedTensor, to writer: inout SafetensorsWriter, _ pass: inout Pass, _ progress: (ConversionProgress) -> Bool
  ) throws -> ConversionReport.Tensor {
    // A tensor in another order is read as a whole.
    let step = tensor.layout == .rows ? max(1, min(tensor.rows, Self.pieceElements / max(tensor.columns, 1))) : tensor.rows
    var piece = Matrix(rows: step, columns: tensor.columns)
    var scales: [UInt8] = []
    var error = GridQuantization.Error()
    for first in stride(from: 0, to: tensor.rows, by: step) {
      let rows = first..<min(first + step, tensor.rows)
      try read(tensor, rows, pass.checkpoint, into: &piece)
      try checkFinite(piece, tensor, first)
      if case .grid(let bits, let group) = tensor.format {
        let packed = GridQuantization.encode(piece, bits: bits, group: group, error: &error, on: compute)
        try writer.append(packed.codes.span)
        scales += packed.scales
      } else {
        try writer.append(floats: piece.span, as: tensor.dtype)
      }
      pass.checkpoint.release(tensor.source, rows: tensor.layout == .rows ? rows : 0..<Int.max)
      pass.done += rows.count * (tensor.sourceBytes / max(tensor.rows, 1))
      guard progress(ConversionProgress(tensor: tensor.name, bytes: pass.done, totalBytes: pass.total)) else {
        throw ConversionError.interrupted
      }
    }
    if !scales.isEmpty { try writer.append(scales.span) }
    return ConversionReport.Tensor(
      name: tensor.name, shape: tensor.shape, storage: tensor.storage, sourceBytes: tensor.sourceBytes, bytes: tensor.byteCount,
      error: tensor.isPacked ? error : nil)
  }

  /// Reads rows in the decoder's order.
  private func read(_ tensor: PlannedTensor, _ rows: Range<Int>, _ checkpoint: Checkpoint, into piece: inout Matrix) throws {
    guard tensor.layout != .rows else { return try checkpoint.readRows(tensor.source, rows: rows, into: &piece) }
    let stored = try checkpoint.readMatrix(tensor.source)
    let values = tensor.layout.fromCheckpoint(stored.values, rows: tensor.rows, columns: tensor.columns)
    piece = Matrix(rows: tensor.rows, columns: tensor.columns, values: values)
  }

  private func checkFinite(_ piece: borrowing Matrix, _ tensor: PlannedTensor, _ firstRow: Int) throws(ConversionError) {
    guard let bad = firstNonFinite(piece.span) else { return }
    let (row, column) = (bad / tensor.columns, bad % tensor.columns)
    throw .notFinite(tensor: tensor.name, row: firstRow + row, column: column, value: "\(piece[row, column])")
  }
}

/// Adds this layer's context to a file's error.
func lift<Result>(_ body: () throws(CheckpointError) -> Result) throws(ConversionError) -> Result {
  do throws(CheckpointError) { return try body() } catch { throw .checkpoint(error) }
}

/// Adds this layer's context to a model directory's error.
func liftStore<Result>(_ body: () throws(ModelStoreError) -> Result) throws(ConversionError) -> Result {
  do throws(ModelStoreError) { return try body() } catch { throw .source(error) }
}
