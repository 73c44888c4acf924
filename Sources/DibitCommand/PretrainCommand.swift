internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

struct PretrainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pretrain",
    abstract: "Train a small float model from scratch on plain text.",
    discussion: """
      Example: dibit pretrain recipes/base/text.yaml --output ./base

      The recipe names the text, the model's shape and the training. The result is a float checkpoint for 'dibit convert'.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the model has the same bytes as without the stop. A run
      with a constant learning rate may then be made shorter or longer with --steps.
      """)

  @Argument(help: "The recipe, a YAML file.") var recipe: String
  @Option(name: .shortAndLong, help: "The checkpoint directory to create.") var output: String
  @Option(help: ArgumentHelp("Training steps, instead of the recipe's.", valueName: "n")) var steps: Int?
  @Flag(help: "Replace an existing model, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @OptionGroup var training: RunOptions
  @OptionGroup var compute: ComputeOptions

  private var options: Pretraining.Options {
    var options = Pretraining.Options(recipe: recipe)
    (options.settings, options.steps) = (training.settings.set, steps)
    return options
  }

  func validate() throws { try checkOptions(options.check) }

  func run() throws {
    Interrupt.listen()
    let recipe = try options.readRecipe()
    let compute = try compute.makeCompute(for: recipe.optimization)
    var output = PretrainingJob.output(self.output, of: recipe, from: self.recipe)
    output.overwrites = overwrite
    try PretrainingView.run("pretraining", making: "model", into: output, training, recipe.optimization) {
      try PretrainingJob(recipe, from: self.recipe, memoryLimit: $0, on: compute, report: $1)
    }
  }
}
