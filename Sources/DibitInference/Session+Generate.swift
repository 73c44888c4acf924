package import DibitConstraint
internal import DibitTensor
package import DibitTokenizer

extension Session {
  /// Continues `prompt`, which is appended first; `receive` gets each piece of text as soon as it is certain and ends the generation by
  /// returning false. It is called for every token, if need be with nothing.
  ///
  /// Text is certain when its characters are whole and it cannot be the beginning of a stop string. The repetition penalty looks back at
  /// `prompt` and at what was generated behind it, not at what the session held before.
  ///
  /// Under a `constraint` only tokens are chosen behind which the text can still satisfy it within the tokens that are left; what can come
  /// in one way only is not asked of the model. The text then satisfies the constraint however it ends, but for an interruption or a stop
  /// string.
  ///
  /// - Parameters:
  ///   - past: how many of the prompt's first tokens the session holds already, at its end: they are not read again. At least one is left.
  ///   - reading: is told after each pass over the prompt how many of its tokens have been read, `past` included, and ends the generation
  ///     by returning false. Scoring the prompt is one step.
  package mutating func generate(
    _ prompt: [Int32], past: Int = 0, tokenizer: Tokenizer, options: GenerationOptions, constraint: TokenConstraint? = nil,
    receive: (String) -> Bool = { _ in true }, reading: (Int) -> Bool = { _ in true }
  ) throws(InferenceError) -> Generation {
    require(past == 0 || past < prompt.count && past <= count, "Session.generate: \(past) past tokens of \(prompt.count), \(count) held")
    var result = Generation()
    if let alternatives = options.logProbabilities, options.scoresPrompt {
      result.promptLogProbabilities = try logProbabilities(of: Array(prompt[past...]), alternatives: alternatives)
      _ = reading(prompt.count)
    } else if try !append(prompt.span.extracting(past...), reading: { reading(past + $0) }) {
      result.finishReason = .interrupted
      return result
    }
    var text = try GrowingText(behind: prompt, limit: context - count, tokenizer: tokenizer, options: options, constraint: constraint)
    /// Tokens of the text from here on are not in the session yet.
    var read = 0
    while !text.isOver {
      var next = text.forced()
      if next.isEmpty {
        let written = text.result.tokens
        if read < written.count { try append(written.span.extracting(read...)) }
        read = written.count
        next = [try withLastLogits { logits throws(InferenceError) in try text.choose(logits) }]
      }
      text.add(next, receive: receive)
    }
    let promptLogProbabilities = result.promptLogProbabilities
    result = text.end(receive: receive)
    result.promptLogProbabilities = promptLogProbabilities
    return result
  }
}
