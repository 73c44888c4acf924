/// What a training run reports while it works. Progress line, event log and TensorBoard are views of it.
///
/// Everything but ``measured`` follows from model, data and options: the same run reports the same, however often it is stopped.
public struct TrainingEvent: Equatable, Sendable {
  /// The version of the schema; a change of meaning raises it.
  public static let schema = 1

  /// What the run will do.
  public struct Start: Equatable, Sendable {
    /// `adapter` or `weights`.
    public var mode: String
    /// Steps that were done before, by the run that this one goes on with.
    public var step: Int
    /// Steps in all.
    public var totalSteps: Int
    /// Numbers that are trained.
    public var parameters: Int
    /// Training examples or tokens of training text.
    public var examples: Int
    /// Validation examples or tokens of validation text.
    public var validationExamples: Int
  }

  /// A step that was done.
  public struct Step: Equatable, Sendable {
    /// Its number, from 1.
    public var step: Int
    /// Steps in all.
    public var totalSteps: Int
    /// The pass over the data, from 1.
    public var epoch: Int
    /// Tokens that went through the model so far.
    public var tokens: Int
    /// Mean loss in nats per learnt token.
    public var loss: Float
    /// Mean loss in nats per content token.
    public var contentLoss: Float
    /// The learning rate.
    public var learningRate: Float
    /// The norm of the gradient before clipping.
    public var gradientNorm: Float
  }

  /// A look at the validation data.
  public struct Validation: Equatable, Sendable {
    /// The step after which it was taken.
    public var step: Int
    /// The pass over the data, from 1.
    public var epoch: Int
    /// Mean loss in nats per learnt token.
    public var loss: Float
    /// Mean loss in nats per content token, what runs are judged by.
    public var contentLoss: Float
    /// Whether it is the lowest so far.
    public var isBest: Bool
  }

  /// A checkpoint that is on the disk.
  public struct Checkpoint: Equatable, Sendable {
    /// The step that the run can go on from.
    public var step: Int
    /// Its size in bytes.
    public var bytes: Int
  }

  /// The end of a run.
  public struct End: Equatable, Sendable {
    /// Steps that were done.
    public var step: Int
    /// Why.
    public var reason: TrainingResult.End
    /// The step whose parameters are kept.
    public var keptStep: Int
  }

  /// What happened.
  public enum Kind: Equatable, Sendable {
    case start(Start)
    case step(Step)
    case validation(Validation)
    case checkpoint(Checkpoint)
    case end(End)
  }

  /// What the clock and the system say; differs from run to run.
  public struct Measured: Equatable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC.
    public var time: Double
    /// Seconds since this process began to train.
    public var seconds: Double
    /// Tokens in each second over the last steps.
    public var tokensPerSecond: Double
    /// The most memory that the process has held, in bytes; nil where the system does not say.
    public var memoryBytes: Int?
    /// Seconds until the last step at this rate.
    public var secondsLeft: Double
  }

  /// What happened.
  public var kind: Kind
  /// What the clock and the system say of it.
  public var measured: Measured
}
