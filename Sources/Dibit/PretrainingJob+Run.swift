package import DibitFiles
package import DibitJSON
package import DibitTraining

/// A training on plain text: of weights of a model, or of an adapter without labels.
package protocol WeightTraining: ~Copyable {
  /// The identity of the run: all that the bytes of the output depend on.
  var identity: RunIdentity { get }
  /// Training tokens.
  var textTokens: Int { get }
  /// Tokens that are held out.
  var validationTokens: Int { get }

  /// Reads what the manifest of an output says of its training; nil where there is none.
  static func training(of output: String) throws -> JSONValue?

  /// Makes the trainer of a run that keeps its checkpoints there. The weights of a run that goes on are those of its checkpoint.
  mutating func makeTrainer(_ checkpoints: CheckpointStore, report: (PretrainingJob.Event) -> Bool) throws -> Pretrainer

  /// Writes the model of a run that came to its end into `directory`.
  consuming func write(
    _ trainer: consuming Pretrainer, _ result: TrainingResult, _ checkpoints: CheckpointStore, into directory: consuming StagedDirectory
  ) throws
}

extension WeightTraining where Self: ~Copyable {
  /// Checks whether an output is that of this very job, which was stopped after its last step; its checkpoints are removed.
  package func isComplete(_ output: PretrainingJob.Output) throws -> Bool {
    guard let training = try? Self.training(of: output.path), training["run_sha256"]?.string == identity.digest else { return false }
    try CheckpointStore.remove(of: output.path, inputs: output.inputs)
    return true
  }
}

extension PretrainingJob {
  /// A training into a directory, which appears when it is done.
  package struct Run<Training: WeightTraining & ~Copyable>: ~Copyable {
    /// The place of its checkpoints.
    package let checkpoints: CheckpointStore
    private let job: Training
    private var trainer: Pretrainer
    private let directory: StagedDirectory

    /// Opens the output and finds the checkpoint to go on from; `report` is told of those that were passed over.
    package init(_ job: consuming Training, into output: Output, report: (Event) -> Bool) throws {
      let directory = try StagedDirectory(destination: output.path, replacing: output.replaced, inputs: output.inputs)
      let checkpoints = try CheckpointStore(
        output: output.path, inputs: output.inputs, identity: job.identity, interval: output.interval, resumes: output.resumes,
        discards: output.overwrites)
      for finding in checkpoints.findings { _ = report(.finding(finding)) }
      let trainer = try job.makeTrainer(checkpoints, report: report)
      self.checkpoints = checkpoints
      self.job = job
      self.trainer = trainer
      self.directory = directory
    }

    /// Numbers that are trained.
    package var parameterCount: Int { trainer.parameterCount }

    /// Trains; `report` is told what happens and stops the run, which then leaves a checkpoint, by returning false.
    package mutating func train(report: (TrainingEvent) -> Bool) throws(TrainingError) -> TrainingResult {
      try trainer.run(checkpoints: checkpoints, report: report)
    }

    /// Writes the model of a run that came to its end and removes its checkpoints.
    package consuming func write(_ result: TrainingResult) throws {
      try job.write(trainer, result, checkpoints, into: directory)
    }
  }
}
