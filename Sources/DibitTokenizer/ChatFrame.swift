package import DibitFailure
package import DibitJinja

/// The text that a model's chat template writes around an instruction, a text and the answer to it.
///
/// The template is rendered once, with marks in the place of what will be said. Only what it writes itself is parsed for control tokens,
/// so that neither an instruction nor a text can spell one, which a rendered chat cannot promise.
package struct ChatFrame: Equatable, Sendable {
  /// Before the instruction.
  private let opening: String
  /// Between the instruction and the text.
  private let middle: String
  /// Between the text and the answer.
  private let asking: String
  /// Behind the answer.
  private let closing: String
  /// Between an answer and the next text of the same chat; nil where the template writes earlier turns in another way than the last.
  private let next: String?

  /// The stand-ins for instruction, text, answer and the text after it: nothing that a template looks for, changes or writes.
  private static let marks = ["dibitMarkInstruction", "dibitMarkText", "dibitMarkAnswer", "dibitMarkNext"]

  /// Renders a template. Where it knows no system message the instruction stands in the user's, before the text.
  ///
  /// - Throws: ``ChatFrameError`` when it fails, or does not write the messages one after the other.
  package init(_ template: JinjaChatTemplate) throws(ChatFrameError) {
    let marks = Self.marks
    let (text, answer) = (ChatMessage(role: .user, content: marks[1]), ChatMessage(role: .assistant, content: marks[2]))
    var messages = [ChatMessage(role: .system, content: marks[0]), text]
    func rendered(_ messages: [ChatMessage], asks: Bool = true) throws(ChatFrameError) -> String {
      do throws(JinjaError) { return try template.renderUndated(messages, addingGenerationPrompt: asks) } catch { throw .template(error) }
    }
    var prompt = try? rendered(messages)
    if prompt.flatMap({ Self.parts($0, around: marks[..<2]) }) == nil {
      messages = [ChatMessage(role: .user, content: marks[0] + "\n\n" + marks[1])]
      prompt = try rendered(messages)
    }
    let whole = try rendered(messages + [answer], asks: false)
    guard let prompt, let around = Self.parts(prompt, around: marks[..<2]), whole.utf8.starts(with: prompt.utf8),
      let said = Self.parts(String(decoding: whole.utf8.dropFirst(prompt.utf8.count), as: UTF8.self), around: marks[2..<3])
    else { throw .unfit }
    (opening, middle) = (around[0], around[1])
    // What some templates write before an answer, such as empty thoughts, is asked with, not learnt.
    (asking, closing) = (around[2] + said[0], said[1])
    let longer = try? rendered(messages + [answer, ChatMessage(role: .user, content: marks[3])])
    let turns = longer.flatMap { Self.parts($0, around: marks[...]) }
    next = turns.flatMap { turns in
      turns[0] == around[0] && turns[1] == around[1] && turns[2] == around[2] + said[0] && turns[4] == around[2] ? turns[3] : nil
    }
  }

  /// Returns the parts before, between and behind marks that are there once each and in this order; nil where they are not.
  private static func parts(_ text: String, around marks: ArraySlice<String>) -> [String]? {
    var (parts, rest): ([String], Substring) = ([], text[...])
    for mark in marks {
      guard let range = rest.firstRange(of: mark) else { return nil }
      parts.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    parts.append(String(rest))
    return parts.contains { part in Self.marks.contains { part.contains($0) } } ? nil : parts
  }

  /// The frame with an instruction in a tokenizer's ids.
  package func prompt(instruction: String, tokenizer: Tokenizer) -> PromptFrame {
    func written(_ text: String, behind start: String = "a") -> [Int32] { tokenizer.continuation(of: start, text) }
    let (head, between, tail) = (tokenizer.encode(opening, addingSpecialTokens: false), written(middle), written(asking))
    let end = written(closing)
    let added = Set(tokenizer.addedTokens.map(\.id)).intersection(head + between + tail + end)
    let blocked = tokenizer.specialIDs.union(added)
    let all = head + tokenizer.continuation(of: opening, instruction, blocking: blocked) + between
    // A template writes the start of the text itself.
    let start = tokenizer.postProcessor.prefix
    var frame = PromptFrame(head: all, tail: tail, lead: middle, blocked: blocked, beginning: all.starts(with: start) ? start : [])
    // What follows the token that ends the turn says nothing, and nobody waits for it.
    let ending = end.firstIndex { blocked.contains($0) }.map { Array(end[...$0]) }
    let answerEnd = ending ?? end + ChatTemplate(tokenizer, style: .plain).answer("", tokenizer: tokenizer)
    frame.answerEnd = answerEnd
    frame.following = Array(end.dropFirst(answerEnd.count))
    if let next {
      let turn = written(next)
      if turn.starts(with: answerEnd) { (frame.beginning, frame.following) = (all, Array(turn.dropFirst(answerEnd.count))) }
    }
    return frame
  }
}

/// The reasons for which prompts cannot be put into a chat template.
package enum ChatFrameError: EngineError, Equatable {
  case template(JinjaError)
  case unfit

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// The fault in words, without a subject.
  package var description: String {
    switch self {
    case .template(let error): "\(error)"
    case .unfit: "it does not write an instruction, a text and an answer one after the other"
    }
  }
}
