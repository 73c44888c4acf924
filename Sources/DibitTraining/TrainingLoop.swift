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
  /// Where memory goes.
  let plan: MemoryPlan
  /// `adapter` or `weights`.
  private let mode: TrainingEvent.Mode
  private(set) var source: Source
  var parameters: TrainedParameters
  private(set) var engine: StepEngine
  private var gradients: Gradients
  private(set) var state = RunState()

  init(
    _ mode: TrainingEvent.Mode, _ source: Source, decoder: consuming Decoder, adapter: consuming Adapter, trainsWeights: Bool,
    options: OptimizationOptions, on compute: Compute
  ) {
    self.mode = mode
    self.source = source
    self.options = options
    self.compute = compute
    schedule = options.schedule(steps: source.totalSteps)
    let capacity = source.capacity
    // Weights that are trained count as the model's; beside them, and beside an adapter, lie gradients and two moments.
    let trained = trainsWeights ? decoder.weights.elementCount : adapter.elementCount
    plan = MemoryPlan(
      decoder, rows: capacity.rows, rank: adapter.configuration.rank, parameters: trained,
      copies: (trainsWeights ? 3 : 4) + (options.averageDecay > 0 ? 1 : 0) + (options.keepsBest ? 1 : 0), trainsWeights: trainsWeights,
      savesOutputs: adapter.configuration.decomposesWeights, limit: options.memoryLimit)
    engine = StepEngine(
      decoder, rows: capacity.rows, sequences: capacity.sequences, rank: adapter.configuration.rank, trainsWeights: trainsWeights,
      savesOutputs: adapter.configuration.decomposesWeights, recording: plan.recording, on: compute)
    parameters = TrainedParameters(decoder: decoder, adapter: adapter, trainsWeights: trainsWeights, options: options)
    if parameters.adapter.configuration.dropout > 0 {
      parameters.adapter.dropout = AdapterDropout(parameters.adapter, capacity: capacity.rows, seed: options.seed)
    }
    gradients = parameters.makeGradients()
    parameters.update(on: compute)
  }

  /// Trains to the end, or until `report` returns false: then a checkpoint is written and the run can go on from it.
  mutating func run(checkpoints: CheckpointStore?, report: (TrainingEvent) -> Bool) throws(TrainingError) -> TrainingResult {
    var meter = RunMeter(totalSteps: schedule.totalSteps)
    var goesOn = true
    func tell(_ kind: TrainingEvent.Kind, _ meter: RunMeter, logs: Bool = true) throws(TrainingError) {
      let event = TrainingEvent(kind: kind, measured: meter.measured)
      if logs { try checkpoints?.log(event) }
      if !report(event) { goesOn = false }
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
      if end == nil, !goesOn { end = .interrupted }
      guard let checkpoints, end == .interrupted || isDue(checkpoints.interval, lastSave, isLast: end != nil) else { continue }
      let size = try checkpoints.save(parameters, &state)
      lastSave = .now
      try tell(.checkpoint(.init(step: state.step, bytes: size)), meter)
    }
    let result = finish(end ?? .finished)
    try tell(.end(.init(step: state.step, reason: result.end, keptStep: result.keptStep)), meter)
    return result
  }

  /// What the run will do, or go on with.
  private var startEvent: TrainingEvent.Start {
    TrainingEvent.Start(
      mode: mode, step: state.step, totalSteps: schedule.totalSteps, parameters: parameters.elementCount,
      examples: source.counts.training, validationExamples: source.counts.validation)
  }

  /// Takes up the run of the newest checkpoint, if there is one.
  private mutating func begin(_ checkpoints: CheckpointStore?) throws(TrainingError) {
    state.place = source.place
    guard let checkpoints else { return }
    try checkpoints.checkSpace(for: parameters)
    if let restored = try checkpoints.restore(&parameters) {
      guard restored.step <= schedule.totalSteps else {
        throw .pastEnd(directory: checkpoints.path, step: restored.step, end: schedule.totalSteps)
      }
      guard restored.place.epoch <= restored.step else {
        throw .badCheckpoint(path: checkpoints.path, problem: "pass \(restored.place.epoch) at step \(restored.step) cannot be")
      }
      parameters.update(on: compute)
      state = restored
      source.place = restored.place
    }
    try checkpoints.openEvents(keeping: state.eventBytes)
  }

  /// Whether a checkpoint should be written now; one of a run that looks as if it diverged would replace a better one.
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
    let batches = source.next()
    let total = batches.reduce(Float(0)) { $0 + $1.totalWeight }
    gradients.clear()
    var (loss, sums, row): (Float, LossSums, Int) = (0, LossSums(), 0)
    for batch in batches {
      parameters.adapter.dropout?.begin(step: number, firstRow: row)
      row += batch.tokens.count
      loss += engine.accumulate(
        batch, parameters.model.decoder, adapter: parameters.adapter, total: max(total, .leastNormalMagnitude), into: &gradients,
        losses: &sums)
    }
    parameters.adapter.dropout?.end()
    let norm = gradients.norm(on: compute)
    guard loss.isFinite, norm.isFinite else { throw .notANumber(step: number, checkpoint: checkpoints?.newestStep) }
    let rate = schedule.rate(step: number)
    parameters.step(
      gradients, learningRate: rate, step: number, gradientScale: norm > options.clipNorm ? options.clipNorm / norm : 1, on: compute)
    if state.validation?.step == state.step || state.place.epoch != source.place.epoch { state.beginMean() }
    state.add(loss: loss, contentLoss: sums.contentMean, tokens: row)
    state.place = source.place
    if let median = state.watchdog.hasDiverged(loss, options.watchdog) {
      throw .diverged(step: number, loss: loss, median: median, checkpoint: checkpoints?.newestStep)
    }
    return TrainingEvent.Step(
      step: number, totalSteps: schedule.totalSteps, epoch: state.place.epoch, tokens: state.tokens, loss: loss,
      contentLoss: sums.contentMean, learningRate: rate, gradientNorm: norm)
  }

  /// The gradients of a batch, which nobody uses.
  mutating func accumulate(_ batch: Batch) {
    var sums = LossSums()
    gradients.clear()
    parameters.adapter.dropout?.begin(step: 1, firstRow: 0)
    _ = engine.accumulate(
      batch, parameters.model.decoder, adapter: parameters.adapter, total: max(batch.totalWeight, .leastNormalMagnitude),
      into: &gradients, losses: &sums)
    parameters.adapter.dropout?.end()
  }

  /// The losses of a batch, which nobody uses.
  mutating func evaluate(_ batch: Batch) { _ = engine.evaluate(batch, parameters.model.decoder, adapter: parameters.adapter) }

  /// Looks at the validation data with the parameters that would be kept now.
  private mutating func validate(_ checkpoints: CheckpointStore?) throws(TrainingError) -> TrainingEvent.Validation {
    parameters.exchangeAverage(on: compute)
    var sums = LossSums()
    source.forEachValidationBatch { sums.add(engine.evaluate($0, parameters.model.decoder, adapter: parameters.adapter)) }
    guard sums.mean.isFinite, sums.contentMean.isFinite else {
      throw .notANumber(step: state.step, checkpoint: checkpoints?.newestStep)
    }
    let isBest = state.addValidation(loss: sums.mean, contentLoss: sums.contentMean)
    if isBest, options.keepsBest { parameters.rememberBest() }
    parameters.exchangeAverage(on: compute)
    return TrainingEvent.Validation(
      step: state.step, epoch: state.place.epoch, loss: sums.mean, contentLoss: sums.contentMean, isBest: isBest)
  }

  /// Puts what is kept in place, and adds the run up. An interrupted run stays as it is.
  private mutating func finish(_ end: TrainingResult.End) -> TrainingResult {
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
  consuming func finishAdapter() -> Adapter { parameters.adapter }

  consuming func finishDecoder() -> Decoder { parameters.model.decoder }

  /// The largest key and value magnitudes of each layer that has its own, over a batch.
  mutating func largestMagnitudes(_ batch: Batch) -> [(key: Float, value: Float)] {
    _ = engine.evaluate(batch, parameters.model.decoder, adapter: parameters.adapter)
    return (0..<parameters.model.decoder.configuration.keyValueLayers).map { engine.largestMagnitudes(layer: $0) }
  }
}
