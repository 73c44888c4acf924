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
      do, and so will conversations, {"messages": [...]} on each line of a .jsonl file: no labels are needed, and the more of it, and the more like what the model will read, the better. The result is a model as any other.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the model has the same bytes as without the stop.
      """)

  @Argument(help: "The float checkpoint's directory or file.") var checkpoint: String
  @Option(help: ArgumentHelp("The model that was converted from it, as which training begins.", valueName: "model")) var from: String
  @OptionGroup var text: DistillationArguments
  @Flag(help: "Train scales, norms and biases alone, in a fraction of the memory: weights stay on their levels.") var scalesOnly = false
  @Option(name: .shortAndLong, help: "The model directory to create.") var output: String
  @Flag(help: "Replace an existing model, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @OptionGroup var training: RunOptions
  @OptionGroup var compute: ComputeOptions

  private var options: GridTraining.Options {
    var options = GridTraining.Options()
    (options.settings, options.steps, options.ownText) = (training.settings.set, text.steps, text.ownText)
    options.scalesOnly = scalesOnly
    return options
  }

  func validate() throws { try checkOptions(options.check) }

  func run() throws {
    Interrupt.listen()
    let recipe = try options.recipe()
    let compute = try compute.makeCompute(for: recipe.training.optimization)
    let inputs = DistillationInputs(checkpoint: checkpoint, model: from, texts: text.data, ownTokens: text.ownText)
    var output = GridTrainingJob.output(self.output, of: inputs)
    output.overwrites = overwrite
    try PretrainingView.run("training on the grid", making: "model", into: output, training, recipe.training.optimization) {
      try GridTrainingJob(inputs, recipe: recipe, memoryLimit: $0, on: compute, report: $1)
    }
  }
}
