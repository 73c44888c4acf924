public import DibitDataset
public import DibitKernels
public import DibitModel

/// The learning rate over a run: linear warm-up, then a half cosine to zero.
public struct Schedule: Equatable, Sendable {
  /// The peak.
  public var learningRate: Float
  /// Steps of warm-up.
  public var warmUpSteps: Int
  /// All steps of the run.
  public var totalSteps: Int

  /// A schedule that reaches 0 after `totalSteps`.
  public init(learningRate: Float, warmUpSteps: Int, totalSteps: Int) {
    self.learningRate = learningRate
    self.warmUpSteps = warmUpSteps
    self.totalSteps = totalSteps
  }

  /// The rate of step `step`, counted from 1.
  public func rate(step: Int) -> Float {
    if step <= warmUpSteps { return learningRate * Float(step) / Float(warmUpSteps) }
    let progress = Double(step - warmUpSteps) / Double(max(1, totalSteps - warmUpSteps))
    // cos(pi x) by way of its sine series would depend on libm; the rate needs no more than this polynomial's 1e-7.
    return learningRate * Float(0.5 * (1 + halfTurnCosine(min(progress, 1))))
  }

  /// `cos(π x)` for `x` in 0...1, the same bits on every machine.
  private func halfTurnCosine(_ x: Double) -> Double {
    let y = (x <= 0.5 ? x : 1 - x) * Double.pi
    let z = y * y
    let cosine = 1 - z / 2 * (1 - z / 12 * (1 - z / 30 * (1 - z / 56 * (1 - z / 90 * (1 - z / 132 * (1 - z / 182))))))
    return x <= 0.5 ? cosine : -cosine
  }
}

/// How an adapter is trained.
public struct TrainingOptions: Equatable, Sendable {
  /// Rank, scale and targets of the adapter.
  public var adapter = AdapterConfiguration()
  /// Passes over the training examples.
  public var epochs = 2
  /// Examples of a step.
  public var batchSize = 8
  /// The peak learning rate.
  public var learningRate: Float = 1e-3
  /// The share of all steps that warms up.
  public var warmUp: Float = 0.1
  /// Moments and weight decay.
  public var optimizer = AdamW()
  /// The largest gradient norm; a longer gradient is scaled down to it.
  public var clipNorm: Float = 1
  /// The most bytes that the run may hold, weights included; nil for no limit. See ``MemoryPlan``.
  public var memoryLimit: Int?
  /// The seed of everything random.
  public var seed: UInt64 = 0

  /// The defaults of `dibit train`.
  public init() {}
}

/// What a training run reports while it works.
public enum TrainingEvent: Equatable, Sendable {
  /// Step `step` of `of`: mean loss in nats per answer token, learning rate, gradient norm before clipping, tokens seen so far.
  case step(Int, of: Int, loss: Float, learningRate: Float, gradientNorm: Float, tokens: Int)
  /// Mean losses in nats per answer token and per label token over the validation examples.
  case validation(epoch: Int, loss: Float, contentLoss: Float)
}

/// What became of a run.
public struct TrainingResult: Equatable, Sendable {
  /// Steps that were done.
  public var steps = 0
  /// Steps that were planned.
  public var totalSteps = 0
  /// Tokens that went through the model in training steps.
  public var tokens = 0
  /// Mean loss over the steps of the last epoch, in nats per answer token.
  public var trainingLoss: Float = 0
  /// The last validation losses; nil without validation examples.
  public var validationLoss: Float?
  /// As ``validationLoss``, over the tokens of labels alone.
  public var validationContentLoss: Float?
  /// Examples whose text was cut, and the tokens that were lost.
  public var truncatedExamples = 0
  /// Tokens that were cut off in all.
  public var truncatedTokens = 0
  /// Whether the run was stopped before its last step.
  public var wasInterrupted: Bool { steps < totalSteps }

  /// A run that has not begun.
  public init() {}
}

/// Why training cannot start or go on.
public enum TrainingError: Error, Equatable, Sendable, CustomStringConvertible {
  case noExamples
  case noRoom(path: String, tokens: Int, maximum: Int)
  case diverged(step: Int)
  case tooLittleText(tokens: Int, needed: Int)
  case conversation(ConversationError)

  /// One sentence: what, what was expected and found, and what to do.
  public var description: String {
    switch self {
    case .noExamples: "there is no training example"
    case .noRoom(let path, let tokens, let maximum):
      "'\(path)': prompt and answer need \(tokens) tokens even without the text, but the limit is \(maximum): raise --max-tokens or shorten the label"
    case .diverged(let step): "step \(step): the loss is not a number any more: lower --learning-rate"
    case .tooLittleText(let tokens, let needed): "the text has \(tokens) tokens; at least \(needed) are needed"
    case .conversation(let error): "\(error)"
    }
  }
}
