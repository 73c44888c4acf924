package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitConversion
internal import DibitModelStore
internal import DibitQuantization
package import DibitRecipe
package import DibitTraining

/// The training of an adapter that brings a converted model nearer to the float checkpoint that it was made from: its weights stay as they
/// are. ``PretrainingJob/Run`` trains. What comes of it is the model with the adapter inside, or the adapter.
package struct RecoveryJob: ~Copyable, WeightTraining {
  /// As ``WeightTraining/identity``.
  package let identity: RunIdentity
  /// Training tokens.
  package var textTokens: Int { text.trainingTokens }
  /// Tokens that are held out.
  package var validationTokens: Int { text.heldOutTokens }
  private let inputs: DistillationInputs
  private let options: PretrainingOptions
  private let adapter: AdapterConfiguration
  /// The form of the adapter inside of the model; nil for an adapter of its own.
  private let recovery: QuantizationScheme.Recovery?
  private let compute: Compute
  private let model: StoredModel
  private let sourceConfiguration: ModelConfiguration
  /// Of the checkpoint, until the teacher has them.
  private var floats: DecoderWeights?
  private let checks: [WeightsCheck]
  private let text: DistillationText

  /// Opens both models and reads the text.
  ///
  /// - Parameters:
  ///   - bits: Bits of the adapter's matrices inside of the model; nil for an adapter of its own.
  ///   - memoryLimit: The most bytes that the run may hold; nil for no limit.
  ///   - report: is told what happens, and stops by returning false.
  /// - Throws: ``DibitError``, of the kind `cancelled` where `report` stops it.
  package init(
    _ inputs: DistillationInputs, recipe: RecoveryRecipe, bits: Int?, memoryLimit: Int? = nil, on compute: Compute,
    report: (PretrainingJob.Event) -> Bool
  ) throws {
    let (source, model, texts) = try inputs.open()
    let options = PretrainingOptions(recipe.training, learningRate: 5e-4, memoryLimit: memoryLimit)
    try inputs.check(options, source.configuration)
    var adapter = AdapterConfiguration()
    adapter.rank = recipe.rank ?? 16
    adapter.alpha = recipe.alpha.map { Float($0) } ?? Float(adapter.rank)
    text = try DistillationText(
      inputs, texts, model.tokenizer, options, vocabulary: source.configuration.vocabularySize, on: compute, report: report)
    var identity = text.identity(source.configuration, [source.weights], options, compute)
    identity.options["start"] = model.digest.map { .string($0) }
    identity.options["rank"] = .integer(adapter.rank)
    identity.options["alpha"] = .number(Double(adapter.alpha))
    if let bits { identity.options["bits"] = .integer(bits) }
    recovery = bits.flatMap { QuantizationScheme.Recovery(rank: adapter.rank, bits: $0) }
    (self.inputs, self.options, self.adapter, self.compute, self.identity) = (inputs, options, adapter, compute, identity)
    (self.model, sourceConfiguration, floats) = (model, source.configuration, source.weights)
    checks = [source.check, model.check].compactMap(\.self)
  }

  /// Returns the output at `path`, which destroys none of the inputs.
  ///
  /// - Parameter bits: As those of the job.
  package static func output(_ path: String, of inputs: DistillationInputs, bits: Int?) -> PretrainingJob.Output {
    PretrainingJob.Output(path, inputs: inputs.paths, mark: bits == nil ? StoredAdapter.mark : ModelFiles.mark)
  }

  /// As ``WeightTraining/training(of:)``.
  package static func training(of output: String) throws -> JSONValue? {
    let manifest = try PretrainingJob.manifest(of: output)
    return manifest?["training"] ?? manifest?["source"]?["training"]
  }

  /// Makes the trainer, whose adapter changes nothing yet.
  package mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (PretrainingJob.Event) -> Bool) throws -> Pretrainer {
    for check in checks { try check.wait() }
    let (text, validation) = try text.load(keptBeside: checkpoints, on: compute, report: report)
    guard let floats = floats.take() else { throw DibitError(.unexpected, "a training runs once") }
    return try Pretrainer(
      adapting: model.weights, of: model.configuration, adapter, text: text, validation: validation, options: options,
      teacher: DistillationInputs.teacher(sourceConfiguration, floats, on: compute), on: compute)
  }

  /// Writes the model, or the adapter, into `directory`.
  package consuming func write(
    _ trainer: consuming Pretrainer, _ result: TrainingResult, _ checkpoints: CheckpointStore, into directory: consuming StagedDirectory
  ) throws {
    let training: JSONValue = [
      "method": "recover", "run_sha256": .string(identity.digest), "seed": .string(String(options.optimization.seed)),
      "end": .string(result.end.rawValue), "kept_step": .integer(result.keptStep), "steps": .integer(result.steps),
      "tokens": .integer(result.tokens), "training_divergence": .number(Double(result.trainingLoss)),
      "validation_divergence": result.validationLoss.map { .number(Double($0)) } ?? .null,
    ]
    let manifest = JSONObject([(key: "recovers", value: .string(inputs.checkpoint)), (key: "training", value: training)])
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(LossChart(result.curve, title: "Divergence from the float model").svg, to: StoreFile.lossChart)
    if let recovery {
      try RecoveredModel(model, recovery, on: compute).write(trainer.trainedAdapter(), facts: manifest, into: directory)
    } else {
      var facts = AdapterFacts(manifest: manifest)
      facts.card = try AdapterCard(base: model, facts: facts).text
      try StoredAdapter.write(trainer.trainedAdapter(), base: model, facts: facts, into: directory)
      try directory.commit()
    }
    checkpoints.removeAll()
  }
}
