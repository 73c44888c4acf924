/// What is measured, and how often.
public struct BenchmarkOptions: Equatable, Sendable {
  /// Tokens of the prompt whose reading is timed.
  public var promptTokens = 512
  /// Tokens that are decoded, one by one.
  public var decodeTokens = 32
  /// Tokens in the cache when decoding begins.
  public var context = 0
  /// How often everything is repeated; medians are reported.
  public var runs = 5
  /// How long the machine's bandwidth is measured before and after each run of decoding; with zero only one pass.
  public var machineSeconds = 0.05
  /// The seed of the tokens.
  public var seed: UInt64 = 0

  /// 512 tokens of prompt, 32 decoded from an empty context, five runs.
  public init() {}

  /// Tokens of the prompt whose first answer is timed.
  public static let firstPrompt = 16
  /// Decoded tokens that a profile looks at.
  static let profiledTokens = 8

  /// Tokens that must fit the model's context.
  public var contextNeeded: Int { max(promptTokens, context + max(decodeTokens, Self.profiledTokens), Self.firstPrompt) }
}

/// What a benchmark is doing.
public enum BenchmarkStep: String, Sendable {
  case writing = "writing a model"
  case loading = "loading"
  case prefill = "reading prompts"
  case decode = "decoding"
  case profile = "profiling"
}
