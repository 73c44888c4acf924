internal import DibitCalibration
internal import DibitFailure
internal import DibitCheckpoint
package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
package import DibitQuantization
internal import DibitTensor
internal import Synchronization

/// Turns a float checkpoint into a model directory, a piece of a tensor at a time: memory does not grow with the model.
package struct Converter: Sendable {
  let source: String
  let output: String
  var options: ConversionOptions
  let compute: Compute

  /// Elements that are rounded in one piece: 8 MB of F16.
  private static let pieceElements = 4 << 20
  /// Metadata of the file of weights.
  static let metadata = [(key: "format", value: "pt")]

  /// A conversion of the checkpoint directory `source` to the model directory `output`.
  package init(source: String, output: String, options: ConversionOptions, on compute: Compute) {
    self.source = source
    self.output = output
    self.options = options
    self.compute = compute
  }

  /// About how many rows of a matrix are asked which levels it lies on.
  private static let tellingRows = 64

  /// The storage scheme of the tensors.
  package var scheme: QuantizationScheme { options.scheme }

  /// True where matrices are measured before the conversion.
  package var measures: Bool { options.budget != nil }

  /// Returns this conversion with what suits the source, as its first linear layer tells.
  ///
  /// With `choosesLevels` levels are those that it lies on already, and else, where rounding is calibrated, those that lose least: a trellis for two bits, a full
  /// range for more. What lies on the grid keeps its groups; else ``ConversionOptions/spreads`` decides on them.
  package func suited(choosesLevels: Bool, calibrates: Bool) throws(ConversionError) -> Converter {
    guard options.scheme.isQuantized, choosesLevels || options.spreads else { return self }
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    // What is converted already is refused when the conversion begins.
    guard opened.scheme == nil else { return self }
    let linears = try rethrow(as: ConversionError.source, opened.declarations().parameters).filter { !$0.role.isTable && $0.role.isMatrix }
    guard let first = linears.first else { return self }
    let elements = linears.reduce(0) { $0 + $1.rows * $1.columns }
    let whole = try rethrow(as: ConversionError.source, opened.matrix(first))
    // Some rows tell: on a large matrix a search for levels that it may not have would take a while.
    let step = max(1, whole.rows / Self.tellingRows)
    let weight = whole.gatheringRows(Array(stride(from: 0, to: whole.rows, by: step))).floats(on: compute)
    func isExact(_ scheme: QuantizationScheme) -> Bool {
      Calibrator.exact(weight, as: scheme.format(of: first.name, first.role, source: .bf16), on: compute) != nil
    }
    func isExact(_ family: LevelFamily) -> Bool {
      var scheme = options.scheme
      scheme.family = family
      return isExact(scheme)
    }
    let isTrained = opened.checkpoint.info(first.name.tensor + StretchedElastic.suffix) != nil
    var converter = self
    if choosesLevels {
      let exact = isTrained ? .symmetric : [.symmetric, .fullRange, .trellis].first(where: isExact)
      converter.options.scheme.family = exact ?? (calibrates ? .losingLeast(bits: options.scheme.bits) : .symmetric)
    }
    // Floats are in memory while matrices are measured.
    if options.spreads, elements <= CalibrationCost.mostInMemory, let group = options.scheme.group, !isTrained,
      !isExact(converter.options.scheme)
    {
      converter.options.scheme.group = 2 * group
      converter.options.budget = .groups(group)
    }
    return converter
  }

  /// Finds the failures that ``run(calibratingOn:measuringOn:keepingIn:progress:)`` would begin with; nothing is written.
  package func check() throws(ConversionError) {
    let plan = try checkedPlan()
    if let budget = options.budget { _ = try spare(of: budget, plan) }
  }

  /// Opens what a calibration of this conversion keeps beside its output; see ``CalibrationStore``.
  ///
  /// - Parameters:
  ///   - text: What is calibrated on, in tokens, beside what the source writes.
  ///   - windows: The windows that are calibrated on, with those that the source writes.
  package func calibrationStore(text: [[Int32]] = [], windows: Int = 0, resumes: Bool) throws(ConversionError) -> CalibrationStore {
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    var digests: [JSONValue] = []
    for path in opened.checkpoint.filePaths { digests.append(.string(try rethrow(as: ConversionError.file, fileDigest(path)))) }
    let identity: JSONValue = [
      "revision": .integer(Calibrator.revision), "source": .array(digests), "quantization": options.scheme.json,
      "budget": .string(options.budget.map { "\($0)" } ?? "none"),
      "tables": .bool(options.budgetsTables), "trains_layers": .bool(options.trainsLayers), "isa": .string("\(compute.isa)"),
      "tokenizer": options.tokenizer.map { .string($0) } ?? .null, "text": .string(Self.digest(of: text)),
      "windows": .integer(windows),
    ]
    return try CalibrationStore(
      output: output, inputs: JobInputs([source, options.tokenizer]), identity: identity,
      vocabulary: opened.configuration.vocabularySize, resumes: resumes, discards: options.overwrite)
  }

  private static func digest(of text: [[Int32]]) -> String {
    var digest = SHA256()
    for window in text { digest.update(window) }
    return digest.finalize()
  }

  func checkedPlan() throws(ConversionError) -> ConversionPlan {
    let plan = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: options.scheme)
    // An output that may not be created is told; the hidden directory goes at once.
    _ = try staged()
    return plan
  }

  /// Converts; `progress` is called for each layer and each piece and stops the conversion, leaving nothing behind, by returning false.
  ///
  /// - Parameters:
  ///   - windows: text in tokens that rounding is calibrated on; nil to round each tensor by itself.
  ///   - measured: text in tokens that the options' budget, where there is one, is spent by; nil for `windows`.
  ///   - store: keeps what calibration has done, until the model is there; nil to keep nothing.
  package func run(
    calibratingOn windows: [[Int32]]? = nil, measuringOn measured: [[Int32]]? = nil, keepingIn store: CalibrationStore? = nil,
    progress: (ConversionProgress) -> Bool = { _ in true }
  ) throws(ConversionError) -> ConversionReport {
    try prepare(calibratingOn: windows, measuringOn: measured, keepingIn: store, progress: progress)
      .write(progress: progress)
  }

  /// Does all of ``run(calibratingOn:measuringOn:keepingIn:progress:)`` but the writing.
  package func prepare(
    calibratingOn windows: [[Int32]]? = nil, measuringOn measured: [[Int32]]? = nil, keepingIn store: CalibrationStore? = nil,
    progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> PreparedConversion {
    let start = ContinuousClock.now
    do throws(ConversionError) {
      let (converter, choices) = try choosingBits(
        on: measured ?? windows ?? [], calibrates: windows != nil, keepingIn: store, progress)
      let plan = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: converter.options.scheme)
      let check = WeightsCheck.begin(source)
      let directory = try staged()
      var calibrated: RoundedWeights?
      if let windows {
        try refuseTrainedScales(plan)
        calibrated = try RoundedWeights.calibrated(
          source, converter.options, windows: windows, keepingIn: store, spillingTo: directory.path(of: "streams"), on: compute
        ) { done in
          progress(
            ConversionProgress(stage: .calibrating(layers: done.layers, totalLayers: done.totalLayers, fraction: done.fraction)))
        }
      }
      return PreparedConversion(converter, plan, choices, calibrated, into: directory, waitingFor: check, keptIn: store, since: start)
    } catch { throw store?.interruption(error) ?? error }
  }

  /// Writes weights that were rounded before, and all else of the source, into a directory, which appears when it is whole.
  ///
  /// - Parameter training: How they came about, for the manifest.
  package func write(
    _ weights: RoundedWeights, training: JSONValue, into directory: consuming StagedDirectory
  ) throws(ConversionError) -> ConversionReport {
    try write(planOfRounded(), weights, training: training, into: directory, waitingFor: nil) { _ in true }
  }

  /// Finds the failures that ``write(_:training:into:)`` would begin with, before the hours that its weights take.
  package func checkForRounded() throws(ConversionError) { _ = try planOfRounded() }

  private func planOfRounded() throws(ConversionError) -> ConversionPlan {
    let plan = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: options.scheme)
    try refuseTrainedScales(plan)
    return plan
  }

  private func refuseTrainedScales(_ plan: ConversionPlan) throws(ConversionError) {
    if let trained = plan.tensors.first(where: { $0.clips != nil }) { throw .calibratesTrainedScales(tensor: trained.name) }
  }

  func write(
    _ plan: ConversionPlan, _ weights: RoundedWeights?, training: JSONValue? = nil, into directory: consuming StagedDirectory,
    waitingFor check: WeightsCheck?, _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> ConversionReport {
    var report = ConversionReport(source: source, output: output, plan)
    report.layers = (weights?.trained ?? [:]).sorted { $0.key < $1.key }.map { layer, result in
      ConversionReport.TrainedLayer(layer: layer, before: result.before, after: result.after)
    }
    let weightsDigest = try writeWeights(plan, weights, to: directory.path(of: StoreFile.weights), &report, progress)
    var origin = JSONObject([(key: "path", value: .string(source)), (key: "bytes", value: .integer(report.sourceBytes))])
    if let training { origin["training"] = training }
    var files = ModelFiles(
      configuration: plan.configurationJSON, scheme: options.scheme, tokenizer: plan.tokenizer, chat: plan.chat,
      weightsDigest: weightsDigest, source: .object(origin))
    files.languages = ModelLanguages.read(source)
    report.digest = try rethrow(as: ConversionError.source, files.write(into: directory))
    try rethrow(as: ConversionError.source, check?.wait())
    do throws(FileError) {
      try directory.write(ModelCard.packed(report, options.scheme), to: StoreFile.card)
      try directory.commit()
    } catch { throw .file(error) }
    return report
  }

  func staged() throws(ConversionError) -> StagedDirectory {
    try rethrow(
      as: ConversionError.file,
      StagedDirectory(
        destination: output, replacing: options.overwrite ? ModelFiles.mark : nil, inputs: JobInputs([source, options.tokenizer])))
  }

  /// Writes model.safetensors and returns its digest.
  private func writeWeights(
    _ plan: ConversionPlan, _ rounded: RoundedWeights?, to path: String, _ report: inout ConversionReport,
    _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> String {
    var pieces = try PieceWriter(
      path: path, tensors: plan.tensors.flatMap(\.stored.declarations), metadata: Self.metadata)
    report.outputBytes = pieces.byteCount
    var pass = Pass(checkpoint: plan.checkpoint, total: plan.tensors.reduce(0) { $0 + $1.sourceBytes })
    for tensor in plan.tensors {
      if let grid = tensor.stored.format.grid, let packed = rounded?.packed(tensor.name) {
        report.tensors.append(try write(tensor, grid, packed, to: &pieces, &pass, progress))
      } else if let grid = tensor.stored.format.grid {
        report.tensors.append(try pack(tensor, grid, to: &pieces, &pass, progress))
      } else {
        report.tensors.append(try copy(tensor, rounded?.floats(tensor.name), to: &pieces, &pass, progress))
      }
    }
    return try pieces.finalize()
  }

  /// The progress of a conversion.
  private struct Pass {
    let checkpoint: Checkpoint
    let total: Int
    var done = 0

    /// Leaves rows behind and says so.
    mutating func leave(
      _ tensor: PlannedTensor, _ rows: Range<Int>, _ progress: (ConversionProgress) -> Bool
    ) throws(ConversionError) {
      checkpoint.release(tensor.name, rows: rows)
      done += rows.count * (tensor.sourceBytes / max(tensor.rows, 1))
      guard progress(ConversionProgress(stage: .writing(tensor: tensor.name, bytes: done, totalBytes: total))) else { throw .interrupted }
    }
  }

  /// The rows of a tensor in pieces.
  func pieces(of tensor: PlannedTensor) -> [Range<Int>] {
    let step = max(1, Self.pieceElements / max(tensor.columns, 1) / Grid.panelRows) * Grid.panelRows
    return stride(from: 0, to: tensor.rows, by: step).map { $0..<min($0 + step, tensor.rows) }
  }

  /// Stores a tensor as floats: those given, or else the source's.
  private func copy(
    _ tensor: PlannedTensor, _ given: [Float]?, to writer: inout PieceWriter, _ pass: inout Pass, _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> ConversionReport.Tensor {
    let checkpoint = pass.checkpoint
    let pieces = pieces(of: tensor)
    var piece = Matrix(rows: pieces.first?.count ?? 0, columns: tensor.columns)
    for rows in pieces {
      if let given {
        piece = Matrix(
          rows: rows.count, columns: tensor.columns,
          values: Array(given[rows.lowerBound * tensor.columns..<rows.upperBound * tensor.columns]))
      } else {
        try rethrow(as: ConversionError.checkpoint, checkpoint.readRows(tensor.name, rows: rows, into: &piece))
      }
      try checkFinite(piece, tensor, rows.lowerBound)
      try writer.append(floats: piece.span, as: tensor.stored.format.dtype)
      try pass.leave(tensor, rows, progress)
    }
    return ConversionReport.Tensor(
      name: tensor.name, shape: tensor.stored.shape, storage: tensor.storage, sourceBytes: tensor.sourceBytes,
      bytes: tensor.stored.byteCount, error: nil)
  }

  /// Stores a tensor that was rounded before.
  private func write(
    _ tensor: PlannedTensor, _ grid: Grid, _ packed: (weight: Weight, error: GridQuantization.Error?), to writer: inout PieceWriter,
    _ pass: inout Pass, _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> ConversionReport.Tensor {
    var piece = writer.panels(rows: packed.weight.rows, columns: packed.weight.columns, grid: grid)
    piece.copy(packed.weight)
    try writer.append(piece, endsTensor: true)
    try pass.leave(tensor, 0..<tensor.rows, progress)
    return ConversionReport.Tensor(
      name: tensor.name, shape: tensor.stored.shape, storage: tensor.storage, sourceBytes: tensor.sourceBytes,
      bytes: tensor.stored.byteCount, error: packed.error)
  }

  /// Stores a tensor on the grid. While one piece is read and rounded on all threads, one of them hashes and writes the piece before.
  private func pack(
    _ tensor: PlannedTensor, _ grid: Grid, to writer: inout PieceWriter, _ pass: inout Pass,
    _ progress: (ConversionProgress) -> Bool
  ) throws(ConversionError) -> ConversionReport.Tensor {
    let checkpoint = pass.checkpoint
    let pieces = pieces(of: tensor)
    let trained = try trainedScales(tensor, checkpoint)
    var error = GridQuantization.Error()
    let lost = Lost()
    for rows in pieces {
      var packed = writer.panels(rows: pieces[0].count, columns: tensor.columns, grid: grid)
      do throws(CheckpointError) {
        try GridQuantization.encode(rows: rows, into: &packed, error: &error, on: compute) {
          writer.writePending()
        } read: { (part, values) throws(CheckpointError) in
          try checkpoint.readRows(tensor.name, rows: part, into: &values)
          guard let trained else { return }
          for row in part {
            let first = (row - part.lowerBound) * tensor.columns
            lost.add(trained.apply(to: &values, first..<first + tensor.columns, row: row), row: row)
          }
        }
      } catch { throw .checkpoint(error) }
      guard error.signal.isFinite else { throw try notFinite(tensor, rows, checkpoint) }
      try writer.append(packed, endsTensor: rows.upperBound == tensor.rows)
      try pass.leave(tensor, rows, progress)
    }
    error.noise += lost.total
    var result = ConversionReport.Tensor(
      name: tensor.name, shape: tensor.stored.shape, storage: tensor.storage, sourceBytes: tensor.sourceBytes,
      bytes: tensor.stored.byteCount,
      error: error)
    if let trained { (result.trainedScales, result.roundedScales) = (tensor.rows, trained.roundedScales) }
    return result
  }

  /// The scales that the checkpoint brings along for a tensor.
  private func trainedScales(_ tensor: PlannedTensor, _ checkpoint: Checkpoint) throws(ConversionError) -> StretchedElastic? {
    guard let name = tensor.clips else { return nil }
    let clips = try rethrow(as: ConversionError.checkpoint, checkpoint.readVector(name))
    if let bad = firstNonFinite(clips.span) { throw .notFinite(tensor: name, row: bad, column: 0, value: "\(clips[bad])") }
    let types = try rethrow(as: ConversionError.checkpoint, (checkpoint.tensor(tensor.name).dtype, checkpoint.tensor(name).dtype))
    return StretchedElastic(clips: clips, weightType: types.0, clipType: types.1)
  }

  /// The error that names the first element of some rows that is no number.
  private func notFinite(_ tensor: PlannedTensor, _ rows: Range<Int>, _ checkpoint: Checkpoint) throws(ConversionError) -> ConversionError {
    var row = Matrix(rows: 1, columns: tensor.columns)
    for index in rows {
      try rethrow(as: ConversionError.checkpoint, checkpoint.readRows(tensor.name, rows: index..<index + 1, into: &row))
      try checkFinite(row, tensor, index)
    }
    fatalError("Converter: tensor '\(tensor.name)' has a sum that is not finite, of elements that are")
  }

  private func checkFinite(_ piece: borrowing Matrix, _ tensor: PlannedTensor, _ firstRow: Int) throws(ConversionError) {
    guard let bad = firstNonFinite(piece.span) else { return }
    let (row, column) = (bad / tensor.columns, bad % tensor.columns)
    throw .notFinite(tensor: tensor.name, row: firstRow + row, column: column, value: "\(piece[row, column])")
  }
}

/// The loss of rows from the rounding of trained scales, from several threads; the sum does not depend on their order.
private final class Lost: Sendable {
  private let rows = Mutex<[Int: Double]>([:])

  func add(_ noise: Double, row: Int) {
    guard noise > 0 else { return }
    rows.withLock { $0[row] = noise }
  }

  var total: Double { rows.withLock { rows in rows.keys.sorted().reduce(0) { $0 + (rows[$1] ?? 0) } } }
}
