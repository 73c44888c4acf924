package import DibitKernels
package import DibitModel

/// The options that adapters and whole models are trained with alike.
package struct OptimizationOptions: Equatable, Sendable {
  /// The peak learning rate.
  package var learningRate: Float = 1e-3
  /// The peak for the embedding, where weights are trained; nil for that of all others.
  package var embeddingLearningRate: Float?
  /// The peak for norms and biases, where weights are trained; nil for that of all others.
  package var normLearningRate: Float?
  /// True where the rates of rounded weights are in units of their mean scale, a share of which moves a weight to the next level; those of
  /// other matrices in units of the root of their mean square.
  package var ratesAreInScales = false
  /// The peak for the logarithms of scales, where they are trained; nil for that of all others.
  package var scaleLearningRate: Float?
  /// The course of the learning rate after the warm-up.
  package var schedule = Schedule.Shape.cosine
  /// The learning rate of the last step, where the schedule falls.
  package var finalLearningRate: Float = 0
  /// The steps behind the warm-up in which the rate falls to the final one; nil for all that follow.
  package var fallingSteps: Int?
  /// The rate from which the warm-up rises.
  package var initialLearningRate: Float = 0
  /// The length of the warm-up, in which the learning rate rises.
  package var warmUp = Schedule.WarmUp.share(0.1)
  /// Moments and weight decay.
  package var optimizer = AdamW()
  /// The largest gradient norm; a longer gradient is scaled down to it.
  package var clipNorm: Float = 1
  /// The share of the running average of the parameters that a step keeps, such as 0.999; 0 for no average. The average is what is
  /// validated and what is kept in the end.
  package var averageDecay: Float = 0
  /// The most tokens that go through the model at once; a step with more is cut, which changes its result by rounding only.
  package var microBatchTokens = 8192
  /// The most bytes that the run may hold, weights included; nil for no limit. It changes no result: see ``MemoryPlan``.
  package var memoryLimit: Int?
  /// False where the backward pass computes what layers did again, in as little memory as it can be done in. It changes no result either.
  package var keepsActivations = true
  /// Validations in a row without a lower loss after which training ends; 0 for never.
  package var patience = 0
  /// True when the parameters of the best validation are kept, and not the last ones.
  package var keepsBest = false
  /// The conditions under which a run is given up.
  package var watchdog = WatchdogOptions()
  /// The grids that passes run trained weights on; nil for float weights. Nothing where an adapter is trained.
  package var rounding: TrainedRounding?
  /// The seed of everything random.
  package var seed: UInt64 = 0

  /// The defaults of `dibit train`.
  package init() {}

  /// The factor of the learning rate for a tensor.
  func rateFactor(of role: Trainable.Role) -> Float {
    let own =
      switch role {
      case .weight(_, .embedding): embeddingLearningRate
      case .weight(_, let role) where !role.isMatrix: normLearningRate
      case .logScale: scaleLearningRate
      default: nil as Float?
      }
    guard let own, learningRate > 0 else { return 1 }
    return own / learningRate
  }

  /// True when a step depends on how many follow; if not, a run may be made shorter or longer while it is stopped.
  package var dependsOnLength: Bool {
    if case .steps = warmUp { schedule != .constant && fallingSteps == nil } else { true }
  }

  func schedule(steps: Int) -> Schedule {
    var whole = Schedule(
      learningRate: learningRate, warmUpSteps: warmUp.count(of: steps), totalSteps: steps, shape: schedule, finalRate: finalLearningRate)
    (whole.fallingSteps, whole.initialRate) = (fallingSteps, initialLearningRate)
    return whole
  }
}

/// The options by which an adapter is trained.
package struct TrainingOptions: Equatable, Sendable {
  /// Rank, scale and targets of the adapter.
  package var adapter = AdapterConfiguration()
  /// Passes over the training examples.
  package var epochs = 2
  /// Examples that go through the model together.
  package var batchSize = 8
  /// Batches of a step.
  package var accumulation = 1
  /// Steps between two looks at the validation examples; nil for the end of each epoch.
  package var validationInterval: Int?
  /// The importance of training examples by their labels.
  package var classWeights = ClassWeights.equal
  /// The share in answers of a classifier of words that learns from the same texts, from 0, for none, to below 1. The adapter does not depend on it.
  package var wordShare = 0.0
  /// Learning rate and all else that does not depend on what is trained.
  package var optimization = OptimizationOptions()

  /// The defaults of `dibit train`.
  package init() {}
}

/// The options by which all weights of a model are trained on plain text.
package struct PretrainingOptions: Equatable, Sendable {
  /// Training steps.
  package var steps = 1000
  /// Sequences of a step.
  package var batchSize = 16
  /// Tokens of a sequence.
  package var sequenceLength = 256
  /// Steps between two looks at the validation text.
  package var validationInterval = 250
  /// Learning rate and all else that does not depend on what is trained.
  package var optimization = OptimizationOptions()

  /// Values that suit a model of some million parameters.
  package init() {
    optimization.learningRate = 3e-3
    optimization.warmUp = .share(0.02)
    optimization.optimizer.weightDecay = 0.1
  }
}
