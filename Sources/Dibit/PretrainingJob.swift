internal import DibitCheckpoint
internal import DibitDataset
package import DibitFiles
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
package import DibitRecipe
internal import DibitTensor
internal import DibitTokenizer
package import DibitTraining

/// The training of a whole model on plain text, as a recipe says: a new model and tokenizer, or those of a checkpoint, and the text in tokens.
/// ``Run`` trains.
package struct PretrainingJob: ~Copyable, WeightTraining {
  /// An event before the first step.
  package enum Event: Sendable {
    /// A tokenizer of so many tokens is trained.
    case tokenizer(Int)
    /// Text is tokenized: bytes that were read, of all; `isOver` once for each kind of text.
    case reading(heldOut: Bool, bytes: Int, total: Int, isOver: Bool)
    /// The float model writes text: tokens that are written, of all.
    case writing(tokens: Int, total: Int)
    /// Something that was noticed in a folder of text.
    case finding(String)
    /// Rows of the embedding are made of what tokens occur together.
    case cooccurrence
  }

  /// The identity of the run: all that the bytes of the model depend on.
  package let identity: RunIdentity
  /// Training tokens.
  package var textTokens: Int { text.count }
  /// Tokens that are held out.
  package var validationTokens: Int { validation.count }
  private let recipe: PretrainingRecipe
  private let file: String
  private let options: PretrainingOptions
  private let compute: Compute
  private let configuration: ModelConfiguration
  private let tokenizer: Tokenizer
  /// Until they are trained: then the trainer alone holds them.
  private var weights: DecoderWeights?
  /// Of the checkpoint that the recipe starts from: nothing is learnt from damaged weights.
  private let check: WeightsCheck?
  private let text: [Int32]
  private let validation: [Int32]

  /// The token between two documents.
  static let endOfText = "<|endoftext|>"

  /// Opens or makes model and tokenizer and reads the text.
  ///
  /// - Parameters:
  ///   - recipe: What to train, read from `file`.
  ///   - memoryLimit: The most bytes that the run may hold; nil for no limit.
  ///   - report: is told what happens, and stops by returning false.
  /// - Throws: ``DibitError``, of the kind `cancelled` where `report` stops it.
  package init(
    _ recipe: PretrainingRecipe, from file: String, memoryLimit: Int? = nil, on compute: Compute, report: (Event) -> Bool
  ) throws {
    var options = PretrainingOptions(recipe)
    options.optimization.memoryLimit = memoryLimit
    // Text that is missing is told before the work, not after it.
    let data = try recipe.data.map { try TextFolder.open(path: $0) }
    let heldOut = try recipe.validationData.map { try TextFolder.open(path: $0) }
    let (configuration, tokenizer, weights, check) = try Self.start(recipe, file, data, options, compute, report)
    let parses = recipe.parsesSpecialTokens
    let text = try Self.encode(data, isHeldOut: false, tokenizer, parsesSpecialTokens: parses, report)
    let validation = try Self.encode(heldOut, isHeldOut: true, tokenizer, parsesSpecialTokens: parses, report)
    var identity = Self.identity(configuration, [weights], text, validation, options, compute)
    if recipe.embedding == .cooccurrence { identity.options["embedding"] = .string(recipe.embedding.rawValue) }
    (self.recipe, self.file, self.options, self.compute, self.identity) = (recipe, file, options, compute, identity)
    (self.configuration, self.tokenizer, self.weights, self.check) = (configuration, tokenizer, weights, check)
    (self.text, self.validation) = (text, validation)
  }

  /// The directory where a run writes, and the point from which it begins.
  package typealias Output = AdapterTrainingJob.Output

  /// Returns the output at `path` of a recipe that lies at `file`, which destroys none of its inputs.
  package static func output(_ path: String, of recipe: PretrainingRecipe, from file: String) -> Output {
    Output(path, inputs: JobInputs([file, recipe.initial]).adding(recipe.data + recipe.validationData), mark: FloatCheckpoint.mark)
  }

  /// As ``WeightTraining/training(of:)``.
  package static func training(of output: String) throws -> JSONValue? { try manifest(of: output)?["training"] }

  /// Reads the manifest of a trained model; nil where there is none.
  static func manifest(of path: String) throws -> JSONValue? {
    let file = path + "/" + StoreFile.manifest
    return isRegularFile(file) ? try JSONValue(parsing: readFile(file, limit: 1 << 24)) : nil
  }

  /// Makes the trainer.
  package mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (Event) -> Bool) throws -> Pretrainer {
    try check?.wait()
    guard var weights = weights.take() else { throw DibitError(.unexpected, "a pretraining runs once") }
    // The weights of a run that goes on are those of its checkpoint.
    if recipe.embedding == .cooccurrence, checkpoints.newestStep == nil {
      _ = report(.cooccurrence)
      Pretrainer.setEmbedding(
        of: &weights, from: text, boundary: tokenizer.id(of: Self.endOfText), seed: options.optimization.seed, on: compute)
    }
    return try Pretrainer(
      Decoder(configuration, weights: consume weights), text: text, validation: validation, options: options, on: compute)
  }

  /// Writes the model of a run that came to its end into `directory`.
  package consuming func write(
    _ trainer: consuming Pretrainer, _ result: TrainingResult, _ checkpoints: CheckpointStore, into directory: consuming StagedDirectory
  ) throws {
    let summary: JSONValue = [
      "recipe": .string(file), "run_sha256": .string(identity.digest), "seed": .string(String(options.optimization.seed)),
      "end": .string(result.end.rawValue), "kept_step": .integer(result.keptStep), "steps": .integer(result.steps),
      "tokens": .integer(result.tokens), "training_loss": .number(Double(result.trainingLoss)),
      "validation_loss": result.validationLoss.map { .number(Double($0)) } ?? .null,
    ]
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(LossChart(result.curve, title: "Loss").svg, to: StoreFile.lossChart)
    var trained = trainer.trainedDecoder().weights
    trained.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let checkpoint = FloatCheckpoint(
      json: configuration.json, configuration: configuration, weights: trained, dtype: .bf16, tokenizer: tokenizer)
    _ = try checkpoint.write(JSONObject([(key: "training", value: summary)]), into: directory, on: compute)
    try directory.commit()
    checkpoints.removeAll()
  }

  /// Returns the identity that the result depends on: the first weights, before the text says more of them, the tokens and the options.
  static func identity(
    _ configuration: ModelConfiguration, _ weights: [DecoderWeights], _ text: [Int32], _ validation: [Int32], _ options: PretrainingOptions,
    _ compute: Compute
  ) -> RunIdentity {
    var model = SHA256()
    model.update(Array(configuration.json.serialized().utf8))
    for weights in weights { for parameter in weights.parameters { model.update(parameter.weight.elements.bytes) } }
    var data = SHA256()
    for tokens in [text, validation] {
      data.update(Array("\(tokens.count) tokens".utf8))
      data.update(tokens)
    }
    let own: [(key: String, value: JSONValue)] = [
      ("steps", .integer(options.steps)), ("batch_size", .integer(options.batchSize)),
      ("max_seq_length", .integer(options.sequenceLength)), ("validation_interval", .integer(options.validationInterval)),
      ("compute_dtype", .string(compute.gradients.recipeName)),
    ]
    return RunIdentity(
      model: model.finalize(), data: data.finalize(), options: JSONObject(own + options.optimization.members),
      lengths: options.optimization.dependsOnLength ? [] : ["steps"])
  }

  /// A new model and tokenizer, or those of the checkpoint that the recipe starts from.
  private static func start(
    _ recipe: PretrainingRecipe, _ file: String, _ data: [TextFolder], _ options: PretrainingOptions, _ compute: Compute,
    _ report: (Event) -> Bool
  ) throws -> (ModelConfiguration, Tokenizer, DecoderWeights, WeightsCheck?) {
    switch recipe.start {
    case .random(let shape):
      // A shape that cannot be is told before a tokenizer is trained for it.
      let configuration = try modelConfiguration(shape, file)
      try checkContext(configuration, options, file)
      _ = report(.tokenizer(shape.vocabularySize))
      let tokenizer = try Tokenizer.training(
        on: data.lazy.joined().map(\.text), vocabularySize: shape.vocabularySize,
        specialTokens: [Self.endOfText, "<turn_start>", "<turn_end>", "<n>"])
      return (configuration, tokenizer, Pretrainer.initialWeights(configuration, seed: options.optimization.seed), nil)
    case .checkpoint(let path):
      let model = try StoredModel.open(path)
      guard model.scheme == nil, model.configuration.family == .afm7 else {
        throw DibitError(.invalidData, "\(file): 'initial': expected a float afm7 checkpoint, found '\(path)'")
      }
      try checkContext(model.configuration, options, file)
      var weights = model.weights
      weights.updateEach { $0.weight = $0.weight.floats(on: compute) }
      // The scales of keys and values are set anew at the end.
      for layer in 0..<weights.layers { weights.keyValueScales[layer] = KeyValueScales() }
      return (model.configuration, model.tokenizer, weights, model.check)
    }
  }

  /// The tokens of all texts; what was noticed is told when all are read.
  static func encode(
    _ folders: [TextFolder], isHeldOut: Bool, _ tokenizer: Tokenizer, parsesSpecialTokens: Bool, _ report: (Event) -> Bool
  ) throws -> [Int32] {
    let total = folders.reduce(0) { $0 + $1.bytes }
    let end = tokenizer.id(of: endOfText)
    var (tokens, bytes): ([Int32], Int) = ([], 0)
    var findings: [String] = []
    for folder in folders {
      var reader = folder.makeIterator()
      while let piece = reader.next() {
        tokens += tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: parsesSpecialTokens)
        if piece.endsDocument, let end { tokens.append(end) }
        guard report(.reading(heldOut: isHeldOut, bytes: bytes + reader.bytesRead, total: total, isOver: false)) else {
          throw DibitError(.cancelled, "interrupted while the text was read; nothing was written")
        }
      }
      bytes += folder.bytes
      findings += reader.report.summary.map { "'\(folder.path)': \($0)" }
    }
    _ = report(.reading(heldOut: isHeldOut, bytes: total, total: total, isOver: true))
    for finding in findings { _ = report(.finding(finding)) }
    return tokens
  }

  private static func modelConfiguration(_ shape: PretrainingRecipe.Shape, _ file: String) throws -> ModelConfiguration {
    let json: JSONValue = [
      "model_type": "afm7", "vocab_size": .integer(shape.vocabularySize), "hidden_dim": .integer(shape.hiddenSize),
      "num_layers": .integer(shape.layers), "num_kv_reuse_layers": .integer(shape.reusingLayers), "num_heads": .integer(shape.heads),
      "num_kv_heads": .integer(shape.keyValueHeads), "hidden_dim_scale_factor": .number(shape.feedForwardFactor),
      "rope_theta": .number(shape.ropeTheta), "rms_norm_eps": 1e-5, "max_position_embeddings": .integer(shape.contextLength),
      "tie_word_embeddings": true,
    ]
    do throws(ModelError) { return try ModelConfiguration(json: json) } catch {
      guard case .invalidValue(let key, let expected, let found) = error else { throw DibitError(.invalidData, "\(file): \(error)") }
      // The size of a head follows from two keys of the recipe; all others have a key of their name.
      let setting = key == "head_dim" ? "'model.hidden_dim' over 'model.num_heads'" : "'model.\(key)'"
      throw DibitError(.invalidData, "\(file): \(setting): expected \(expected), found '\(found)'")
    }
  }

  /// Refuses sequences that are longer than any that the model may be used with.
  private static func checkContext(_ configuration: ModelConfiguration, _ options: PretrainingOptions, _ file: String) throws {
    guard options.sequenceLength > configuration.contextLength else { return }
    throw DibitError(
      .invalidData,
      "\(file): 'max_seq_length': expected at most \(configuration.contextLength), the model's 'max_position_embeddings', found "
        + "'\(options.sequenceLength)'")
  }
}

extension PretrainingOptions {
  /// Takes the settings of a recipe, over the defaults.
  init(_ recipe: PretrainingRecipe) {
    self.init()
    (steps, batchSize) = (recipe.steps, recipe.batchSize)
    (sequenceLength, validationInterval) = (recipe.sequenceLength, recipe.validationInterval)
    optimization.apply(recipe.optimization)
    optimization.embeddingLearningRate = recipe.embeddingLearningRate.map { Float($0) }
    optimization.rounding = recipe.quantization.map { grid in
      var scheme = QuantizationScheme()
      (scheme.bits, scheme.group, scheme.embeddingBits) = (grid.bits, grid.groupSize, grid.embeddingBits)
      return TrainedRounding(scheme)
    }
  }
}
