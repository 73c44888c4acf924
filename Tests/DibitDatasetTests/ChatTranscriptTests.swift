import DibitDataset
import DibitJSON
import DibitTokenizer
import Testing

@Suite struct ChatTranscriptTests {
  private let messages = [
    ChatMessage(role: .system, content: "be \"calm\""), ChatMessage(role: .user, content: "two\nlines"),
    ChatMessage(role: .assistant, content: "é"),
  ]

  private func parse(_ text: String) throws -> [ChatMessage] { try ChatTranscript.messages(parsing: Array(text.utf8)) }

  @Test func listLinesAndRowsAreTheSame() throws {
    let list = ChatTranscript.serialized(
      messages.map { ["role": .string($0.role.rawValue), "content": .string($0.content)] })
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

  @Test("calls of tools and what these gave are read where a chat may have them")
  func tools() throws {
    let call = #"{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}]}"#
    func parse(_ rest: String...) throws -> [JSONValue] {
      try ChatTranscript.dialogue(parsing: Array(([#"{"role":"user","content":"x"}"#] + rest).joined(separator: "\n").utf8))
    }
    let read = try parse(call, #"{"role":"tool","tool_call_id":"a","content":"one"}"#)
    #expect(read.map { $0["role"]?.string } == ["user", "assistant", "tool"])
    #expect(read[1]["tool_calls"]?.array?[0]["function"]?["arguments"] == ["n": 1])
    #expect(try parse(call, #"{"role":"tool","content":"one"}"#, #"{"role":"assistant","content":"y"}"#).count == 4)
    #expect(try parse() == [["role": "user", "content": "x"]])
    func message(_ rest: String...) -> String? {
      let error = #expect(throws: ChatTranscriptError.self) {
        try ChatTranscript.dialogue(parsing: Array(([#"{"role":"user","content":"x"}"#] + rest).joined(separator: "\n").utf8))
      }
      return error?.description
    }
    #expect(message(call) == "'tool_calls': what the tools gave behind them expected, the end found")
    #expect(message(call, #"{"role":"user","content":"y"}"#) == "message 3: one of tool expected, one of user found")
  }
}
