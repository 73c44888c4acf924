/// The outcome of a run.
package struct TrainingResult: Equatable, Sendable {
  /// The reason for which a run ended.
  package enum End: String, Equatable, Sendable {
    /// All steps were done.
    case completed = "finished"
    /// Validation did not get better for as many times as `patience` says.
    case stoppedEarly = "stopped early"
    /// The caller asked for it.
    case interrupted
    /// The watchdog ended it; the run throws.
    case diverged
  }

  /// The reason for which it ended.
  package var end = End.completed
  /// Steps that were done.
  package var steps = 0
  /// Steps that were planned.
  package var totalSteps = 0
  /// Tokens that went through the model in training steps.
  package var tokens = 0
  /// Mean loss over the steps of the last epoch, or since the last but one validation, in nats per learnt token.
  package var trainingLoss: Float = 0
  /// The validation losses of what is kept; nil without validation examples.
  package var validationLoss: Float?
  /// As ``validationLoss``, over the tokens of labels alone.
  package var validationContentLoss: Float?
  /// The step whose parameters are kept; the last one but where the best ones are.
  package var keptStep = 0
  /// Examples whose text was cut, and the tokens that were lost.
  package var truncatedExamples = 0
  /// Tokens that were cut off in all.
  package var truncatedTokens = 0
  /// The course of the losses.
  package var curve = LossCurve()
  /// True when the run was stopped before its last step.
  package var wasInterrupted: Bool { end == .interrupted }

  /// A run that has not begun.
  package init() {}
}
