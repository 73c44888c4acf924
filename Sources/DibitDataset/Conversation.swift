internal import DibitJSON
package import DibitTokenizer

/// Messages between a user and an assistant, of whom the answers are learnt.
///
/// The rules are those of Apple's adapter toolkit: at most one system message, which comes first; then user and assistant take turns,
/// and the assistant has the last word.
package struct Conversation: Sendable, Equatable {
  /// The file that the conversation lies in, relative to the dataset's folder.
  package let path: String
  /// The line on which its row begins, from 1.
  package let line: Int
  /// The messages in order. With ``toolUse`` they are its messages in words.
  package let messages: [ChatMessage]
  /// The tools and the messages as templates read them; nil for a conversation of words alone.
  package let toolUse: ToolUse?
  /// The indices of the assistant's messages that are learnt, in order; at least one.
  package let answers: [Int]
  /// SHA-256 of roles, contents and what is learnt.
  package let digest: TextDigest

  /// A conversation that has been checked; nil when it breaks a rule.
  package init?(path: String, line: Int, messages: [ChatMessage], answers: [Int]? = nil) {
    let answers = answers ?? messages.indices.filter { messages[$0].role == .assistant }
    guard Self.fault(in: messages) == nil, !answers.isEmpty, answers.allSatisfy(messages.indices.contains),
      answers.allSatisfy({ messages[$0].role == .assistant }), zip(answers, answers.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    self.path = path
    self.line = line
    self.messages = messages
    self.answers = answers
    toolUse = nil
    digest = TextDigest(Self.record(messages, answers))
  }

  /// A conversation with tools, whose turns have been checked; nil where nothing of it is learnt.
  init?(path: String, line: Int, words: [ChatMessage], toolUse: ToolUse, answers: [Int]) {
    guard !answers.isEmpty else { return nil }
    (self.path, self.line, self.messages, self.toolUse, self.answers) = (path, line, words, toolUse, answers)
    let own = JSONValue.array([toolUse.tools ?? .null] + toolUse.messages)
    digest = TextDigest(Self.record(words, answers) + Array(own.serialized().utf8))
  }

  /// The bytes that the digest is of.
  private static func record(_ messages: [ChatMessage], _ answers: [Int]) -> [UInt8] {
    var record: [UInt8] = []
    var learnt = answers[...]
    for (index, message) in messages.enumerated() {
      record.append(contentsOf: message.role.rawValue.utf8)
      record.append(learnt.first == index ? 1 : 0)
      if learnt.first == index { learnt.removeFirst() }
      record.append(contentsOf: message.content.utf8)
      record.append(0xFF)  // no part of any UTF-8
    }
    return record
  }

  /// The first rule that the messages break; nil if they break none.
  static func fault(in messages: [ChatMessage]) -> RowFault? {
    orderFault(in: messages) ?? (messages.last?.role == .assistant ? nil : .noAnswer)
  }

  /// The first message out of turn; nil where none is, whoever has the last word.
  static func orderFault(in messages: [ChatMessage]) -> RowFault? {
    var previous: Role?
    for (index, message) in messages.enumerated() {
      switch (previous, message.role) {
      case (nil, .system), (nil, .user), (.system, .user), (.user, .assistant), (.assistant, .user): break
      default:
        return .messageOrder(
          index: index, expected: previous == .user ? "assistant" : previous == nil ? "system or user" : "user",
          found: message.role.rawValue)
      }
      previous = message.role
    }
    return nil
  }
}
