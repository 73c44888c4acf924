internal import ArgumentParser
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitRecipe
internal import DibitTensor
internal import DibitTokenizer
internal import DibitTraining

struct PretrainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pretrain",
    abstract: "Train a small float model from scratch on plain text.",
    discussion: """
      Example: dibit pretrain recipes/base/text.yaml --output ./base

      The recipe names the text, the model's shape and the training. The result is a float checkpoint for 'dibit convert'.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the model has the same bytes as without the stop. A run
      with a constant learning rate may then be made shorter or longer with --steps.
      """)

  @Argument(help: "The recipe, a YAML file.") var recipe: String
  @Option(name: .shortAndLong, help: "The checkpoint directory to create.") var output: String
  @Option(help: ArgumentHelp("Training steps, instead of the recipe's.", valueName: "n")) var steps: Int?
  @Flag(help: "Replace an existing model, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @OptionGroup var training: RunOptions
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    if let steps, steps < 1 { throw ValidationError("--steps: expected at least 1, found \(steps)") }
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try loadRecipe()
    let compute = try compute.makeCompute(for: recipe.optimization)
    var options = options(recipe)
    options.optimization.memoryLimit = try training.memoryLimitBytes()
    // An output that is in the way is told before the work, not after it.
    let inputs = JobInputs([self.recipe, recipe.initial]).adding(recipe.data + recipe.validationData)
    let replaced = overwrite ? FloatCheckpoint.mark : nil
    try training.checkOutputs(output, inputs)
    if !training.resume { _ = try StagedDirectory(destination: output, replacing: replaced, inputs: inputs).destination }
    // So is text that is missing.
    let data = try recipe.data.map { try TextFolder.open(path: $0) }
    let heldOut = try recipe.validationData.map { try TextFolder.open(path: $0) }
    var (configuration, tokenizer, weights) = try start(recipe, data, options, compute)
    let text = try encode(data, "tokenizing the text", tokenizer, recipe)
    let validation = try encode(heldOut, "tokenizing the held-out text", tokenizer, recipe)
    var identity = identity(configuration, weights, text, validation, options, compute)
    if recipe.embedding == .cooccurrence { identity.options["embedding"] = .string(recipe.embedding.rawValue) }
    if training.resume, try isDone(identity, inputs) { return }
    let directory = try StagedDirectory(destination: output, replacing: replaced, inputs: inputs)
    Terminal.write("\(counted(text.count, "training token")), \(grouped(validation.count)) held out\n")
    // The weights of a run that goes on are those of its checkpoint.
    if recipe.embedding == .cooccurrence, !training.resume {
      Terminal.write("counting what company the tokens keep\n")
      Pretrainer.setEmbedding(
        of: &weights, from: text, boundary: tokenizer.id(of: Self.endOfText), seed: options.optimization.seed, on: compute)
    }

    var trainer = try Pretrainer(
      Decoder(configuration, weights: consume weights), text: text, validation: validation, options: options, on: compute)
    let parameters = trainer.parameterCount
    let checkpoints = try CheckpointStore(
      output: output, inputs: inputs, identity: identity, interval: training.interval(recipe.optimization), resumes: training.resume,
      discards: overwrite)
    for name in checkpoints.skipped { Terminal.write("note: '\(name)' in '\(checkpoints.path)' is not whole; it was passed over\n") }
    try OpenedModels.finishChecks()
    var view = try RunView("pretraining", tensorboard: training.tensorboard, inputs: inputs)
    let result = try trainer.run(checkpoints: checkpoints) { event in
      view.show(event)
      return !Interrupt.isRequested
    }
    view.finish()
    guard !result.wasInterrupted else { throw training.interruption(result, checkpoints) }
    let summary: JSONValue = [
      "recipe": .string(self.recipe), "run_sha256": .string(identity.digest), "seed": .string(String(options.optimization.seed)),
      "end": .string(result.end.rawValue), "kept_step": .integer(result.keptStep), "steps": .integer(result.steps),
      "tokens": .integer(result.tokens), "training_loss": .number(Double(result.trainingLoss)),
      "validation_loss": result.validationLoss.map { .number(Double($0)) } ?? .null,
    ]
    try directory.write(checkpoints.eventLines(), to: StoreFile.eventLog)
    try directory.write(LossChart(result.curve, title: "Loss").svg, to: StoreFile.lossChart)
    var trained = trainer.finish().weights
    trained.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let checkpoint = FloatCheckpoint(
      json: configuration.json, configuration: configuration, weights: trained, dtype: .bf16, tokenizer: tokenizer)
    _ = try checkpoint.write(JSONObject([(key: "training", value: summary)]), into: directory, on: compute)
    try directory.commit()
    checkpoints.removeAll()
    Output.print(
      "\(counted(parameters, "parameter")), \(counted(result.steps, "step")), \(counted(result.tokens, "token"))\(view.summary(result))")
    Terminal.wrote(output)
  }

  /// The token between two documents.
  private static let endOfText = "<|endoftext|>"

  /// What the result depends on: the first weights, before the text says more of them, the tokens and the options.
  private func identity(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ text: [Int32], _ validation: [Int32], _ options: PretrainingOptions,
    _ compute: Compute
  ) -> RunIdentity {
    var model = SHA256()
    model.update(Array(configuration.json.serialized().utf8))
    for parameter in weights.parameters { model.update(parameter.weight.elements.bytes) }
    var data = SHA256()
    for tokens in [text, validation] {
      data.update(Array("\(tokens.count) tokens".utf8))
      for token in tokens { data.update((0..<4).map { UInt8(truncatingIfNeeded: token >> (8 * $0)) }) }
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

  /// Whether the output is that of this very run, which was stopped after its last step.
  private func isDone(_ identity: RunIdentity, _ inputs: JobInputs) throws -> Bool {
    let path = output + "/" + StoreFile.manifest
    guard isRegularFile(path), let manifest = try? JSONValue(parsing: readFile(path, limit: 1 << 24)),
      manifest["training"]?["run_sha256"]?.string == identity.digest
    else { return false }
    try CheckpointStore.remove(of: output, inputs: inputs)
    Output.print("'\(output)' is the finished model of this run")
    return true
  }

  private func loadRecipe() throws -> PretrainingRecipe {
    let text = String(decoding: try readFile(recipe, limit: 1 << 20), as: UTF8.self)
    var recipe = try PretrainingRecipe(yaml: text, file: recipe, settings: training.settings.set)
    recipe.steps = steps ?? recipe.steps
    return recipe
  }

  /// A new model and tokenizer, or those of the checkpoint that the recipe starts from.
  private func start(
    _ recipe: PretrainingRecipe, _ data: [TextFolder], _ options: PretrainingOptions, _ compute: Compute
  ) throws -> (ModelConfiguration, Tokenizer, DecoderWeights) {
    switch recipe.start {
    case .random(let shape):
      // A shape that cannot be is told before a tokenizer is trained for it.
      let configuration = try modelConfiguration(shape)
      try checkContext(configuration, options)
      Terminal.write("training a tokenizer of \(shape.vocabularySize) tokens\n")
      let tokenizer = try Tokenizer.training(
        on: data.lazy.joined().map(\.text), vocabularySize: shape.vocabularySize,
        specialTokens: [Self.endOfText, "<turn_start>", "<turn_end>", "<n>"])
      return (configuration, tokenizer, Pretrainer.initialWeights(configuration, seed: options.optimization.seed))
    case .checkpoint(let path):
      let model = try OpenedModels.open(path)
      guard model.scheme == nil, model.configuration.family == .afm7 else {
        throw Failure(.badData, "\(self.recipe): 'initial': expected a float afm7 checkpoint, found '\(path)'")
      }
      try checkContext(model.configuration, options)
      var weights = model.weights
      weights.updateEach { $0.weight = $0.weight.floats(on: compute) }
      // The scales of keys and values are set anew at the end.
      for layer in 0..<weights.layers { weights.keyValueScales[layer] = KeyValueScales() }
      return (model.configuration, model.tokenizer, weights)
    }
  }

  /// The tokens of all texts, with progress under a title; files without text are told.
  private func encode(_ folders: [TextFolder], _ title: String, _ tokenizer: Tokenizer, _ recipe: PretrainingRecipe) throws -> [Int32] {
    let total = folders.reduce(0) { $0 + $1.bytes }
    let end = tokenizer.id(of: Self.endOfText)
    var line = ProgressLine(title)
    defer { line.finish() }
    var (tokens, bytes): ([Int32], Int) = ([], 0)
    var findings: [String] = []
    for folder in folders {
      var reader = folder.makeIterator()
      while let piece = reader.next() {
        tokens += tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: recipe.parsesSpecialTokens)
        if piece.endsDocument, let end { tokens.append(end) }
        line.update(bytes + reader.bytesRead, of: total, size(bytes + reader.bytesRead))
        guard !Interrupt.isRequested else { throw Failure(.interrupted, "interrupted while the text was read; nothing was written") }
      }
      bytes += folder.bytes
      findings += reader.report.summary.map { "note: '\(folder.path)': \($0)\n" }
    }
    line.finish()
    for finding in findings { Terminal.write(finding) }
    return tokens
  }

  private func modelConfiguration(_ shape: PretrainingRecipe.Shape) throws -> ModelConfiguration {
    let json: JSONValue = [
      "model_type": "afm7", "vocab_size": .integer(shape.vocabularySize), "hidden_dim": .integer(shape.hiddenSize),
      "num_layers": .integer(shape.layers), "num_kv_reuse_layers": .integer(shape.reusingLayers), "num_heads": .integer(shape.heads),
      "num_kv_heads": .integer(shape.keyValueHeads), "hidden_dim_scale_factor": .number(shape.feedForwardFactor),
      "rope_theta": .number(shape.ropeTheta), "rms_norm_eps": 1e-5, "max_position_embeddings": .integer(shape.contextLength),
      "tie_word_embeddings": true,
    ]
    do throws(ModelError) { return try ModelConfiguration(json: json) } catch {
      guard case .invalidValue(let key, let expected, let found) = error else { throw Failure(.badData, "\(recipe): \(error)") }
      // The size of a head follows from two keys of the recipe; all others have a key of their name.
      let place = key == "head_dim" ? "'model.hidden_dim' over 'model.num_heads'" : "'model.\(key)'"
      throw Failure(.badData, "\(recipe): \(place): expected \(expected), found '\(found)'")
    }
  }

  /// Refuses sequences that are longer than any that the model may be used with.
  private func checkContext(_ configuration: ModelConfiguration, _ options: PretrainingOptions) throws {
    guard options.sequenceLength > configuration.contextLength else { return }
    throw Failure(
      .badData,
      "\(recipe): 'max_seq_length': expected at most \(configuration.contextLength), the model's 'max_position_embeddings', found "
        + "'\(options.sequenceLength)'")
  }

  private func options(_ recipe: PretrainingRecipe) -> PretrainingOptions {
    var options = PretrainingOptions()
    options.steps = recipe.steps
    options.batchSize = recipe.batchSize
    options.sequenceLength = recipe.sequenceLength
    options.validationInterval = recipe.validationInterval
    options.optimization.apply(recipe.optimization)
    options.optimization.embeddingLearningRate = recipe.embeddingLearningRate.map { Float($0) }
    options.optimization.rounding = recipe.quantization.map { grid in
      var scheme = QuantizationScheme()
      (scheme.bits, scheme.group, scheme.embeddingBits) = (grid.bits, grid.groupSize, grid.embeddingBits)
      return scheme
    }
    return options
  }
}
