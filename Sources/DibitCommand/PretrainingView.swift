internal import Dibit
internal import DibitFailure
internal import DibitFiles
internal import DibitRecipe
internal import DibitTraining

/// The terminal while all weights of a model are trained.
final class PretrainingView {
  private var line: ProgressLine?

  /// Shows an event before the first step; false when the user asks to stop.
  func show(_ event: PretrainingJob.Event) -> Bool {
    switch event {
    case .tokenizer(let size): Terminal.write("training a tokenizer of \(size) tokens\n")
    case .reading(let isHeldOut, let bytes, let total, let isOver):
      var bar = line ?? ProgressLine(isHeldOut ? "tokenizing the held-out text" : "tokenizing the text")
      if isOver { bar.finish() } else { bar.update(bytes, of: total, size(bytes)) }
      line = isOver ? nil : bar
    case .writing(let tokens, let total):
      var bar = line ?? ProgressLine("the float model writes text")
      if tokens < total { bar.update(tokens, of: total, counted(tokens, "token")) } else { bar.finish() }
      line = tokens < total ? bar : nil
    case .finding(let text): Terminal.note(text)
    case .cooccurrence: Terminal.write("counting what company the tokens keep\n")
    }
    return !Interrupt.isRequested
  }

  /// Ends a line that was not over.
  func finish() { line?.finish() }

  /// Makes a training, which `noun` comes of, trains under a title, writes the output and says what came of it.
  ///
  /// - Parameters:
  ///   - output: The output, as the options of the run say.
  ///   - make: makes the training that holds at most so many bytes, and reports what happens.
  static func run<Training: WeightTraining & ~Copyable>(
    _ title: String, making noun: String, into output: PretrainingJob.Output, _ options: RunOptions, _ recipe: OptimizationRecipe,
    _ make: (_ memoryLimit: Int?, _ report: (PretrainingJob.Event) -> Bool) throws -> Training
  ) throws {
    let limit = try options.memoryLimitBytes()
    var output = output
    (output.resumes, output.interval) = (options.resume, options.interval(recipe))
    // An output that is in the way is told before the work, not after it.
    try options.checkOutputs(output.path, output.inputs)
    if !options.resume { try output.check() }
    let view = PretrainingView()
    defer { view.finish() }
    let job = try make(limit, view.show)
    if options.resume, try job.isComplete(output) { return Output.print("'\(output.path)' is the finished \(noun) of this run") }
    Terminal.write("\(counted(job.textTokens, "training token")), \(grouped(job.validationTokens)) held out\n")
    try view.train(PretrainingJob.Run(job, into: output, report: view.show), title, output, options)
  }

  /// Trains under a title, writes the model, and says what came of it.
  private func train<Training: WeightTraining & ~Copyable>(
    _ run: consuming PretrainingJob.Run<Training>, _ title: String, _ output: PretrainingJob.Output, _ options: RunOptions
  ) throws {
    var run = run
    let parameters = run.parameterCount
    var view = try RunView(title, tensorboard: options.tensorboard, inputs: output.inputs)
    let result = try run.train { event in
      view.show(event)
      return !Interrupt.isRequested
    }
    view.finish()
    guard !result.wasInterrupted else { throw options.interruption(result, run.checkpoints) }
    try run.write(result)
    Output.print(
      "\(counted(parameters, "parameter")), \(counted(result.steps, "step")), \(counted(result.tokens, "token"))\(view.summary(result))")
    Terminal.wrote(output.path)
  }
}
