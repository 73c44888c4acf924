internal import DibitConversion
package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
package import DibitRecipe
internal import DibitTensor
package import DibitTraining

/// Quantisation-aware training: all weights and scales of a converted model, or its scales alone, through the kernels that run it, towards the predictions of the
/// float checkpoint that it was converted from. ``PretrainingJob/Run`` trains.
package struct GridTrainingJob: ~Copyable, WeightTraining {
  /// As ``WeightTraining/identity``.
  package let identity: RunIdentity
  /// Training tokens.
  package var textTokens: Int { text.trainingTokens }
  /// Tokens that are held out.
  package var validationTokens: Int { text.heldOutTokens }
  private let inputs: DistillationInputs
  private let options: PretrainingOptions
  private let compute: Compute
  private let configuration: ModelConfiguration
  /// Of the checkpoint, until they are trained.
  private var floats: DecoderWeights?
  private let start: DecoderWeights
  private let scheme: QuantizationScheme
  private let checks: [WeightsCheck]
  private let text: DistillationText

  /// Opens both models and reads the text.
  ///
  /// - Parameters:
  ///   - memoryLimit: The most bytes that the run may hold; nil for no limit.
  ///   - report: is told what happens, and stops by returning false.
  /// - Throws: ``DibitError``, of the kind `cancelled` where `report` stops it.
  package init(
    _ inputs: DistillationInputs, recipe: GridTrainingRecipe, memoryLimit: Int? = nil, on compute: Compute,
    report: (PretrainingJob.Event) -> Bool
  ) throws {
    let (source, model, texts) = try inputs.open()
    let (configuration, scheme) = (source.configuration, model.scheme ?? QuantizationScheme())
    let options = PretrainingOptions(recipe, scheme, memoryLimit: memoryLimit)
    try Self.converter(inputs, scheme, to: inputs.model, on: compute).checkForRounded()
    try inputs.check(options, configuration)
    text = try DistillationText(
      inputs, texts, model.tokenizer, options, vocabulary: configuration.vocabularySize, on: compute, report: report)
    var identity = text.identity(configuration, [source.weights], options, compute)
    identity.options["start"] = model.digest.map { .string($0) }
    (self.inputs, self.options, self.compute, self.identity) = (inputs, options, compute, identity)
    (self.configuration, self.scheme, floats, start) = (configuration, scheme, source.weights, model.weights)
    checks = [source.check, model.check].compactMap(\.self)
  }

  /// Returns the output at `path`, which destroys none of the inputs.
  package static func output(_ path: String, of inputs: DistillationInputs) -> PretrainingJob.Output {
    PretrainingJob.Output(path, inputs: inputs.paths, mark: ModelFiles.mark)
  }

  /// As ``WeightTraining/training(of:)``.
  package static func training(of output: String) throws -> JSONValue? { try PretrainingJob.manifest(of: output)?["source"]?["training"] }

  /// Makes the trainer, whose model begins as the converted one.
  package mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (PretrainingJob.Event) -> Bool) throws -> Pretrainer {
    for check in checks { try check.wait() }
    let (text, validation) = try text.load(keptBeside: checkpoints, on: compute, report: report)
    guard let floats = floats.take() else { throw DibitError(.unexpected, "a training runs once") }
    let teacher = DistillationInputs.teacher(configuration, floats, on: compute)
    let isFixed = options.optimization.rounding?.codes == .fixed
    let trained = isFixed ? start : consume floats
    return try Pretrainer(
      onGrid: consume trained, of: configuration, text: text, validation: validation, options: options, from: isFixed ? nil : start,
      teacher: teacher, on: compute)
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
  private static func converter(_ inputs: DistillationInputs, _ scheme: QuantizationScheme, to output: String, on compute: Compute)
    -> Converter
  {
    var options = ConversionOptions()
    (options.scheme, options.tokenizer) = (scheme, inputs.model)
    return Converter(source: inputs.checkpoint, output: output, options: options, on: compute)
  }
}

extension Pretrainer {
  /// A trainer of weights that options round, or of the scales of weights that are rounded already.
  init(
    onGrid weights: consuming DecoderWeights, of configuration: ModelConfiguration, text: [Int32], validation: [Int32] = [],
    options: PretrainingOptions, from start: DecoderWeights? = nil, teacher: TeacherModel, on compute: Compute
  ) throws(TrainingError) {
    weights.updateEach { if !$0.weight.isPacked { $0.weight = $0.weight.floats(on: compute) } }
    // The scales of keys and values are set anew at the end.
    for layer in 0..<weights.layers { weights.keyValueScales[layer] = KeyValueScales() }
    try self.init(
      Decoder(configuration, weights: weights), text: text, validation: validation, options: options, from: start, teacher: teacher,
      on: compute)
  }
}

extension PretrainingOptions {
  /// Takes the settings of a training on the grids of a scheme, over its defaults.
  init(_ recipe: GridTrainingRecipe, _ scheme: QuantizationScheme, memoryLimit: Int? = nil) {
    let alone = recipe.trainsScalesAlone
    var training = recipe.training
    if !alone {
      // Large steps learn as much from a text as four times as many small ones, and round and move all weights a quarter as often.
      training.batchSize = training.batchSize ?? 16
      training.optimization.schedule = training.optimization.schedule ?? Schedule.Shape.linear.recipeName
    }
    self.init(training, learningRate: 6e-3, memoryLimit: memoryLimit)
    optimization.ratesAreInScales = true
    optimization.rounding = TrainedRounding(scheme, codes: alone ? .fixed : .floats, movesScales: true)
    optimization.scaleLearningRate = recipe.scaleLearningRate.map { Float($0) } ?? (alone ? 4e-3 : 5e-4)
    // Where weights stay, nothing else makes up for what scales and norms do: they bear more.
    optimization.normLearningRate = recipe.normLearningRate.map { Float($0) } ?? (alone ? 1e-3 : 5e-4)
    // Adam turns what the head says of tokens that the text hardly has, which is noise, into whole steps.
    optimization.embeddingLearningRate = recipe.embeddingLearningRate.map { Float($0) } ?? 2e-3
  }
}
