/// The speakers in a chat; the raw value is the name that templates use.
package enum Role: String, Sendable, Equatable, CaseIterable {
  case system
  case user
  case assistant
}

/// One message of a chat.
package struct ChatMessage: Sendable, Equatable {
  /// The speaker.
  package var role: Role
  /// The message itself, as plain text.
  package var content: String

  /// A message.
  package init(role: Role, content: String) {
    self.role = role
    self.content = content
  }
}

/// A prompt in tokens.
package struct ChatPrompt: Sendable, Equatable {
  /// The prompt, ready for the answer to follow.
  package let tokens: [Int32]
  /// The number of tokens of the last message that were cut off to fit.
  package let truncatedTokens: Int

  /// A prompt that was written otherwise than by a chat template.
  package init(tokens: [Int32], truncatedTokens: Int) {
    self.tokens = tokens
    self.truncatedTokens = truncatedTokens
  }
}

/// The way in which a chat becomes tokens.
///
/// With the tokens `<turn_start>` and `<turn_end>` a message is `<turn_start> role<n>content<turn_end>`, where `<n>` is a token or,
/// if there is none, a line feed, and `<turn_start> assistant<n>` asks for the answer. Other vocabularies get the contents, each on
/// its own line. Contents are always plain text: they cannot spell a control token.
package struct ChatTemplate: Sendable, Equatable {
  /// The two ways of writing a chat.
  package enum Style: Sendable, Equatable {
    case turns
    case plain
  }

  private let turns: TurnTokens?
  private let endOfText: [Int32]

  private struct TurnTokens: Equatable {
    let start: Int32
    let end: Int32
    let newline: Int32?
  }

  /// The template that fits the tokenizer's vocabulary; with the plain style, lines whatever its tokens are.
  package init(_ tokenizer: Tokenizer, style: Style? = nil) {
    if style != .plain, let start = tokenizer.id(of: "<turn_start>"), let end = tokenizer.id(of: "<turn_end>") {
      turns = TurnTokens(start: start, end: end, newline: tokenizer.id(of: "<n>"))
    } else {
      turns = nil
    }
    endOfText = ["</s>", "<|endoftext|>", "<eos>"].compactMap { tokenizer.id(of: $0) }
  }

  /// The style in which this template writes a chat.
  package var style: Style { turns == nil ? .plain : .turns }

  /// A system message, if there is one, and a user's message, ready for the answer.
  ///
  /// - Parameters:
  ///   - maximumTokens: The length to keep to by cutting the user's text, in whole tokens. Everything else stays, even if it alone is
  ///     longer.
  ///   - cut: What the text loses.
  package func prompt(
    system: String?, user: String, maximumTokens: Int? = nil, cut: TextShortening = .tail, tokenizer: Tokenizer
  ) -> ChatPrompt {
    let messages = (system.map { [ChatMessage(role: .system, content: $0)] } ?? []) + [ChatMessage(role: .user, content: user)]
    return prompt(messages, maximumTokens: maximumTokens, cut: cut, tokenizer: tokenizer)
  }

  /// The messages in order, ready for the answer; when they are too long, the last one is cut, by default at its end.
  package func prompt(
    _ messages: [ChatMessage], maximumTokens: Int? = nil, cut: TextShortening = .tail, tokenizer: Tokenizer
  ) -> ChatPrompt {
    guard let last = messages.last else { return ChatPrompt(tokens: tokenizer.postProcessor.prefix, truncatedTokens: 0) }
    var head = tokenizer.postProcessor.prefix
    let content: (full: [Int32], kept: [Int32])
    let tail: [Int32]
    if let turns {
      for message in messages.dropLast() { head += open(turns, message, tokenizer).full + [turns.end] }
      content = open(turns, last, tokenizer)
      tail = [turns.end] + open(turns, ChatMessage(role: .assistant, content: ""), tokenizer).full
    } else {
      let before = messages.dropLast().map { $0.content + "\n" }.joined()
      content = (encode(before + last.content, tokenizer), encode(before, tokenizer))
      tail = newline(tokenizer)
    }
    let available = max(content.kept.count, (maximumTokens ?? .max) - head.count - tail.count)
    if content.full.count <= available { return ChatPrompt(tokens: head + content.full + tail, truncatedTokens: 0) }
    let start = content.full.prefix(content.kept.count)
    let kept =
      available == content.kept.count ? content.kept : start + cut.kept(available - start.count, of: content.full.dropFirst(start.count))
    return ChatPrompt(tokens: head + kept + tail, truncatedTokens: content.full.count - kept.count)
  }

  /// The answer to a prompt: the text and the token that ends it, if the vocabulary has one.
  package func answer(_ text: String, tokenizer: Tokenizer) -> [Int32] {
    guard let turns else { return continuation(of: "\n", text, tokenizer) + endOfText.prefix(1) }
    let opening = turns.newline == nil ? " \(Role.assistant.rawValue)\n" : ""
    return continuation(of: opening, text, tokenizer) + [turns.end]
  }

  /// The tokens at which an answer ends.
  package func stopTokens(_ tokenizer: Tokenizer) -> [Int32] {
    let end = turns.map { [$0.end] } ?? []
    return end + endOfText.filter { !end.contains($0) && tokenizer.token(of: $0) != nil }
  }

  /// `<turn_start> role<n>content`, in full and without the content.
  private func open(_ turns: TurnTokens, _ message: ChatMessage, _ tokenizer: Tokenizer) -> (full: [Int32], kept: [Int32]) {
    let role = " " + message.role.rawValue
    if let newline = turns.newline {
      let kept = [turns.start] + encode(role, tokenizer) + [newline]
      return (kept + encode(message.content, tokenizer), kept)
    }
    // Without a token between them, role and content are one text to the tokenizer.
    return ([turns.start] + encode(role + "\n" + message.content, tokenizer), [turns.start] + encode(role + "\n", tokenizer))
  }

  /// A line feed in the middle of a text.
  private func newline(_ tokenizer: Tokenizer) -> [Int32] { continuation(of: "a", "\n", tokenizer) }

  /// The tokens of `text` after `start`, which a tokenizer may write otherwise than at the start of a text.
  private func continuation(of start: String, _ text: String, _ tokenizer: Tokenizer) -> [Int32] {
    tokenizer.continuation(of: start, text, blocking: blocked(tokenizer))
  }

  /// Plain text: no control token of the tokenizer or of this template can come out of it.
  private func encode(_ text: String, _ tokenizer: Tokenizer) -> [Int32] { tokenizer.encode(text, blocking: blocked(tokenizer)) }

  private func blocked(_ tokenizer: Tokenizer) -> Set<Int32> {
    tokenizer.specialIDs.union(endOfText).union(turns.map { [$0.start, $0.end] } ?? [])
  }
}
