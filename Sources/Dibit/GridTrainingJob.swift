internal import DibitCheckpoint
internal import DibitConversion
internal import DibitDataset
internal import DibitFailure
package import DibitFiles
internal import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
package import DibitRecipe
internal import DibitTensor
internal import DibitTokenizer
package import DibitTraining

/// Quantisation-aware training: all weights and scales of a converted model, through the kernels that run it, towards the predictions of the
/// float checkpoint that it was converted from. ``PretrainingJob/Run`` trains.
package struct GridTrainingJob: ~Copyable, WeightTraining {
  /// The inputs of a run.
  package struct Inputs: Equatable, Sendable {
    /// The float checkpoint: the teacher, and the floats that are rounded.
    package var checkpoint: String
    /// The converted model that training begins as.
    package var model: String
    /// Folders or files of plain text.
    package var texts: [String]
    /// Tokens of text that the float model writes; nil for as many as the steps read, up to a million, where no other text is given.
    package var ownTokens: Int?

    /// The inputs at these paths.
    package init(checkpoint: String, model: String, texts: [String], ownTokens: Int? = nil) {
      (self.checkpoint, self.model, self.texts, self.ownTokens) = (checkpoint, model, texts, ownTokens)
    }
  }

  /// As ``WeightTraining/identity``.
  package let identity: RunIdentity
  /// Training tokens.
  package var textTokens: Int { tokenCount - validationTokens }
  /// Tokens that are held out.
  package var validationTokens: Int { Self.heldOutWindows(of: tokenCount, window: window) * window }
  /// Tokens of all text.
  private var tokenCount: Int { text.count + ownText.writer.count * ownText.writer.length }
  /// Tokens of a window.
  private var window: Int { options.sequenceLength + 1 }
  private let inputs: Inputs
  private let options: PretrainingOptions
  private let compute: Compute
  private let configuration: ModelConfiguration
  /// Of the checkpoint, until they are trained.
  private var floats: DecoderWeights?
  private let start: DecoderWeights
  private let scheme: QuantizationScheme
  private let checks: [WeightsCheck]
  /// Of the inputs.
  private let text: [Int32]
  /// The text that the float model writes, and what it depends on.
  private let ownText: (writer: CalibrationText, identity: String)

  /// Windows that are held out, of at least as many times `textPerWindow`.
  private static let (validationWindows, textPerWindow) = (32, 20)
  /// The most tokens that the float model writes without being asked for more.
  private static let mostOwnTokens = 1_000_000

  /// Opens both models and reads the text.
  ///
  /// - Parameters:
  ///   - memoryLimit: The most bytes that the run may hold; nil for no limit.
  ///   - report: is told what happens, and stops by returning false.
  /// - Throws: ``DibitError``, of the kind `cancelled` where `report` stops it.
  package init(
    _ inputs: Inputs, recipe: GridTrainingRecipe, memoryLimit: Int? = nil, on compute: Compute, report: (PretrainingJob.Event) -> Bool
  ) throws {
    var options = PretrainingOptions(recipe)
    options.optimization.memoryLimit = memoryLimit
    let folders = try inputs.texts.map { try TextFolder.open(path: $0) }
    let source = try StoredModel.open(inputs.checkpoint)
    guard source.scheme == nil else {
      throw DibitError(.invalidData, "'\(inputs.checkpoint)': expected the float checkpoint, found a converted model")
    }
    let model = try StoredModel.openConverted(inputs.model)
    guard let scheme = model.scheme, scheme.isQuantized else {
      throw DibitError(.invalidData, "'\(inputs.model)': expected a model on a grid, found one of floats")
    }
    let configuration = source.configuration
    try Self.checkPair(source, model, inputs)
    try Self.converter(inputs, scheme, to: inputs.model, on: compute).checkForRounded()
    guard options.sequenceLength < configuration.contextLength else {
      throw DibitError(
        .invalidData,
        "'max_seq_length': expected less than \(configuration.contextLength), the context of '\(inputs.checkpoint)', found "
          + "\(options.sequenceLength)")
    }
    options.optimization.rounding = TrainedRounding(scheme, movesScales: true)
    let text = try PretrainingJob.encode(folders, isHeldOut: false, model.tokenizer, parsesSpecialTokens: false, report)
    let read = options.steps.multipliedReportingOverflow(by: options.batchSize * (options.sequenceLength + 1))
    let own = inputs.ownTokens ?? (inputs.texts.isEmpty ? min(Self.mostOwnTokens, read.overflow ? .max : read.partialValue) : 0)
    let writer = try CalibrationText(for: inputs.checkpoint, tokenizer: inputs.model, atLeast: own)
    ownText = (writer, try writer.identity(on: compute).serialized())
    var identity = PretrainingJob.identity(configuration, [source.weights], text, [], options, compute)
    identity.options["start"] = model.digest.map { .string($0) }
    if own > 0 { identity.options["own_text"] = .integer(writer.count) }
    (self.inputs, self.options, self.compute, self.identity) = (inputs, options, compute, identity)
    (self.configuration, self.scheme, floats, start) = (configuration, scheme, source.weights, model.weights)
    self.text = text
    checks = [source.check, model.check].compactMap(\.self)
  }

  /// Returns the output at `path`, which destroys none of the inputs.
  package static func output(_ path: String, of inputs: Inputs) -> PretrainingJob.Output {
    PretrainingJob.Output(path, inputs: JobInputs([inputs.checkpoint, inputs.model] + inputs.texts), mark: ModelFiles.mark)
  }

  /// Checks whether an output is that of this very job, which was stopped after its last step; its checkpoints are removed.
  package func isComplete(_ output: PretrainingJob.Output) throws -> Bool {
    let manifest = try? PretrainingJob.manifest(of: output.path)
    guard manifest?["source"]?["training"]?["run_sha256"]?.string == identity.digest else { return false }
    try CheckpointStore.remove(of: output.path, inputs: output.inputs)
    return true
  }

  /// Makes the trainer, whose model begins as the converted one.
  package mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (PretrainingJob.Event) -> Bool) throws -> Pretrainer {
    for check in checks { try check.wait() }
    let (text, validation) = Self.split(try self.text + writtenText(keptBeside: checkpoints, report), window: window)
    guard var masters = floats.take() else { throw DibitError(.unexpected, "a training runs once") }
    var teacher = masters
    // As its products are computed.
    if compute.floats == .bfloat16 { teacher.updateEach { if $0.isMatrix { $0.weight = $0.weight.roundedToBFloat() } } }
    masters.updateEach { $0.weight = $0.weight.floats(on: compute) }
    // The scales of keys and values are set anew at the end.
    for layer in 0..<masters.layers { masters.keyValueScales[layer] = KeyValueScales() }
    return try Pretrainer(
      Decoder(configuration, weights: masters), text: text, validation: validation, options: options, from: start,
      teacher: TeacherModel(configuration, weights: teacher), on: compute)
  }

  /// Writes the trained model into `directory`, as a conversion would.
  package consuming func write(
    _ trainer: consuming Pretrainer, _ result: TrainingResult, _ checkpoints: CheckpointStore, into directory: consuming StagedDirectory
  ) throws {
    let summary: JSONValue = [
      "method": "qat", "from": .string(inputs.model), "run_sha256": .string(identity.digest),
      "seed": .string(String(options.optimization.seed)), "end": .string(result.end.rawValue), "steps": .integer(result.steps),
      "tokens": .integer(result.tokens), "training_divergence": .number(Double(result.trainingLoss)),
      "validation_divergence": result.validationLoss.map { .number(Double($0)) } ?? .null,
    ]
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(LossChart(result.curve, title: "Divergence from the float model").svg, to: StoreFile.lossChart)
    let trained = trainer.trainedDecoder().weights
    _ = try Self.converter(inputs, scheme, to: directory.destination, on: compute).write(
      RoundedWeights(configuration, trained), training: summary, into: directory)
    checkpoints.removeAll()
  }

  /// The conversion that writes the trained weights.
  private static func converter(_ inputs: Inputs, _ scheme: QuantizationScheme, to output: String, on compute: Compute) -> Converter {
    var options = ConversionOptions()
    (options.scheme, options.tokenizer) = (scheme, inputs.model)
    return Converter(source: inputs.checkpoint, output: output, options: options, on: compute)
  }

  /// Refuses a model that was not converted from the checkpoint, as far as shapes tell.
  private static func checkPair(_ source: StoredModel, _ model: StoredModel, _ inputs: Inputs) throws {
    func refuse(_ what: String) -> DibitError {
      DibitError(
        .invalidData, "'\(inputs.model)': expected a model converted from '\(inputs.checkpoint)', found one with \(what)")
    }
    guard source.weights.count == model.weights.count else { throw refuse("other layers") }
    for (mine, theirs) in zip(source.weights.parameters, model.weights.parameters) {
      guard mine.name.tensor == theirs.name.tensor, mine.weight.rows == theirs.weight.rows, mine.weight.columns == theirs.weight.columns
      else { throw refuse("'\(theirs.name.tensor)' of the shape \(theirs.weight.shape), not \(mine.weight.shape)") }
    }
  }

  /// The text that the float model writes, which is kept so that it is not written again when the run goes on.
  private func writtenText(keptBeside checkpoints: CheckpointStore, _ report: (PretrainingJob.Event) -> Bool) throws -> [Int32] {
    guard ownText.writer.count > 0 else { return [] }
    let store = checkpoints.text(identity: ownText.identity, vocabulary: configuration.vocabularySize)
    guard let kept = try store.windows() else {
      throw DibitError(
        .invalidData,
        "'\(checkpoints.path)' holds text of another model: train as before to go on, or pass \(optionName("overwrite")) to begin anew")
    }
    let windows = try ownText.writer.write(
      behind: kept,
      keep: { windows, count in
        try store.keep(windows, behind: count)
        checkpoints.keep()
      }, on: compute, progress: { report(.writing(tokens: $0, total: $1)) })
    guard let windows else {
      throw DibitError(
        .cancelled,
        "interrupted while the float model wrote its text; what it wrote is kept in '\(checkpoints.path)' for the same command with "
          + optionName("resume"))
    }
    let text = windows.flatMap { $0 }
    _ = report(.writing(tokens: text.count, total: text.count))
    return text
  }

  /// The windows of a text that are held out; none of a text that is short.
  private static func heldOutWindows(of count: Int, window: Int) -> Int {
    count / validationWindows >= textPerWindow * window ? validationWindows : 0
  }

  /// Cuts windows out of a text, spread over all of it, to hold them out.
  private static func split(_ tokens: [Int32], window: Int) -> (text: [Int32], heldOut: [Int32]) {
    let period = tokens.count / validationWindows
    guard heldOutWindows(of: tokens.count, window: window) > 0 else { return (tokens, []) }
    var (text, heldOut): ([Int32], [Int32]) = ([], [])
    text.reserveCapacity(tokens.count)
    for index in 0..<validationWindows {
      let start = index * period
      heldOut += tokens[start..<start + window]
      text += tokens[start + window..<(index + 1 == validationWindows ? tokens.count : start + period)]
    }
    return (text, heldOut)
  }
}

extension PretrainingOptions {
  /// Takes the settings of a training on a grid, over its defaults.
  fileprivate init(_ recipe: GridTrainingRecipe) {
    self.init()
    steps = recipe.steps ?? 1000
    batchSize = recipe.batchSize ?? 4
    sequenceLength = recipe.sequenceLength ?? 255
    validationInterval = recipe.validationInterval ?? 100
    optimization.learningRate = 3e-3
    optimization.ratesAreInScales = true
    optimization.scaleLearningRate = 1e-3
    optimization.normLearningRate = 1e-4
    optimization.optimizer.weightDecay = 0
    optimization.warmUp = .share(0.03)
    optimization.microBatchTokens = 1024
    optimization.apply(recipe.optimization)
    optimization.finalLearningRate = recipe.optimization.finalLearningRate.map { Float($0) } ?? optimization.learningRate / 20
    optimization.scaleLearningRate = recipe.scaleLearningRate.map { Float($0) } ?? optimization.scaleLearningRate
    optimization.normLearningRate = recipe.normLearningRate.map { Float($0) } ?? optimization.normLearningRate
    optimization.embeddingLearningRate = recipe.embeddingLearningRate.map { Float($0) }
  }
}
