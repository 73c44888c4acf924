/// The options by which a text is continued.
package struct GenerationOptions: Equatable, Sendable {
  /// The most tokens to make.
  package var maximumTokens = 256
  /// The rules by which a token is chosen.
  package var sampling = SamplingOptions()
  /// Tokens that end the text and are not part of it.
  package var stopTokens: Set<Int32> = []
  /// Strings that end the text and are not part of it. They are looked for in what is generated, not in the prompt, byte by byte; empty ones
  /// are ignored.
  package var stopStrings: [String] = []
  /// The number of alternatives that are kept with the log-probability of each token; nil keeps no log-probabilities.
  package var logProbabilities: Int?
  /// True when those of the prompt are kept too. Then the logits of all its tokens are computed, not only of the last.
  package var scoresPrompt = false

  /// Greedy, up to 256 tokens.
  package init() {}
}

/// The reason for which a generation ended.
package enum FinishReason: String, Sendable {
  /// At a stop token or a stop string.
  case stop
  /// The most tokens were made, or the context is full.
  case length
  /// The receiver asked for it.
  case interrupted
}

/// A generated text.
package struct Generation: Equatable, Sendable {
  /// The continuation, without the prompt.
  package var text = ""
  /// Its tokens. If the text ends at a stop string, they reach to its end and may go a little beyond.
  package var tokens: [Int32] = []
  /// The reason for which it ended.
  package var finishReason = FinishReason.length
  /// The stop string at which it ended, if it was one.
  package var stopString: String?
  /// The stop token at which it ended, if it was one.
  package var stopToken: Int32?
  /// The log-probability of each of the tokens; empty unless asked for.
  package var logProbabilities: [ScoredToken] = []
  /// The log-probability of each token of the prompt, nil for a token with nothing before it; empty unless asked for.
  package var promptLogProbabilities: [ScoredToken?] = []

  /// No text yet.
  package init() {}
}
