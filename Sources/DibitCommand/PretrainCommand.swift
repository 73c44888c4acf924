internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
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

  func validate() throws {
    if let steps, steps < 1 { throw ValidationError("--steps: expected at least 1, found \(steps)") }
  }

  func run() throws {
    Interrupt.listen()
    let recipe = try loadRecipe()
    let compute = try compute.makeCompute(for: recipe.optimization)
    let limit = try training.memoryLimitBytes()
    // An output that is in the way is told before the work, not after it.
    let inputs = JobInputs([self.recipe, recipe.initial]).adding(recipe.data + recipe.validationData)
    let output = PretrainingJob.Output(self.output, inputs: inputs)
    let replaced = overwrite ? PretrainingJob.mark : nil
    try training.checkOutputs(output.path, inputs)
    if !training.resume { _ = try StagedDirectory(destination: output.path, replacing: replaced, inputs: inputs).destination }
    var line: ProgressLine?
    func show(_ event: PretrainingJob.Event) -> Bool {
      switch event {
      case .tokenizer(let size): Terminal.write("training a tokenizer of \(size) tokens\n")
      case .reading(let isHeldOut, let bytes, let total, let isOver):
        var bar = line ?? ProgressLine(isHeldOut ? "tokenizing the held-out text" : "tokenizing the text")
        if isOver { bar.finish() } else { bar.update(bytes, of: total, size(bytes)) }
        line = isOver ? nil : bar
      case .finding(let text): Terminal.write("note: \(text)\n")
      case .cooccurrence: Terminal.write("counting what company the tokens keep\n")
      }
      return !Interrupt.isRequested
    }
    defer { line?.finish() }
    var job = try PretrainingJob(recipe, from: self.recipe, memoryLimit: limit, on: compute, report: show)
    if training.resume, try job.isComplete(output) {
      return Output.print("'\(output.path)' is the finished model of this run")
    }
    let directory = try StagedDirectory(destination: output.path, replacing: replaced, inputs: inputs)
    Terminal.write("\(counted(job.textTokens, "training token")), \(grouped(job.validationTokens)) held out\n")
    var trainer = try job.makeTrainer(resumes: training.resume, report: show)
    let parameters = trainer.parameterCount
    let checkpoints = try CheckpointStore(
      output: output.path, inputs: inputs, identity: job.identity, interval: training.interval(recipe.optimization),
      resumes: training.resume, discards: overwrite)
    for name in checkpoints.skipped { Terminal.write("note: '\(name)' in '\(checkpoints.path)' is not whole; it was passed over\n") }
    var view = try RunView("pretraining", tensorboard: training.tensorboard, inputs: inputs)
    let result = try trainer.run(checkpoints: checkpoints) { event in
      view.show(event)
      return !Interrupt.isRequested
    }
    view.finish()
    guard !result.wasInterrupted else { throw training.interruption(result, checkpoints) }
    try job.write(trainer, result, checkpoints, into: directory)
    Output.print(
      "\(counted(parameters, "parameter")), \(counted(result.steps, "step")), \(counted(result.tokens, "token"))\(view.summary(result))")
    Terminal.wrote(output.path)
  }

  private func loadRecipe() throws -> PretrainingRecipe {
    let text = String(decoding: try readFile(recipe, limit: 1 << 20), as: UTF8.self)
    var recipe = try PretrainingRecipe(yaml: text, file: recipe, settings: training.settings.set)
    recipe.steps = steps ?? recipe.steps
    return recipe
  }
}
