package import DibitFailure
package import DibitJSON
package import DibitTokenizer

/// The messages of a chat in JSON: a list of `{"role": ..., "content": ...}`, one such object on each line, or an object with such a list
/// under `messages`, as rows for training have it.
package enum ChatTranscript {
  /// Nested deeper, a value is no message.
  private static let depthLimit = 16

  /// The messages in order: one of the system may come first, then user and assistant take turns. Anybody may have the last word.
  package static func messages(parsing bytes: [UInt8]) throws(ChatTranscriptError) -> [ChatMessage] { try messages(of: values(in: bytes)) }

  private static func messages(of values: [JSONValue]) throws(ChatTranscriptError) -> [ChatMessage] {
    var messages: [ChatMessage] = []
    for (index, value) in values.enumerated() {
      do throws(RowFault) {
        guard let object = value.object else { throw .wrongType(key: "messages", expected: "objects", found: value.kind) }
        messages.append(try ChatMessage(object, index: index))
      } catch { throw .fault(error, message: index + 1) }
    }
    try check(messages)
    return messages
  }

  /// The messages in order as objects that templates read, calls of tools and what these gave among them. What a tool gave may have the last
  /// word, calls may not.
  package static func dialogue(parsing bytes: [UInt8]) throws(ChatTranscriptError) -> [JSONValue] {
    let list = try values(in: bytes)
    do throws(RowFault) {
      if let use = try ToolUse.read(list, tools: nil, isAnswered: false)?.use { return use.messages }
    } catch { throw .fault(error, message: nil) }
    return try messages(of: list).map { ["role": .string($0.role.rawValue), "content": .string($0.content)] }
  }

  /// Refuses messages that are out of turn.
  package static func check(_ messages: [ChatMessage]) throws(ChatTranscriptError) {
    if let fault = Conversation.orderFault(in: messages) { throw .fault(fault, message: nil) }
  }

  /// The messages as a list, one on each line.
  package static func serialized(_ messages: [JSONValue]) -> String {
    guard !messages.isEmpty else { return "[]\n" }
    return "[\n" + messages.map { "  " + $0.serialized() }.joined(separator: ",\n") + "\n]\n"
  }

  /// Returns the values that stand for a message each, whatever they are.
  private static func values(in bytes: [UInt8]) throws(ChatTranscriptError) -> [JSONValue] {
    let fault: JSONError
    do throws(JSONError) {
      let value = try JSONValue(parsing: bytes, depthLimit: depthLimit)
      return value.array ?? value["messages"]?.array ?? [value]
    } catch { fault = error }
    // Several objects, one behind the other, are no JSON document.
    guard bytes.first(where: { !isSpace($0) }) == UInt8(ascii: "{") else { throw .json(fault, line: nil) }
    var values: [JSONValue] = []
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
    where !line.allSatisfy(isSpace) {
      do throws(JSONError) { values.append(try JSONValue(parsing: line, depthLimit: depthLimit)) } catch {
        throw .json(error, line: index + 1)
      }
    }
    return values
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// The reasons for which bytes are no messages of a chat.
package enum ChatTranscriptError: EngineError, Equatable {
  /// No JSON; with the line where every line should be a message.
  case json(JSONError, line: Int?)
  /// A message that is none, or that is out of turn; counted from 1 where the fault does not say which it is.
  case fault(RowFault, message: Int?)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what is wrong, and where.
  package var description: String {
    switch self {
    case .json(let error, let line): (line.map { "line \($0): " } ?? "") + "\(error)"
    case .fault(.unsupportedKey(let key, let what), let message):
      "\(message.map { "message \($0): " } ?? "")\(what) (key \(quoted(key))) cannot be said again; take it out"
    case .fault(.unknownRole(let index, let found), _): "\(RowFault.unknownRole(index: index, found: found))"
    case .fault(let fault, let message): "\(message.map { "message \($0): " } ?? "")\(fault)"
    }
  }
}
