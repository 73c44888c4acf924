/// A report that a training run makes while it works. Progress line, event log and TensorBoard are views of it.
///
/// Everything but ``measured`` follows from model, data and options: the same run reports the same, however often it is stopped.
package struct TrainingEvent: Equatable, Sendable {
  /// The version of the schema; a change of meaning raises it.
  package static let schema = 1

  /// The work that the run will do.
  package struct Start: Equatable, Sendable {
    /// The parameters that are trained.
    package var mode: Mode
    /// Steps that were done before, by the run that this one goes on with.
    package var step: Int
    /// Steps in all.
    package var totalSteps: Int
    /// Numbers that are trained.
    package var parameters: Int
    /// Training examples or tokens of training text.
    package var examples: Int
    /// Validation examples or tokens of validation text.
    package var validationExamples: Int
  }

  /// The parameters that a run trains.
  package enum Mode: String, Equatable, Sendable {
    /// An adapter of a model that stays as it is.
    case adapter
    /// All weights of a model.
    case weights
  }

  /// A step that was done.
  package struct Step: Equatable, Sendable {
    /// Its number, from 1.
    package var step: Int
    /// Steps in all.
    package var totalSteps: Int
    /// The pass over the data, from 1.
    package var epoch: Int
    /// Tokens that went through the model so far.
    package var tokens: Int
    /// Mean loss in nats per learnt token.
    package var loss: Float
    /// Mean loss in nats per content token.
    package var contentLoss: Float
    /// The learning rate.
    package var learningRate: Float
    /// The norm of the gradient before clipping.
    package var gradientNorm: Float
  }

  /// A look at the validation data.
  package struct Validation: Equatable, Sendable {
    /// The step after which it was taken.
    package var step: Int
    /// The pass over the data, from 1.
    package var epoch: Int
    /// Mean loss in nats per learnt token.
    package var loss: Float
    /// Mean loss in nats per content token, what runs are judged by.
    package var contentLoss: Float
    /// True when it is the lowest so far.
    package var isBest: Bool
  }

  /// A checkpoint that is on the disk.
  package struct Checkpoint: Equatable, Sendable {
    /// The step that the run can go on from.
    package var step: Int
    /// Its size in bytes.
    package var bytes: Int
  }

  /// The end of a run.
  package struct End: Equatable, Sendable {
    /// Steps that were done.
    package var step: Int
    /// The reason for the end.
    package var reason: TrainingResult.End
    /// The step whose parameters are kept.
    package var keptStep: Int
  }

  /// An occurrence in a run.
  package enum Kind: Equatable, Sendable {
    case start(Start)
    case step(Step)
    case validation(Validation)
    case checkpoint(Checkpoint)
    case end(End)
  }

  /// The readings of the clock and the system; they differ from run to run.
  package struct Measured: Equatable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC.
    package var time: Double
    /// Seconds since this process began to train.
    package var seconds: Double
    /// Tokens in each second over the last steps.
    package var tokensPerSecond: Double
    /// The most memory that the process has held, in bytes; nil where the system does not say.
    package var memoryBytes: Int?
    /// Seconds until the last step at this rate.
    package var secondsLeft: Double
  }

  /// The occurrence that is reported.
  package var kind: Kind
  /// The readings of the clock and the system for it.
  package var measured: Measured
}
