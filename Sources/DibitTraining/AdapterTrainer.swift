internal import BasicContainers
public import DibitKernels
public import DibitModel
internal import DibitTensor

/// Trains a low-rank adapter on a frozen decoder.
public struct AdapterTrainer: ~Copyable {
  private let options: TrainingOptions
  private let examples: [TrainingExample]
  private let validation: [TrainingExample]
  private let schedule: Schedule
  private let compute: Compute
  private var engine: StepEngine
  private var gradients: Gradients
  private var moment1: Adapter
  private var moment2: Adapter
  /// Where memory goes.
  public let plan: MemoryPlan
  /// What is trained.
  public private(set) var adapter: Adapter

  /// A trainer with fresh parameters from `options.seed`.
  ///
  /// - Throws: ``TrainingError/noExamples`` when there is nothing to learn from.
  public init(
    _ decoder: borrowing Decoder, examples: [TrainingExample], validation: [TrainingExample], options: TrainingOptions, on compute: Compute
  ) throws(TrainingError) {
    guard !examples.isEmpty else { throw .noExamples }
    self.options = options
    self.examples = examples
    self.validation = validation
    self.compute = compute
    let steps = options.epochs * ((examples.count + options.batchSize - 1) / options.batchSize)
    schedule = Schedule(
      learningRate: options.learningRate, warmUpSteps: max(1, Int((options.warmUp * Float(steps)).rounded())), totalSteps: steps)
    let lengths = (examples + validation).map(\.tokens.count).sorted(by: >)
    let rows = lengths.prefix(options.batchSize).reduce(0, +)
    gradients = Gradients(decoder.weights, adapter: options.adapter, includesWeights: false)
    moment1 = Adapter(options.adapter, for: decoder.weights)
    moment2 = Adapter(options.adapter, for: decoder.weights)
    adapter = Adapter(options.adapter, for: decoder.weights)
    var rng = SplitMix64(seed: options.seed, purpose: "adapter.initialize")
    adapter.initialize(using: &rng)
    plan = MemoryPlan(
      decoder, rows: rows, rank: options.adapter.rank, parameters: adapter.elementCount, limit: options.memoryLimit)
    engine = StepEngine(
      decoder, rows: rows, sequences: options.batchSize, rank: options.adapter.rank, recording: plan.recording, on: compute)
  }

  /// All steps of the run.
  public var totalSteps: Int { schedule.totalSteps }

  /// The number of trained parameters.
  public var parameterCount: Int { adapter.elementCount }

  /// Trains; `report` is told every step and stops the run after it by returning false.
  public mutating func run(_ decoder: borrowing Decoder, report: (TrainingEvent) -> Bool = { _ in true }) throws(TrainingError)
    -> TrainingResult
  {
    var result = TrainingResult()
    result.totalSteps = schedule.totalSteps
    result.truncatedExamples = examples.reduce(0) { $0 + ($1.truncatedTokens > 0 ? 1 : 0) }
    result.truncatedTokens = examples.reduce(0) { $0 + $1.truncatedTokens }
    var rng = SplitMix64(seed: options.seed, purpose: "adapter.order")
    for epoch in 1...max(1, options.epochs) {
      var order = Array(examples.indices)
      rng.shuffle(&order)
      var (sum, batches): (Float, Float) = (0, 0)
      for first in stride(from: 0, to: order.count, by: options.batchSize) {
        let batch = Batch(order[first..<min(first + options.batchSize, order.count)].map { examples[$0] })
        gradients.clear()
        let loss = engine.accumulate(batch, decoder, adapter: adapter, into: &gradients)
        guard loss.isFinite else { throw .diverged(step: result.steps + 1) }
        result.steps += 1
        result.tokens += batch.tokens.count
        let norm = update(step: result.steps)
        (sum, batches) = (sum + loss, batches + 1)
        result.trainingLoss = sum / batches
        let event = TrainingEvent.step(
          result.steps, of: schedule.totalSteps, loss: loss, learningRate: schedule.rate(step: result.steps), gradientNorm: norm,
          tokens: result.tokens)
        guard report(event) else { return result }
      }
      guard !validation.isEmpty else { continue }
      let sums = validate(decoder)
      (result.validationLoss, result.validationContentLoss) = (sums.mean, sums.contentMean)
      guard report(.validation(epoch: epoch, loss: sums.mean, contentLoss: sums.contentMean)) else { return result }
    }
    return result
  }

  /// The trained adapter.
  public consuming func finish() -> Adapter { adapter }

  private mutating func validate(_ decoder: borrowing Decoder) -> LossSums {
    var sums = LossSums()
    for first in stride(from: 0, to: validation.count, by: options.batchSize) {
      let batch = Batch(validation[first..<min(first + options.batchSize, validation.count)])
      sums.add(engine.evaluate(batch, decoder, adapter: adapter))
    }
    return sums
  }

  /// One optimiser step; returns the gradient norm before clipping.
  private mutating func update(step: Int) -> Float {
    let norm = gradients.norm(on: compute)
    let scale = norm > options.clipNorm ? options.clipNorm / norm : 1
    let rate = schedule.rate(step: step)
    Self.step(
      options.optimizer, &adapter, gradients.adapter, &moment1, &moment2, learningRate: rate, step: step, gradientScale: scale, on: compute)
    return norm
  }

  private static func step(
    _ optimizer: AdamW, _ adapter: inout Adapter, _ gradients: borrowing Adapter, _ moment1: inout Adapter, _ moment2: inout Adapter,
    learningRate: Float, step: Int, gradientScale: Float, on compute: Compute
  ) {
    for i in 0..<adapter.count {
      optimizer.step(
        &adapter.a[i], gradient: gradients.a[i], moment1: &moment1.a[i], moment2: &moment2.a[i], learningRate: learningRate, step: step,
        gradientScale: gradientScale, on: compute)
      optimizer.step(
        &adapter.b[i], gradient: gradients.b[i], moment1: &moment1.b[i], moment2: &moment2.b[i], learningRate: learningRate, step: step,
        gradientScale: gradientScale, on: compute)
    }
  }
}
