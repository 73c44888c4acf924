/// The surroundings of a text in a prompt, in a tokenizer's ids. Texts are plain: no control token can come out of one.
package struct PromptFrame: Sendable {
  /// The tokens before the text, those that begin every text of the tokenizer among them.
  package let head: [Int32]
  /// The tokens behind it, up to where the answer begins.
  package let tail: [Int32]
  /// The tokens that end an answer; nil where the vocabulary says so.
  package var answerEnd: [Int32]?
  /// The tokens with which a chat begins, once, however many texts and answers follow.
  package var beginning: [Int32]
  /// The tokens between an answer and the next prompt without its ``beginning``.
  package var following: [Int32] = []
  /// The text before a text, which tells a tokenizer that it does not stand at the start.
  private let lead: String
  /// Tokens that a text cannot spell.
  private let blocked: Set<Int32>

  /// A frame of two texts, in which control tokens are parsed.
  package init(head: String, tail: String, tokenizer: Tokenizer) {
    let beginning = tokenizer.postProcessor.prefix
    let tokens = tokenizer.encode(head, addingSpecialTokens: false)
    self.init(
      head: tokens.starts(with: beginning) ? tokens : beginning + tokens, tail: tokenizer.continuation(of: "a", tail), lead: head,
      blocked: tokenizer.specialIDs, beginning: beginning)
  }

  init(head: [Int32], tail: [Int32], lead: String, blocked: Set<Int32>, beginning: [Int32]) {
    (self.head, self.tail, self.lead, self.blocked, self.beginning) = (head, tail, lead, blocked, beginning)
  }

  /// The prompt for a text, which is cut where it is too long.
  package func prompt(_ text: String, maximumTokens: Int, cut: TextShortening, tokenizer: Tokenizer) -> ChatPrompt {
    let tokens = tokenizer.continuation(of: lead, text, blocking: blocked)
    let kept = cut.kept(maximumTokens - head.count - tail.count, of: tokens[...])
    return ChatPrompt(tokens: head + kept + tail, truncatedTokens: tokens.count - kept.count)
  }
}

extension Tokenizer {
  /// The tokens of `text` behind `start`, which a tokenizer may write otherwise than at the start of a text. Ids in `blocked` do not come out
  /// of it.
  package func continuation(of start: String, _ text: String, blocking blocked: Set<Int32> = []) -> [Int32] {
    let (before, whole) = (encode(start, blocking: blocked), encode(start + text, blocking: blocked))
    return whole.starts(with: before) ? Array(whole.dropFirst(before.count)) : encode(text, blocking: blocked)
  }
}
