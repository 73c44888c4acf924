internal import ArgumentParser
internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitRecipe
internal import DibitTraining

struct QATCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "qat",
    abstract: "Train the weights and scales of a converted model towards its float checkpoint.",
    discussion: """
      Example: dibit convert ./llama --calibrate --output ./llama-2bit
      Example: dibit qat ./llama --from ./llama-2bit --output ./llama-2bit-qat
      Example: dibit qat ./llama --from ./llama-2bit --data ./texts --output ./llama-2bit-qat

      Quantisation-aware training: every pass runs weights on the model's grid, through the kernels that ship, and what is minimised is the
      divergence of its predictions from those of the float checkpoint, which runs beside it. Without --data the float model writes the text itself. Any plain text will
      do: no labels are needed, and the more of it, and the more like what the model will read, the better. The result is a model as any other.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the model has the same bytes as without the stop.
      """)

  @Argument(help: "The float checkpoint's directory or file.") var checkpoint: String
  @Option(help: ArgumentHelp("The model that was converted from it, as which training begins.", valueName: "model")) var from: String
  @OptionGroup var text: DistillationArguments
  @Option(name: .shortAndLong, help: "The model directory to create.") var output: String
  @Flag(help: "Replace an existing model, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @OptionGroup var training: RunOptions
  @OptionGroup var compute: ComputeOptions

  private var options: GridTraining.Options {
    var options = GridTraining.Options()
    (options.settings, options.steps, options.ownText) = (training.settings.set, text.steps, text.ownText)
    return options
  }

  func validate() throws { try checkOptions(options.check) }

  func run() throws {
    Interrupt.listen()
    let recipe = try options.recipe()
    let compute = try compute.makeCompute(for: recipe.training.optimization)
    let limit = try training.memoryLimitBytes()
    let inputs = DistillationInputs(checkpoint: checkpoint, model: from, texts: text.data, ownTokens: text.ownText)
    // An output that is in the way is told before the work, not after it.
    var output = GridTrainingJob.output(self.output, of: inputs)
    (output.overwrites, output.resumes, output.interval) = (overwrite, training.resume, training.interval(recipe.training.optimization))
    try training.checkOutputs(output.path, output.inputs)
    if !training.resume { try output.check() }
    let view = PretrainingView()
    defer { view.finish() }
    let job = try GridTrainingJob(inputs, recipe: recipe, memoryLimit: limit, on: compute, report: view.show)
    if training.resume, try job.isComplete(output) {
      return Output.print("'\(output.path)' is the finished model of this run")
    }
    Terminal.write("\(counted(job.textTokens, "training token")), \(grouped(job.validationTokens)) held out\n")
    try view.train(PretrainingJob.Run(job, into: output, report: view.show), "training on the grid", output, training)
  }
}
