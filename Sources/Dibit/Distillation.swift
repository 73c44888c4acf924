internal import DibitCheckpoint
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

/// The inputs of a training in which a converted model learns to predict what its float checkpoint predicts.
package struct DistillationInputs: Equatable, Sendable {
  /// The float checkpoint.
  package var checkpoint: String
  /// The converted model.
  package var model: String
  /// Folders or files of plain text, and files of conversations.
  package var texts: [String]
  /// Tokens of text that the float model writes; nil for as many as the steps read, up to a million, where no other text is given.
  package var ownTokens: Int?

  /// The tokens that a user may ask the float model for.
  static let ownTokenCounts = 0...1_000_000_000

  /// The inputs at these paths.
  package init(checkpoint: String, model: String, texts: [String], ownTokens: Int? = nil) {
    (self.checkpoint, self.model, self.texts, self.ownTokens) = (checkpoint, model, texts, ownTokens)
  }

  /// The paths, none of which an output may destroy.
  var paths: JobInputs { JobInputs([checkpoint, model] + texts) }

  /// Opens the texts and both models, which must have the same shapes and tokens, the one floats and the other on a grid.
  func open() throws -> (source: StoredModel, model: StoredModel, texts: [GivenText]) {
    let texts = try texts.flatMap(GivenText.open)
    let source = try StoredModel.open(checkpoint)
    guard source.scheme == nil else {
      throw DibitError(.invalidData, "'\(checkpoint)': expected the float checkpoint, found a converted model")
    }
    let model = try StoredModel.openConverted(self.model)
    guard let scheme = model.scheme, scheme.isQuantized else {
      throw DibitError(.invalidData, "'\(self.model)': expected a model on a grid, found one of floats")
    }
    guard scheme.recovery == nil else {
      throw DibitError(
        .invalidData,
        "'\(self.model)': expected a model without a recovery, found one of rank \(model.configuration.recoveryRank); name the model that it was made from"
      )
    }
    try check(source.weights, model.weights)
    try source.checkTokenizer(against: model, as: "a teacher")
    return (source, model, texts)
  }

  /// Refuses a model that was not converted from the checkpoint, as far as shapes tell.
  private func check(_ source: DecoderWeights, _ model: DecoderWeights) throws(DibitError) {
    func refuse(_ what: String) -> DibitError {
      DibitError(.invalidData, "'\(self.model)': expected a model converted from '\(checkpoint)', found one with \(what)")
    }
    guard source.count == model.count else { throw refuse("other layers") }
    for (mine, theirs) in zip(source.parameters, model.parameters) {
      guard mine.name.tensor == theirs.name.tensor, mine.weight.rows == theirs.weight.rows, mine.weight.columns == theirs.weight.columns
      else { throw refuse("'\(theirs.name.tensor)' of the shape \(theirs.weight.shape), not \(mine.weight.shape)") }
    }
  }

  /// Refuses sequences that are longer than the float model reads.
  func check(_ options: PretrainingOptions, _ configuration: ModelConfiguration) throws(DibitError) {
    guard options.sequenceLength >= configuration.contextLength else { return }
    throw DibitError(
      .invalidData,
      "'max_seq_length': expected less than \(configuration.contextLength), the context of '\(checkpoint)', found \(options.sequenceLength)"
    )
  }

  /// The float model as a teacher: in BF16 where its products are computed so.
  static func teacher(_ configuration: ModelConfiguration, _ weights: DecoderWeights, on compute: Compute) -> TeacherModel {
    var weights = weights
    if compute.floats == .bfloat16 { weights.updateEach { if $0.isMatrix { $0.weight = $0.weight.roundedToBFloat() } } }
    return TeacherModel(configuration, weights: weights)
  }
}

/// The text of such a training: a user's, and what the float model writes, with a part that is held out.
struct DistillationText {
  private let read: [Int32]
  private let writer: CalibrationText
  private let writerIdentity: String
  private let vocabulary: Int
  /// Tokens of a window.
  private let window: Int

  /// Windows that are held out, of at least as many times `textPerWindow`.
  private static let (validationWindows, textPerWindow) = (32, 20)
  /// The most tokens that the float model writes without being asked for more.
  private static let mostOwnTokens = 1_000_000
  /// Tokens of the pieces in which a part of a long text is taken.
  private static let piece = 4_096
  /// The readings of a text that are worth nearly as much as other text (Muennighoff et al., "Scaling data-constrained language models", 2023).
  private static let readings = 4

  /// Reads the texts of `inputs`, for a model with this tokenizer.
  init(
    _ inputs: DistillationInputs, _ texts: [GivenText], _ tokenizer: Tokenizer, _ options: PretrainingOptions, vocabulary: Int,
    on compute: Compute, report: (PretrainingJob.Event) -> Bool
  ) throws {
    let text = try Self.encode(texts, inputs.model, tokenizer, report)
    window = options.sequenceLength + 1
    let product = options.steps.multipliedReportingOverflow(by: options.batchSize * window)
    let all = product.overflow ? .max : product.partialValue
    let own = inputs.ownTokens ?? (inputs.texts.isEmpty ? min(Self.mostOwnTokens, all) : 0)
    writer = try CalibrationText(for: inputs.checkpoint, tokenizer: inputs.model, atLeast: own)
    // Windows are drawn from all of it: own text that was asked for would drown in a text much longer than the steps read.
    read = own > 0 ? Self.spread(text, to: max(all - own, own)) : text
    writerIdentity = own > 0 ? try writer.identity(on: compute).serialized() : ""
    self.vocabulary = vocabulary
    try CalibrationText.checkLength(count, of: inputs.texts, to: "train on")
    let (steps, asked) = (counted(options.steps, "step"), (optionName("data"), optionName("ownText"), optionName("steps")))
    guard all / Self.readings > count else { return }
    _ = report(
      .finding(
        "\(steps) read \(grouped(count)) tokens of text about \(grouped(all / count)) times, and learn them by heart: give more \(asked.0) or \(asked.1), or fewer \(asked.2)"
      ))
  }

  /// The tokens of plain text, and behind them those of conversations.
  private static func encode(
    _ texts: [GivenText], _ model: String, _ tokenizer: Tokenizer, _ report: (PretrainingJob.Event) -> Bool
  ) throws -> [Int32] {
    let folders = texts.compactMap { if case .plain(let folder) = $0 { folder } else { nil } }
    var tokens: [Int32] = []
    if !folders.isEmpty { tokens = try PretrainingJob.encode(folders, isHeldOut: false, tokenizer, parsesSpecialTokens: false, report) }
    for case .conversations(let conversations, let findings) in texts {
      tokens += try GivenText.tokens(of: conversations, for: model, tokenizer)
      for finding in findings { _ = report(.finding(finding)) }
    }
    return tokens
  }

  /// Tokens that are trained on.
  var trainingTokens: Int { count - heldOutTokens }
  /// Tokens that are held out.
  var heldOutTokens: Int { Self.heldOutWindows(of: count, window: window) * window }

  private var count: Int { read.count + ownTokens }
  private var ownTokens: Int { writer.count * writer.length }

  /// The identity of a run on this text.
  func identity(
    _ configuration: ModelConfiguration, _ weights: [DecoderWeights], _ options: PretrainingOptions, _ compute: Compute
  ) -> RunIdentity {
    var identity = PretrainingJob.identity(configuration, weights, read, [], options, compute)
    if writer.count > 0 { identity.options["own_text"] = .integer(writer.count) }
    return identity
  }

  /// All of it. What the float model writes is kept beside `checkpoints`, so that it is not written again when the run goes on.
  func load(keptBeside checkpoints: CheckpointStore, on compute: Compute, report: (PretrainingJob.Event) -> Bool) throws -> (
    training: [Int32], heldOut: [Int32]
  ) {
    Self.split(try read + write(keptBeside: checkpoints, on: compute, report: report), window: window)
  }

  private func write(keptBeside checkpoints: CheckpointStore, on compute: Compute, report: (PretrainingJob.Event) -> Bool) throws -> [Int32]
  {
    guard ownTokens > 0 else { return [] }
    let store = checkpoints.text(identity: writerIdentity, vocabulary: vocabulary)
    guard let kept = try store.windows() else {
      throw DibitError(
        .invalidData,
        "'\(checkpoints.path)' holds text of another model: train as before to go on, or pass \(optionName("overwrite")) to begin anew")
    }
    let windows = try writer.write(
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
    _ = report(.writing(tokens: ownTokens, total: ownTokens))
    return windows.flatMap { $0 }
  }

  /// About `count` tokens of a text that has more, in pieces spread over all of it.
  private static func spread(_ tokens: [Int32], to count: Int) -> [Int32] {
    guard tokens.count > count else { return tokens }
    let pieces = (count + piece - 1) / piece
    return (0..<pieces).flatMap { index in
      let start = index * tokens.count / pieces
      return tokens[start..<start + count / pieces]
    }
  }

  /// The windows of a text that are held out; none of a text that is short.
  private static func heldOutWindows(of count: Int, window: Int) -> Int {
    count / validationWindows >= textPerWindow * window ? validationWindows : 0
  }

  /// Cuts windows out of a text, spread over all of it, to hold them out.
  private static func split(_ tokens: [Int32], window: Int) -> (training: [Int32], heldOut: [Int32]) {
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
  /// Takes the settings of a training towards a float model, whose peak learning rate without any is `learningRate`.
  init(_ recipe: WindowTrainingRecipe, learningRate: Float, memoryLimit: Int?) {
    self.init()
    batchSize = recipe.batchSize ?? 4
    sequenceLength = recipe.sequenceLength ?? 255
    // A million tokens, and a look at the held-out text for each tenth of them.
    let tokens = batchSize * (sequenceLength + 1)
    steps = recipe.steps ?? max(1, 1_024_000 / tokens)
    validationInterval = recipe.validationInterval ?? max(1, 102_400 / tokens)
    optimization.learningRate = learningRate
    optimization.optimizer.weightDecay = 0
    optimization.warmUp = .share(0.03)
    optimization.microBatchTokens = 512
    optimization.apply(recipe.optimization)
    optimization.finalLearningRate = recipe.optimization.finalLearningRate.map { Float($0) } ?? optimization.learningRate / 20
    optimization.memoryLimit = memoryLimit
  }
}
