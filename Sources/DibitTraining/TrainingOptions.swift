public import DibitKernels
public import DibitModel
public import DibitQuantization

/// What adapters and whole models are trained with alike.
public struct OptimizationOptions: Equatable, Sendable {
  /// The peak learning rate.
  public var learningRate: Float = 1e-3
  /// The peak for the embedding, where weights are trained; nil for that of all others.
  public var embeddingLearningRate: Float?
  /// What the learning rate does after the warm-up.
  public var schedule = Schedule.Shape.cosine
  /// The learning rate of the last step, where the schedule falls.
  public var finalLearningRate: Float = 0
  /// How long the learning rate rises.
  public var warmUp = Schedule.WarmUp.share(0.1)
  /// Moments and weight decay.
  public var optimizer = AdamW()
  /// The largest gradient norm; a longer gradient is scaled down to it.
  public var clipNorm: Float = 1
  /// How much of the running average of the parameters a step keeps, such as 0.999; 0 for no average. The average is what is validated
  /// and what is kept in the end.
  public var averageDecay: Float = 0
  /// The most tokens that go through the model at once; a step with more is cut, which changes its result by rounding only.
  public var microBatchTokens = 8192
  /// The most bytes that the run may hold, weights included; nil for no limit. It changes no result: see ``MemoryPlan``.
  public var memoryLimit: Int?
  /// Validations in a row without a lower loss after which training ends; 0 for never.
  public var patience = 0
  /// Whether the parameters of the best validation are kept, and not the last ones.
  public var keepsBest = false
  /// When a run is given up.
  public var watchdog = WatchdogOptions()
  /// How weights that are trained are rounded in every pass; nil for float weights. Nothing where an adapter is trained.
  public var rounding: QuantizationScheme?
  /// The seed of everything random.
  public var seed: UInt64 = 0

  /// The defaults of `dibit train`.
  public init() {}

  /// What the learning rate is multiplied by for the embedding.
  var embeddingRateFactor: Float { learningRate > 0 ? (embeddingLearningRate ?? learningRate) / learningRate : 1 }

  /// Whether a step depends on how many follow; if not, a run may be made shorter or longer while it is stopped.
  public var dependsOnLength: Bool {
    if case .steps = warmUp { schedule != .constant } else { true }
  }

  func schedule(steps: Int) -> Schedule {
    Schedule(
      learningRate: learningRate, warmUpSteps: warmUp.count(of: steps), totalSteps: steps, shape: schedule, finalRate: finalLearningRate)
  }
}

/// How an adapter is trained.
public struct TrainingOptions: Equatable, Sendable {
  /// Rank, scale and targets of the adapter.
  public var adapter = AdapterConfiguration()
  /// Passes over the training examples.
  public var epochs = 2
  /// Examples that go through the model together.
  public var batchSize = 8
  /// Batches of a step.
  public var accumulation = 1
  /// Steps between two looks at the validation examples; nil for the end of each epoch.
  public var validationInterval: Int?
  /// How much training examples count by their labels.
  public var classWeights = ClassWeights.equal
  /// Learning rate and all else that does not depend on what is trained.
  public var optimization = OptimizationOptions()

  /// The defaults of `dibit train`.
  public init() {}
}

/// How all weights of a model are trained on plain text.
public struct PretrainingOptions: Equatable, Sendable {
  /// Training steps.
  public var steps = 1000
  /// Sequences of a step.
  public var batchSize = 16
  /// Tokens of a sequence.
  public var sequenceLength = 256
  /// Steps between two looks at the validation text.
  public var validationInterval = 250
  /// Learning rate and all else that does not depend on what is trained.
  public var optimization = OptimizationOptions()

  /// Values that suit a model of some million parameters.
  public init() {
    optimization.learningRate = 3e-3
    optimization.warmUp = .share(0.02)
    optimization.optimizer.weightDecay = 0.1
  }
}
