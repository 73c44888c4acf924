internal import ArgumentParser
internal import Dibit

/// The choice of tokens, on the command line.
struct SamplingArguments: ParsableArguments {
  @Option(help: "0 takes the most likely token; higher is more random.") var temperature = 0.0
  @Option(help: "Choose among the k most likely tokens; 0 for all.") var topK = 0
  @Option(help: "Choose among the most likely tokens that reach this probability together.") var topP = 1.0
  @Option(help: "Choose among tokens at least so likely compared with the most likely one.") var minP = 0.0
  @Option(help: "Divide the logits of recent tokens, multiply negative ones; 1 for no penalty.") var repetitionPenalty = 1.0
  @Option(help: "How many of the last tokens are recent.") var repetitionWindow = 64
  @Option(help: "The seed of the choice.") var seed: UInt64 = 0

  /// The options of an answer of so many tokens at most that ends before `stopStrings`.
  func options(_ maximumTokens: Int, _ stopStrings: [String]) -> Response.Options {
    var options = Response.Options(maximumTokens: maximumTokens)
    (options.temperature, options.topK, options.topP, options.minP) = (temperature, topK, topP, minP)
    (options.repetitionPenalty, options.repetitionWindow) = (repetitionPenalty, repetitionWindow)
    (options.seed, options.stopStrings) = (seed, stopStrings)
    return options
  }
}
