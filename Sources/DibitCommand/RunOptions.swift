internal import ArgumentParser
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

/// Settings that win over a recipe, in its own words.
struct RecipeSettings: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A setting in the words of a recipe, such as batch_size=8; it wins over the recipe. May be given again.",
      valueName: "key=value"))
  var set: [String] = []
}

/// Options of the commands that train: how a run is kept, taken up again and watched.
struct RunOptions: ParsableArguments {
  @OptionGroup var settings: RecipeSettings

  @Flag(help: "Go on with the run that was stopped, from its newest whole checkpoint; begin where there is none.") var resume = false

  @Option(
    help: ArgumentHelp(
      "Write a checkpoint every so many steps; otherwise about every two minutes. The result does not depend on it.", valueName: "n"))
  var checkpointEvery: Int?

  @Option(help: ArgumentHelp("Write event files for TensorBoard there.", valueName: "folder")) var tensorboard: String?

  @Option(
    help: ArgumentHelp(
      "The most memory to hold, weights included, such as 800M or 2G; less of it makes a step slower and changes no result.",
      valueName: "size"))
  var memoryLimit: String?

  /// Bytes of the limit; nil without one.
  func memoryLimitBytes() throws -> Int? { try memoryLimit.map { try MemorySize(option: "--memory-limit", $0).bytes } }

  func validate() throws {
    _ = try memoryLimitBytes()
    if let checkpointEvery, checkpointEvery < 1 {
      throw ValidationError("--checkpoint-every: expected at least 1, found \(checkpointEvery)")
    }
  }

  /// Returns the interval at which to write checkpoints; the command line wins over the recipe.
  func interval(_ recipe: OptimizationRecipe?) -> CheckpointInterval {
    (checkpointEvery ?? recipe?.checkpointSteps).map { .steps($0) } ?? .seconds(120)
  }
}

extension RunOptions {
  /// Checks that no output of the run may destroy what it reads, before anything is written.
  func checkOutputs(_ output: String, _ inputs: JobInputs) throws {
    try inputs.check(output: output)
    let checkpoints = try JobDirectory.path(of: output)
    try inputs.check(output: checkpoints)
    if let tensorboard { try inputs.adding([output, checkpoints]).check(folder: tensorboard) }
  }

  /// Returns the message of a stopped run.
  func interruption(_ result: TrainingResult, _ checkpoints: CheckpointStore) -> Failure {
    Failure(
      .interrupted,
      "interrupted after step \(grouped(result.steps)) of \(grouped(result.totalSteps)): its checkpoint is in '\(checkpoints.path)'; "
        + "the same command with --resume goes on")
  }
}
