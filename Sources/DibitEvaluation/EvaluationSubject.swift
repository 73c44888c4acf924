package import DibitDataset
package import DibitInference
internal import DibitTokenizer

/// A model, with or without an adapter, and how it is asked.
package struct EvaluationSubject: Sendable {
  /// "base", or the adapter's path: what a report calls it.
  package let name: String
  /// The model.
  package let model: MeasuredModel
  /// The prompt.
  package let task: TokenizedTask
  /// The tokens before every prompt: see ``FewShotPrompt``.
  package let shots: [Int32]
  /// A classifier of words that has a share in answers of one label; nil for none.
  package let words: WordHead?

  /// A subject; `shots` are tokens that stand before every prompt.
  package init(name: String, model: MeasuredModel, task: TokenizedTask, shots: [Int32] = [], words: WordHead? = nil) {
    (self.name, self.model, self.task, self.shots, self.words) = (name, model, task, shots, words)
  }

  /// A text's prompt, ready for an answer of up to `reserve` tokens.
  ///
  /// The whole, with shots and answer, keeps to the task's most tokens; where shots leave less room than the prompt's own frame takes, it
  /// is longer and may not fit the model.
  func prompt(_ text: String, reserving reserve: Int, cut: TextShortening) -> (tokens: [Int32], truncatedTokens: Int) {
    let prompt = task.prompt(text, reserving: reserve + shots.count, cut: cut)
    if shots.isEmpty { return (prompt.tokens, prompt.truncatedTokens) }
    // A text begins once: the shots' beginning serves for all.
    let beginning = task.beginning
    let rest = prompt.tokens.starts(with: beginning) ? Array(prompt.tokens.dropFirst(beginning.count)) : prompt.tokens
    return (shots + rest, prompt.truncatedTokens)
  }

  /// Returns the tokens that all prompts begin with.
  func commonStart(cut: TextShortening) -> [Int32] {
    // Texts that differ in their first token, whatever joins a letter to what stands before it.
    let prompts = ["a", "Z", "7", "?"].map { prompt($0, reserving: 0, cut: cut).tokens }
    return Array(prompts.dropFirst().reduce(prompts[0][...]) { start, other in start.prefix(zip(start, other).prefix { $0 == $1 }.count) })
  }
}
