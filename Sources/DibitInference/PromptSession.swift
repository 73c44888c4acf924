package import DibitConstraint
package import DibitTokenizer

/// A session that is asked whole prompts, one after the other, and reads of each only what it does not hold already.
///
/// Keys and values of the tokens that a prompt has in common with the last prompt and what was made behind it are kept. An answer is the
/// one that a fresh session would give.
package struct PromptSession: ~Copyable {
  /// The tokenizer whose ids prompts have.
  package let tokenizer: Tokenizer
  private var session: Session
  private var held: [Int32] = []  // the tokens whose keys and values the session holds

  /// Takes a session over; what it has read is forgotten.
  package init(_ session: consuming Session, tokenizer: Tokenizer) {
    self.tokenizer = tokenizer
    self.session = session
    self.session.rewind()
  }

  /// The most tokens of a prompt with its answer.
  package var context: Int { session.context }

  /// Answers a prompt of at least one token.
  ///
  /// - Parameters:
  ///   - options: how the answer is made, and where it ends.
  ///   - constraint: what the answer must satisfy; nil for any text.
  ///   - receive: gets each piece of the answer, as in ``Session/generate(_:past:tokenizer:options:constraint:receive:reading:)``.
  ///   - reading: is told how many of the prompt's tokens have been read.
  package mutating func answer(
    _ prompt: [Int32], options: GenerationOptions, constraint: TokenConstraint? = nil, receive: (String) -> Bool = { _ in true },
    reading: (_ done: Int, _ of: Int) -> Bool = { _, _ in true }
  ) throws(InferenceError) -> ChatAnswer {
    let same = try keep(prompt)
    do throws(InferenceError) {
      let result = try session.generate(
        prompt, past: same, tokenizer: tokenizer, options: options, constraint: constraint, receive: receive,
        reading: { reading($0, prompt.count) })
      held = Array((prompt + result.tokens).prefix(session.count))
      return ChatAnswer(
        generation: result, promptTokens: prompt.count, readTokens: prompt.count - same,
        isCutByContext: result.finishReason == .length && result.tokens.count < options.maximumTokens)
    } catch {
      session.rewind(to: held.count)
      throw error
    }
  }

  /// Reads a prompt ahead of the answer that will be asked for, or the beginning of one.
  ///
  /// - Parameter reading: is told how many tokens have been read, and ends the reading by returning false; what was read is kept.
  /// - Returns: The tokens that had to be read.
  @discardableResult
  package mutating func read(_ prompt: [Int32], reading: (Int) -> Bool = { _ in true }) throws(InferenceError) -> Int {
    let same = try keep(prompt)
    do throws(InferenceError) {
      _ = try session.append(prompt.span.extracting(same...), reading: { reading(same + $0) })
      held = Array(prompt.prefix(session.count))
      return held.count - same
    } catch {
      session.rewind(to: held.count)
      throw error
    }
  }

  /// Returns the log-probability, in nats, of each choice as the answer to a prompt, as ``Session/score(_:)`` does.
  package mutating func score(
    _ choices: ChoiceSet, behind prompt: [Int32], reading: (Int) -> Bool = { _ in true }
  ) throws(InferenceError) -> [Double]? {
    try read(prompt, reading: reading)
    return held.count == prompt.count ? try session.score(choices) : nil
  }

  /// The number of a prompt's tokens that need not be read again: all but one at most.
  package func heldTokens(of prompt: [Int32]) -> Int { min(zip(held, prompt).prefix { $0 == $1 }.count, max(0, prompt.count - 1)) }

  /// Goes back to where the prompt differs from what is held, and returns how many of its tokens are: all but one at most, as the answer
  /// needs the logits of the last.
  private mutating func keep(_ prompt: [Int32]) throws(InferenceError) -> Int {
    guard !prompt.isEmpty else { throw .emptyPrompt }
    guard prompt.count < context else { throw .contextFull(tokens: prompt.count, context: context) }
    let same = heldTokens(of: prompt)
    session.rewind(to: same)
    // Until the answer is there, only these are known to be held.
    held.removeSubrange(same...)
    return same
  }
}

/// An answer to a prompt of which only a part had to be read.
package struct ChatAnswer: Equatable, Sendable {
  /// Its text and tokens, and why it ended.
  package let generation: Generation
  /// Tokens of the prompt: in a chat, of all that was said before.
  package let promptTokens: Int
  /// The number of these that the session did not hold.
  package let readTokens: Int
  /// True when it ended because the context is full.
  package let isCutByContext: Bool

  /// An answer.
  package init(generation: Generation, promptTokens: Int, readTokens: Int, isCutByContext: Bool) {
    (self.generation, self.promptTokens, self.readTokens) = (generation, promptTokens, readTokens)
    self.isCutByContext = isCutByContext
  }
}
