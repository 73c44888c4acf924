/// The purpose of a token of an example.
package enum TokenRole: UInt8, Sendable, Equatable {
  /// It is given: part of the prompt, of earlier messages, of what a recipe says is not learnt.
  case given
  /// It is learnt and holds an answer together: the JSON around labels, the end of the answer.
  case scaffolding
  /// It is learnt and is what a task is judged by: a label, the words of an answer.
  case content
}

/// An example in a tokenizer's ids.
package struct TokenizedExample: Equatable, Sendable {
  /// Prompt and answer, or a conversation.
  package var tokens: [Int32]
  /// The role of each token.
  package var roles: [TokenRole]
  /// The number of tokens that were cut off to fit.
  package var truncatedTokens: Int

  /// An example of parts that belong together: as many roles as tokens.
  package init(tokens: [Int32], roles: [TokenRole], truncatedTokens: Int = 0) {
    self.tokens = tokens
    self.roles = roles
    self.truncatedTokens = truncatedTokens
  }

  /// Adds tokens of one role.
  mutating func append(_ added: some Collection<Int32>, _ role: TokenRole) {
    tokens.append(contentsOf: added)
    roles.append(contentsOf: repeatElement(role, count: added.count))
  }

  /// Adds the next answer of a conversation behind the prompt for it, which begins with what is there: what a template writes again is kept
  /// with its role, what it writes otherwise goes, and what it adds is given.
  mutating func append(prompt: [Int32], answer: TokenizedExample) {
    let same = zip(tokens, prompt).prefix { $0 == $1 }.count
    roles.removeSubrange(same...)
    tokens.removeSubrange(same...)
    append(prompt[same...], .given)
    tokens += answer.tokens
    roles += answer.roles
  }
}
