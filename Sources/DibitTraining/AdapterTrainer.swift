package import DibitKernels
package import DibitModel
internal import DibitTensor

/// Trains a low-rank adapter on a frozen decoder.
package struct AdapterTrainer: ~Copyable {
  private let examples: [TrainingExample]
  private var loop: TrainingLoop<ExampleEpochs>

  /// A trainer with fresh parameters from the seed of `options`; the weights of `decoder` stay as they are.
  ///
  /// - Parameters:
  ///   - start: An adapter of the shape that `options` ask for, whose parameters are the start in their place; moments begin anew.
  ///   - teacher: The model that answers should be like those of; nil to learn the labels alone.
  /// - Throws: ``TrainingError/noExamples`` when there is nothing to learn from, ``TrainingError/memoryLimit(given:least:)`` when the limit
  ///   cannot be kept.
  package init(
    _ decoder: borrowing Decoder, examples: [TrainingExample], validation: [TrainingExample], options: TrainingOptions,
    from start: consuming Adapter? = nil, teacher: TeacherModel? = nil, on compute: Compute
  ) throws(TrainingError) {
    guard !examples.isEmpty else { throw .noExamples }
    let adapter: Adapter
    if let start {
      var begun = Adapter(options.adapter, for: decoder.weights)
      begun.copyParameters(start)
      begun.updateGains(of: decoder.weights, on: compute)
      adapter = begun
    } else {
      adapter = Adapter(options.adapter, for: decoder.weights, seed: options.optimization.seed, on: compute)
    }
    let source = ExampleEpochs(examples, validation: validation, options: options)
    let (objective, bytes) =
      teacher?.objective(
        for: source.capacity, repeated: (examples + validation).reduce(0) { $0 + $1.isAnswer.count(where: \.self) },
        limit: options.optimization.memoryLimit, on: compute) ?? (.crossEntropy, 0)
    let loop = TrainingLoop(
      .adapter, source, decoder: Decoder(decoder.configuration, weights: decoder.weights), adapter: adapter, trainsWeights: false,
      options: options.optimization, objective: objective, besides: bytes, on: compute)
    try loop.plan.check(limit: options.optimization.memoryLimit)
    self.examples = examples
    self.loop = consume loop
  }

  /// The memory of the run, by purpose.
  package var plan: MemoryPlan { loop.plan }

  /// Estimates how long a run would take, measured for about `seconds`; changes nothing that is trained.
  package mutating func estimate(seconds: Double = 3) -> RunEstimate { loop.estimate(seconds: seconds) }

  /// The most tokens of a text, a multiple of 32, with which the run would read this share of what it reads; nil where that leaves less than 64.
  package func textLength(forShare share: Double) -> Int? {
    func tokens(_ most: Int) -> Int { examples.reduce(0) { $0 + min($1.tokens.count, most) } }
    let (all, longest) = (Double(tokens(.max)), examples.lazy.map(\.tokens.count).max() ?? 0)
    return stride(from: longest / 32 * 32, through: 64, by: -32).first { Double(tokens($0)) <= share * all }
  }

  /// All steps of the run.
  package var totalSteps: Int { loop.schedule.totalSteps }

  /// The number of trained parameters.
  package var parameterCount: Int { loop.parameters.elementCount }

  /// Trains; `report` is told what happens and stops the run after a step by returning false.
  ///
  /// With `checkpoints`, the run goes on where the newest of them was written, and writes its own. Call it once.
  package mutating func run(checkpoints: CheckpointStore? = nil, report: (TrainingEvent) -> Bool = { _ in true }) throws(TrainingError)
    -> TrainingResult
  {
    var result = try loop.run(checkpoints: checkpoints, report: report)
    result.truncatedExamples = examples.reduce(0) { $0 + ($1.truncatedTokens > 0 ? 1 : 0) }
    result.truncatedTokens = examples.reduce(0) { $0 + $1.truncatedTokens }
    return result
  }

  /// The adapter, as ``run(checkpoints:report:)`` left it.
  package consuming func trainedAdapter() -> Adapter { loop.trainedAdapter() }
}

extension Adapter {
  /// An adapter that changes nothing yet, as training begins: `A` is random, `B` zero.
  init(_ configuration: AdapterConfiguration, for weights: DecoderWeights, seed: UInt64, on compute: Compute) {
    self.init(configuration, for: weights)
    var rng = SplitMix64(seed: seed, purpose: "adapter.initialize")
    initialize(using: &rng)
    initializeMagnitudes(of: weights, on: compute)
  }
}
