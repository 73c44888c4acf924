internal import ArgumentParser
internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitQuantization
internal import DibitRecipe
internal import DibitTraining

struct RecoverCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Train an adapter that brings back what rounding took from a model.",
    discussion: """
      Example: dibit recover ./llama-2bit --reference ./llama --output ./llama-2bit-recovered
      Example: dibit generate ./llama-2bit-recovered "Why is the sky blue?"
      Example: dibit train ./llama-2bit-recovered --data ./notes --output ./notes-adapter

      The model's weights stay as they are; low-rank matrices beside them learn to predict what the float checkpoint predicts. Without --data
      the float model writes the text to learn from itself. The result is the model with these matrices inside, which every command applies.
      With --as-adapter it is an adapter as any other, without labels.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the output has the same bytes as without the stop.
      """)

  @Argument(help: "The converted model's directory.") var model: String
  @Option(help: ArgumentHelp("The float checkpoint that it was converted from.", valueName: "checkpoint")) var reference: String
  @OptionGroup var text: DistillationArguments
  @Option(name: .shortAndLong, help: "The model directory to create; with --as-adapter that of an adapter.") var output: String
  @Option(help: ArgumentHelp("The rank of the adapter; by default 16.", valueName: "n")) var rank: Int?
  @Option(
    help: ArgumentHelp(
      "Bits of its matrices inside of the model: \(QuantizationScheme.words(QuantizationScheme.Recovery.bitChoices)); by default 4.",
      valueName: "n")) var bits: Int?
  @Flag(help: "Write an adapter, in floats, and not a model with the adapter inside.") var asAdapter = false
  @Flag(help: "Replace an existing output, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @OptionGroup var training: RunOptions
  @OptionGroup var compute: ComputeOptions

  private var options: Recovery.Options {
    var options = Recovery.Options()
    (options.settings, options.steps, options.ownText, options.rank) = (training.settings.set, text.steps, text.ownText, rank)
    options.bits = asAdapter ? nil : bits ?? options.bits
    return options
  }

  func validate() throws {
    if asAdapter, bits != nil { throw ValidationError("--bits: expected none beside --as-adapter, which keeps floats") }
    try checkOptions(options.check)
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try options.recipe()
    let compute = try compute.makeCompute(for: recipe.training.optimization)
    let inputs = DistillationInputs(checkpoint: reference, model: model, texts: text.data, ownTokens: text.ownText)
    var output = RecoveryJob.output(self.output, of: inputs, bits: options.bits)
    output.overwrites = overwrite
    try PretrainingView.run("recovering", making: asAdapter ? "adapter" : "model", into: output, training, recipe.training.optimization) {
      try RecoveryJob(inputs, recipe: recipe, bits: options.bits, memoryLimit: $0, on: compute, report: $1)
    }
  }
}
