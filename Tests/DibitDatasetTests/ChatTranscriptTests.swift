import DibitDataset
import DibitTokenizer
import Testing

@Suite struct ChatTranscriptTests {
  private let messages = [
    ChatMessage(role: .system, content: "be \"calm\""), ChatMessage(role: .user, content: "two\nlines"),
    ChatMessage(role: .assistant, content: "é"),
  ]

  private func parse(_ text: String) throws -> [ChatMessage] { try ChatTranscript.messages(parsing: Array(text.utf8)) }

  @Test func listLinesAndRowsAreTheSame() throws {
    let list = ChatTranscript.serialized(messages)
    #expect(try parse(list) == messages)
    let objects = list.split(separator: "\n").dropFirst().dropLast().map { $0.last == "," ? $0.dropLast() : $0 }
    #expect(objects.count == 3)
    #expect(try parse(objects.joined(separator: "\n")) == messages)
    #expect(try parse("\n \(objects.joined(separator: "\r\n\n"))\n") == messages)
    #expect(try parse("{\"messages\": \(list)}") == messages)
    #expect(try parse(String(objects[1])) == [messages[1]])
    #expect(ChatTranscript.serialized([]) == "[]\n")
    #expect(try parse("[]\n") == [])
  }

  @Test(arguments: [
    ("", "JSON at byte 0: expected a value, found the end of the text"),
    ("[{\"role\": \"user\"}]", "message 1: the key 'content' expected, 'role' found"),
    ("[{\"role\": \"tool\", \"content\": \"x\"}]", "message 1: the role system, user or assistant expected, 'tool' found"),
    ("[{\"role\": \"assistant\", \"content\": \"x\"}]", "message 1: one of system or user expected, one of assistant found"),
    (
      "{\"role\": \"user\", \"content\": \"x\"}\n{\"role\": \"user\", \"content\": \"y\"}",
      "message 2: one of assistant expected, one of user found"
    ),
    ("{\"role\": \"user\", \"content\": \"x\"}\n\n{\"role\"", "line 3: JSON at byte 7: expected ':', found the end of the text"),
    ("[1]", "message 1: 'messages': objects expected, a number found"),
    (
      "[{\"role\": \"user\", \"content\": \"x\", \"tool_calls\": [1]}]",
      "message 1: a call of a tool (key 'tool_calls') cannot be said again; take it out"
    ),
  ])
  func faults(text: String, message: String) {
    let error = #expect(throws: ChatTranscriptError.self) { try parse(text) }
    #expect(error?.description == message)
  }
}
