internal import ArgumentParser
internal import DibitInference

/// The choice of tokens, on the command line.
struct SamplingArguments: ParsableArguments {
  @Option(help: "0 takes the most likely token; higher is more random.") var temperature = 0.0
  @Option(help: "Choose among the k most likely tokens; 0 for all.") var topK = 0
  @Option(help: "Choose among the most likely tokens that reach this probability together.") var topP = 1.0
  @Option(help: "Choose among tokens at least so likely compared with the most likely one.") var minP = 0.0
  @Option(help: "Divide the logits of recent tokens, multiply negative ones; 1 for no penalty.") var repetitionPenalty = 1.0
  @Option(help: "How many of the last tokens are recent.") var repetitionWindow = 64
  @Option(help: "The seed of the choice.") var seed: UInt64 = 0

  func validate() throws {
    guard (0...100).contains(temperature) else {
      throw ValidationError("--temperature: expected a number from 0 to 100, found \(temperature)")
    }
    guard topK >= 0 else { throw ValidationError("--top-k: expected 0 or more, found \(topK)") }
    guard topP > 0, topP <= 1 else { throw ValidationError("--top-p: expected a number above 0 and up to 1, found \(topP)") }
    guard (0...1).contains(minP) else { throw ValidationError("--min-p: expected a number from 0 to 1, found \(minP)") }
    guard (0.01...100).contains(repetitionPenalty) else {
      throw ValidationError("--repetition-penalty: expected a number from 0.01 to 100, found \(repetitionPenalty)")
    }
    guard repetitionWindow >= 0 else { throw ValidationError("--repetition-window: expected 0 or more, found \(repetitionWindow)") }
  }

  /// The options that the sampler takes.
  var options: SamplingOptions {
    var options = SamplingOptions()
    options.temperature = Float(temperature)
    options.topK = topK
    options.topP = Float(topP)
    options.minP = Float(minP)
    options.repetitionPenalty = Float(repetitionPenalty)
    options.repetitionWindow = repetitionWindow
    options.seed = seed
    return options
  }
}
