internal import DibitFailure
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The one loop over training steps, for adapters and for whole models: what is trained and where its sequences come from are given.
///
/// A step is: the gradients of its batches, the optimiser, perhaps a look at the validation data, perhaps a checkpoint. All that decides
/// how it goes on is in ``TrainedParameters`` and ``RunState``, and both are in a checkpoint.
struct TrainingLoop<Source: StepSource>: ~Copyable {
  let options: OptimizationOptions
  let schedule: Schedule
  let compute: Compute
  /// The memory of the run, by purpose.
  let plan: MemoryPlan
  /// `adapter` or `weights`.
  private let mode: TrainingEvent.Mode
  private(set) var source: Source
  var parameters: TrainedParameters
  private(set) var engine: StepEngine
  private var batches: StepBatches
  private(set) var state = RunState()

  /// A loop that trains all weights of the decoder, or else the adapter, towards `objective` by `optimizer`, or that of `options`.
  /// Rounded weights begin as those of `start`, if there is one; `besides` bytes are held by others.
  init(
    _ mode: TrainingEvent.Mode, _ source: Source, decoder: consuming Decoder, adapter: consuming Adapter, trainsWeights: Bool,
    options: OptimizationOptions, from start: DecoderWeights? = nil, objective: Objective = .crossEntropy, besides: Int = 0,
    optimizer: (any Optimizer)? = nil, on compute: Compute
  ) {
    self.mode = mode
    self.source = source
    self.options = options
    self.compute = compute
    schedule = options.schedule(steps: source.totalSteps)
    let (capacity, shape) = (source.capacity, trainsWeights ? nil : adapter.configuration)
    parameters = TrainedParameters(
      decoder: decoder, adapter: adapter, trainsWeights: trainsWeights, options: options, optimizer: optimizer, from: start,
      on: compute)
    let list = parameters.values.list
    // Weights that are trained count as the model's; beside them, and beside an adapter, lie gradients, moments and copies.
    plan = MemoryPlan(
      parameters.values.model.decoder, rows: capacity.rows, adapter: shape, training: list,
      copies: (trainsWeights ? 1 : 2) + parameters.copies, besides: parameters.values.model.byteCount + besides,
      limit: options.keepsActivations ? options.memoryLimit : 0, on: compute)
    engine = StepEngine(
      parameters.values.model.decoder, rows: capacity.rows, sequences: capacity.sequences, adapter: shape, training: list,
      objective: objective, recording: plan.recording, on: compute)
    batches = source.makeBatches()
    parameters.update(on: compute)
  }

  /// Trains to the end, or until `report` returns false: then a checkpoint is written and the run can go on from it.
  mutating func run(checkpoints: CheckpointStore?, report: (TrainingEvent) -> Bool) throws(TrainingError) -> TrainingResult {
    var meter = RunMeter(totalSteps: schedule.totalSteps)
    var continues = true
    func tell(_ kind: TrainingEvent.Kind, _ meter: RunMeter, logs: Bool = true) throws(TrainingError) {
      let event = TrainingEvent(kind: kind, measured: meter.measured)
      if logs { try checkpoints?.log(event) }
      if !report(event) { continues = false }
    }
    try begin(checkpoints)
    let resumed = state.step > 0
    meter.begin(step: state.step, tokens: state.tokens)
    try tell(.start(startEvent), meter, logs: !resumed)
    if resumed, let size = checkpoints?.newestSize { try tell(.checkpoint(.init(step: state.step, bytes: size)), meter) }
    var lastSave = ContinuousClock.now
    var end = state.isOver(schedule, options)
    while end == nil {
      do throws(TrainingError) {
        try tell(.step(try step(checkpoints)), meter.counted(state))
        if source.validates(after: state.step) { try tell(.validation(try validate(checkpoints)), meter.counted(state)) }
      } catch {
        if error.kind == .failedRun {
          try tell(.end(.init(step: state.step, reason: .diverged, keptStep: checkpoints?.newestStep ?? 0)), meter)
        }
        throw error
      }
      end = state.isOver(schedule, options)
      if end == nil, !continues { end = .interrupted }
      guard let checkpoints, end == .interrupted || isDue(checkpoints.interval, lastSave, isLast: end != nil) else { continue }
      let size = try checkpoints.save(parameters, &state)
      lastSave = .now
      try tell(.checkpoint(.init(step: state.step, bytes: size)), meter)
    }
    let result = complete(end ?? .completed)
    try tell(.end(.init(step: state.step, reason: result.end, keptStep: result.keptStep)), meter)
    return result
  }

  /// The event that says what the run will do, or go on with.
  private var startEvent: TrainingEvent.Start {
    TrainingEvent.Start(
      mode: mode, step: state.step, totalSteps: schedule.totalSteps, parameters: parameters.elementCount,
      examples: source.counts.training, validationExamples: source.counts.validation)
  }

  /// Takes up the run of the newest checkpoint, if there is one.
  private mutating func begin(_ checkpoints: CheckpointStore?) throws(TrainingError) {
    state.dataPosition = source.dataPosition
    guard let checkpoints else { return }
    try checkpoints.checkSpace(for: parameters)
    if let restored = try checkpoints.restore(&parameters) {
      guard restored.step <= schedule.totalSteps else {
        throw .pastEnd(directory: checkpoints.path, step: restored.step, end: schedule.totalSteps)
      }
      guard restored.dataPosition.epoch <= restored.step else {
        throw .badCheckpoint(path: checkpoints.path, problem: "pass \(restored.dataPosition.epoch) at step \(restored.step) cannot be")
      }
      parameters.update(on: compute)
      state = restored
      source.dataPosition = restored.dataPosition
    }
    try checkpoints.openEvents(keeping: state.eventBytes)
  }

  /// Returns whether a checkpoint should be written now; one of a run that looks as if it diverged would replace a better one.
  ///
  /// After the last step one is worth its time when much would be lost if the output could not be written.
  private func isDue(_ interval: CheckpointInterval, _ last: ContinuousClock.Instant, isLast: Bool) -> Bool {
    guard state.watchdog.isCalm else { return false }
    switch interval {
    case .steps(let steps): return state.step % steps == 0
    case .seconds(let seconds): return ContinuousClock.now - last >= .seconds(isLast ? min(seconds, 10) : seconds)
    }
  }

  /// One step: all of its batches, then the optimiser.
  private mutating func step(_ checkpoints: CheckpointStore?) throws(TrainingError) -> TrainingEvent.Step {
    let number = state.step + 1
    source.next(into: &batches)
    let total = max(batches.totalWeight, .leastNormalMagnitude)
    engine.clearGradients()
    var (loss, sums, row): (Float, LossSums, Int) = (0, LossSums(), 0)
    for index in 0..<batches.count {
      loss += accumulate(batches[index], total: total, step: number, firstRow: row, losses: &sums)
      row += batches[index].tokens.count
    }
    Self.finish(&engine, parameters, compute)
    let norm = engine.withGradients { $0.norm(on: compute) }
    guard loss.isFinite, norm.isFinite else { throw .notANumber(step: number, checkpoint: checkpoints?.newestStep) }
    let rate = schedule.rate(step: number)
    Self.step(
      &parameters, engine, learningRate: rate, step: number, gradientScale: norm > options.clipNorm ? options.clipNorm / norm : 1, compute)
    if state.validation?.step == state.step || state.dataPosition.epoch != source.dataPosition.epoch { state.beginMean() }
    state.add(loss: loss, contentLoss: sums.contentMean, tokens: row)
    state.dataPosition = source.dataPosition
    if let median = state.watchdog.hasDiverged(loss, options.watchdog) {
      throw .diverged(step: number, loss: loss, median: median, checkpoint: checkpoints?.newestStep)
    }
    return TrainingEvent.Step(
      step: number, totalSteps: schedule.totalSteps, epoch: state.dataPosition.epoch, tokens: state.tokens, loss: loss,
      contentLoss: sums.contentMean, learningRate: rate, gradientNorm: norm)
  }

  // The owners come apart here: a closure that has one field would lock the whole struct.
  private static func step(
    _ parameters: inout TrainedParameters, _ engine: borrowing StepEngine, learningRate: Float, step: Int, gradientScale: Float,
    _ compute: Compute
  ) {
    engine.withGradients {
      parameters.step($0, learningRate: learningRate, step: step, gradientScale: gradientScale, on: compute)
    }
  }

  private static func finish(_ engine: inout StepEngine, _ parameters: borrowing TrainedParameters, _ compute: Compute) {
    engine.updateGradients { parameters.finish(&$0, on: compute) }
  }

  /// Adds the gradients of a batch, whose first row is row `firstRow` of the step; returns its share of the loss.
  private mutating func accumulate(_ batch: Batch, total: Float, step: Int, firstRow: Int, losses: inout LossSums) -> Float {
    engine.accumulate(
      batch, parameters.values.model.decoder, adapter: &parameters.values.adapter, total: total,
      dropout: DropoutStep(seed: options.seed, step: step, firstRow: firstRow), losses: &losses)
  }

  /// The gradients of a batch, which nobody uses.
  mutating func accumulate(_ batch: Batch) {
    var sums = LossSums()
    engine.clearGradients()
    _ = accumulate(batch, total: max(batch.totalWeight, .leastNormalMagnitude), step: 1, firstRow: 0, losses: &sums)
  }

  /// The losses of a batch.
  @discardableResult mutating func evaluate(_ batch: Batch) -> LossSums {
    engine.evaluate(batch, parameters.values.model.decoder, adapter: &parameters.values.adapter)
  }

  /// Looks at the validation data with the parameters that would be kept now.
  private mutating func validate(_ checkpoints: CheckpointStore?) throws(TrainingError) -> TrainingEvent.Validation {
    parameters.exchangeAverage(on: compute)
    var sums = LossSums()
    source.validation(into: &batches)
    for index in 0..<batches.count { sums.add(evaluate(batches[index])) }
    guard sums.mean.isFinite, sums.contentMean.isFinite else {
      throw .notANumber(step: state.step, checkpoint: checkpoints?.newestStep)
    }
    let isBest = state.addValidation(loss: sums.mean, contentLoss: sums.contentMean)
    if isBest, options.keepsBest { parameters.rememberBest() }
    parameters.exchangeAverage(on: compute)
    return TrainingEvent.Validation(
      step: state.step, epoch: state.dataPosition.epoch, loss: sums.mean, contentLoss: sums.contentMean, isBest: isBest)
  }

  /// Puts what is kept in place, and adds the run up. An interrupted run stays as it is.
  private mutating func complete(_ end: TrainingResult.End) -> TrainingResult {
    var result = TrainingResult()
    (result.end, result.steps, result.totalSteps, result.tokens) = (end, state.step, schedule.totalSteps, state.tokens)
    (result.trainingLoss, result.curve) = (state.meanLoss, state.curve)
    let keepsBest = options.keepsBest && state.best != nil && end != .interrupted
    let validation = keepsBest ? state.best : state.validation
    (result.validationLoss, result.validationContentLoss) = (validation?.loss, validation?.contentLoss)
    result.keptStep = keepsBest ? state.best?.step ?? state.step : state.step
    guard end != .interrupted else { return result }
    if keepsBest { parameters.recallBest(on: compute) } else { parameters.exchangeAverage(on: compute) }
    return result
  }
}

extension TrainingLoop {
  consuming func trainedAdapter() -> Adapter { parameters.values.adapter }

  consuming func trainedDecoder() -> Decoder { parameters.values.model.decoder }

  /// The largest key and value magnitudes of each layer that has its own, over a batch.
  mutating func largestMagnitudes(_ batch: Batch) -> [(key: Float, value: Float)] {
    evaluate(batch)
    return (0..<parameters.values.model.decoder.configuration.keyValueLayers).map { engine.largestMagnitudes(layer: $0) }
  }
}
