internal import DibitInference
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer
internal import Glibc

/// One of the texts that a model chose among.
public struct ChoiceScore: Equatable, Sendable {
  /// The text.
  public let choice: String
  /// Its probability, from 0 to 1, when the answer must be one of the choices; those of all choices sum to one.
  public let probability: Double
  /// The natural logarithm of ``probability``, exact where that is too small to tell from 0.
  public let logProbability: Double
}

extension Model {
  /// Scores how likely each of some texts is as the answer to a prompt, when it must be one of them.
  ///
  /// At each token the model's probabilities of those that can still lead to a choice are scaled to sum to one, and a choice's probability is the
  /// product of its decisions. All choices share one pass.
  ///
  /// ```swift
  /// let scores = try await model.score(["positive", "negative"], after: .user("Is this review positive or negative? " + review))
  /// let best = scores.max { $0.probability < $1.probability }
  /// ```
  ///
  /// - Parameters:
  ///   - choices: The texts, all different and none empty.
  ///   - prompt: What they answer, or follow.
  ///   - adapter: An adapter of this model; nil for the model alone.
  /// - Returns: The scores, in the order of `choices`.
  /// - Throws: ``DibitError`` where choices have the same tokens, or prompt and choice do not fit the model's context.
  public func score(_ choices: [String], after prompt: Prompt, adapter: Adapter? = nil) async throws(DibitError) -> [ChoiceScore] {
    try await worker.run { [stored, runtime] isCancelled in
      try check(adapter)
      let asked = try ModelPrompt(prompt, adapter: adapter?.opened.tagger, model: stored)
      // A letter in front keeps a text in the middle from being written as one at the beginning.
      let own = choices.map {
        stored.tokenizer.continuation(of: asked.shown.isEmpty ? "\n" : "a", $0, blocking: stored.tokenizer.specialIDs)
      }
      // The token that ends an answer ends a choice, so that one may begin with another.
      let end = Array(asked.endTokens.min().map { [$0] } ?? [])
      guard !choices.isEmpty, own.allSatisfy({ !$0.isEmpty }), let set = ChoiceSet(own.map { $0 + end }) else {
        throw DibitError(.invalidArgument, option: "choices", "expected texts of different tokens, none of them empty")
      }
      var session = Session(
        stored.configuration, weights: stored.weights, adapter: adapter?.opened.loaded, on: runtime.compute(for: .writing))
      try session.append(asked.tokens)
      guard !isCancelled() else { throw DibitError.cancelled }
      return zip(choices, try session.score(set)).map { choice, score in
        ChoiceScore(choice: choice, probability: exp(score), logProbability: score)
      }
    }
  }
}
