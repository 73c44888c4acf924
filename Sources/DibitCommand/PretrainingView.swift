internal import Dibit
internal import DibitFailure
internal import DibitFiles
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

  /// Trains under a title, writes the model, and says what came of it.
  func train<Training: WeightTraining & ~Copyable>(
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
