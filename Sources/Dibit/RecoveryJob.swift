package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
package import DibitRecipe
package import DibitTraining

/// The training of an adapter that brings a converted model nearer to the float checkpoint that it was made from: its weights stay as they
/// are. ``PretrainingJob/Run`` trains.
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
  ///   - memoryLimit: The most bytes that the run may hold; nil for no limit.
  ///   - report: is told what happens, and stops by returning false.
  /// - Throws: ``DibitError``, of the kind `cancelled` where `report` stops it.
  package init(
    _ inputs: DistillationInputs, recipe: RecoveryRecipe, memoryLimit: Int? = nil, on compute: Compute,
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
    (self.inputs, self.options, self.adapter, self.compute, self.identity) = (inputs, options, adapter, compute, identity)
    (self.model, sourceConfiguration, floats) = (model, source.configuration, source.weights)
    checks = [source.check, model.check].compactMap(\.self)
  }

  /// Returns the output at `path`, which destroys none of the inputs.
  package static func output(_ path: String, of inputs: DistillationInputs) -> PretrainingJob.Output {
    PretrainingJob.Output(path, inputs: inputs.paths)
  }

  /// As ``WeightTraining/training(of:)``.
  package static func training(of output: String) throws -> JSONValue? { try StoredAdapter.readManifest(output)["training"] }

  /// Makes the trainer, whose adapter changes nothing yet.
  package mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (PretrainingJob.Event) -> Bool) throws -> Pretrainer {
    for check in checks { try check.wait() }
    let (text, validation) = try text.load(keptBeside: checkpoints, on: compute, report: report)
    guard let floats = floats.take() else { throw DibitError(.unexpected, "a training runs once") }
    return try Pretrainer(
      adapting: model.weights, of: model.configuration, adapter, text: text, validation: validation, options: options,
      teacher: DistillationInputs.teacher(sourceConfiguration, floats, on: compute), on: compute)
  }

  /// Writes the adapter into `directory`.
  package consuming func write(
    _ trainer: consuming Pretrainer, _ result: TrainingResult, _ checkpoints: CheckpointStore, into directory: consuming StagedDirectory
  ) throws {
    var facts = AdapterFacts(
      manifest: JSONObject([
        (key: "recovers", value: .string(inputs.checkpoint)),
        (
          key: "training",
          value: [
            "run_sha256": .string(identity.digest), "seed": .string(String(options.optimization.seed)), "end": .string(result.end.rawValue),
            "kept_step": .integer(result.keptStep), "steps": .integer(result.steps), "tokens": .integer(result.tokens),
            "training_divergence": .number(Double(result.trainingLoss)),
            "validation_divergence": result.validationLoss.map { .number(Double($0)) } ?? .null,
          ]
        ),
      ]))
    facts.card = try AdapterCard(base: model, facts: facts).text
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(LossChart(result.curve, title: "Divergence from the float model").svg, to: StoreFile.lossChart)
    try StoredAdapter.write(trainer.trainedAdapter(), base: model, facts: facts, into: directory)
    try directory.commit()
    checkpoints.removeAll()
  }
}
