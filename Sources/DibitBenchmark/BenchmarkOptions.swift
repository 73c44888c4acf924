/// The settings of a benchmark: what is measured, and how often.
package struct BenchmarkOptions: Equatable, Sendable {
  /// Tokens of the prompt whose reading is timed.
  package var promptTokens = 512
  /// Tokens that are decoded, one by one.
  package var decodeTokens = 32
  /// Tokens in the cache when decoding begins.
  package var context = 0
  /// The number of times that everything is repeated; medians are reported.
  package var runs = 5
  /// The time for which the machine's bandwidth is measured before and after each run of decoding, in seconds; with zero only one pass.
  package var machineSeconds = 0.05
  /// The seed of the tokens.
  package var seed: UInt64 = 0

  /// 512 tokens of prompt, 32 decoded from an empty context, five runs.
  package init() {}

  /// Tokens of the prompt whose first answer is timed.
  package static let firstPrompt = 16
  /// Decoded tokens that a profile looks at.
  static let profiledTokens = 8

  /// Tokens that must fit the model's context.
  package var contextNeeded: Int { max(promptTokens, context + max(decodeTokens, Self.profiledTokens), Self.firstPrompt) }
}

/// The steps of a benchmark.
package enum BenchmarkStep: String, Sendable {
  case writing = "writing a model"
  case loading = "loading"
  case prefill = "reading prompts"
  case decode = "decoding"
  case profile = "profiling"
}
