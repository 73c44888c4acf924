extension GenerationOptions {
  /// A way in which the tokens of an answer are chosen.
  public struct SamplingMode: Sendable, Equatable {
    /// The ways, with their numbers.
    public enum Kind: Sendable, Equatable {
      /// The most likely token each time.
      case greedy
      /// One of the most likely tokens, this many of them.
      case randomTopK(Int, seed: UInt64?)
      /// One of the most likely tokens that reach this probability together.
      case randomProbabilityThreshold(Double, seed: UInt64?)
    }

    /// The way, with its numbers.
    public let kind: Kind

    /// Takes the most likely token each time: the same prompt gives the same answer.
    public static var greedy: SamplingMode { SamplingMode(kind: .greedy) }

    /// Draws among the most likely tokens, a fixed number of them.
    ///
    /// - Parameters:
    ///   - k: The number of tokens.
    ///   - seed: The seed of the draws: the same seed gives the same answer. Nil for another one each time.
    /// - Returns: The mode.
    public static func random(top k: Int, seed: UInt64? = nil) -> SamplingMode { SamplingMode(kind: .randomTopK(k, seed: seed)) }

    /// Draws among the most likely tokens that reach a probability together.
    ///
    /// - Parameters:
    ///   - probabilityThreshold: The probability, above 0 and up to 1.
    ///   - seed: The seed of the draws: the same seed gives the same answer. Nil for another one each time.
    /// - Returns: The mode.
    public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> SamplingMode {
      SamplingMode(kind: .randomProbabilityThreshold(probabilityThreshold, seed: seed))
    }
  }
}
