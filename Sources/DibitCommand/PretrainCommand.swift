internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTensor
internal import DibitTokenizer
internal import DibitTraining

struct PretrainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pretrain",
    abstract: "Train a small float model from scratch on plain text.",
    discussion: """
      Example: dibit pretrain recipes/base/tiny.yaml --output ./base

      The recipe names the text, the model's shape and the training. The result is a float checkpoint for 'dibit convert'.
      Ctrl-C ends the training early and keeps the model as it is then.
      """)

  @Argument(help: "The recipe, a YAML file.") var recipe: String
  @Option(name: .shortAndLong, help: "The checkpoint directory to create.") var output: String
  @Option(help: ArgumentHelp("Training steps, instead of the recipe's.", valueName: "n")) var steps: Int?
  @Flag(help: "Replace an existing checkpoint.") var overwrite = false
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    if let steps, steps < 1 { throw ValidationError("--steps: expected at least 1, found \(steps)") }
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try loadRecipe()
    let compute = try compute.makeCompute()
    let directory = try StagedDirectory(destination: output, overwrite: overwrite)
    let (configuration, tokenizer, weights) = try start(recipe, compute)
    let text = try encode(recipe.data, tokenizer, recipe)
    let validation = try recipe.validationData.map { try encode($0, tokenizer, recipe) } ?? []
    Terminal.write("\(text.count) training tokens, \(validation.count) held out\n")

    var decoder = Decoder(configuration, weights: weights)
    let parameters = decoder.weights.elementCount
    var trainer = try Pretrainer(decoder, text: text, validation: validation, options: options(recipe), on: compute)
    var line = ProgressLine("pretraining")
    var seconds = 0.0
    let result = try trainer.run(&decoder) { event in
      seconds = line.elapsed
      switch event {
      case .step(let step, let total, let loss, _, _, let tokens):
        line.update(
          step, of: total, "step \(step)/\(total)  loss \(decimal(Double(loss), 3))  \(Int(Double(tokens) / max(seconds, 1e-9))) tokens/s")
      case .validation(let step, let loss, _): line.note("step \(step): held-out loss \(decimal(Double(loss), 4)) nats/token")
      }
      return !Interrupt.isRequested
    }
    line.finish()
    let training: JSONValue = [
      "recipe": .string(self.recipe), "seed": .integer(recipe.seed), "steps": .integer(result.steps), "tokens": .integer(result.tokens),
      "training_loss": .number(Double(result.trainingLoss)), "validation_loss": result.validationLoss.map { .number(Double($0)) } ?? .null,
    ]
    let checkpoint = FloatCheckpoint(
      json: configuration.json, configuration: configuration, weights: decoder.weights, dtype: .bf16, tokenizer: tokenizer)
    _ = try checkpoint.write(JSONObject([(key: "training", value: training)]), into: directory, on: compute)
    try directory.commit()
    print("\(parameters) parameters, \(result.steps) steps, \(result.tokens) tokens in \(duration(seconds))")
    print("wrote \(output)")
    if result.wasInterrupted {
      throw Failure(.interrupted, "interrupted after step \(result.steps) of \(result.totalSteps): '\(output)' holds that state")
    }
  }

  private func loadRecipe() throws -> PretrainingRecipe {
    let text = String(decoding: try readFile(recipe, limit: 1 << 20), as: UTF8.self)
    var recipe = try PretrainingRecipe(yaml: text, file: recipe)
    recipe.steps = steps ?? recipe.steps
    return recipe
  }

  /// A new model and tokenizer, or those of the checkpoint that the recipe starts from.
  private func start(_ recipe: PretrainingRecipe, _ compute: Compute) throws -> (ModelConfiguration, Tokenizer, DecoderWeights) {
    switch recipe.start {
    case .random(let shape):
      let texts = try TextFolder.open(path: recipe.data).lazy.map(\.text)
      let tokenizer = try Tokenizer.training(
        on: texts, vocabularySize: shape.vocabularySize, specialTokens: ["<|endoftext|>", "<turn_start>", "<turn_end>", "<n>"])
      let configuration = try modelConfiguration(shape)
      return (configuration, tokenizer, Pretrainer.initialWeights(configuration, seed: UInt64(recipe.seed)))
    case .checkpoint(let path):
      let model = try StoredModel.open(path)
      guard model.scheme == nil, model.configuration.family == .afm7 else {
        throw Failure(.badData, "\(self.recipe): 'initial': expected a float afm7 checkpoint, found '\(path)'")
      }
      var weights = model.weights
      weights.updateEach { $0.weight = $0.weight.floats(on: compute) }
      // The scales of keys and values are set anew at the end.
      for layer in weights.blocks.indices { (weights.blocks[layer].keyScale, weights.blocks[layer].valueScale) = (nil, nil) }
      return (model.configuration, model.tokenizer, weights)
    }
  }

  private func encode(_ path: String, _ tokenizer: Tokenizer, _ recipe: PretrainingRecipe) throws -> [Int32] {
    var tokens: [Int32] = []
    let end = tokenizer.id(of: "<|endoftext|>")
    for piece in try TextFolder.open(path: path) {
      tokens += tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: recipe.parsesSpecialTokens)
      if piece.endsDocument, let end { tokens.append(end) }
    }
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
    do { return try ModelConfiguration(json: json) } catch { throw Failure(.badData, "\(recipe): \(error)") }
  }

  private func options(_ recipe: PretrainingRecipe) -> PretrainingOptions {
    var options = PretrainingOptions()
    options.steps = recipe.steps
    options.batchSize = recipe.batchSize
    options.sequenceLength = recipe.sequenceLength
    options.learningRate = Float(recipe.learningRate)
    options.warmUp = Float(recipe.warmUp)
    options.optimizer.weightDecay = Float(recipe.weightDecay)
    options.validationInterval = recipe.validationInterval
    options.seed = UInt64(recipe.seed)
    return options
  }
}
