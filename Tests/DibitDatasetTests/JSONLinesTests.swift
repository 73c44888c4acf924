import DibitTokenizer
import Testing

@testable import DibitDataset

/// Rows of JSON.
@Suite struct JSONLinesTests {
  @Test func labelledTexts() throws {
    let data = try read(
      """
      {"text": "one\\r\\ntwo", "label": "a"}

      {"text": "three", "label": ["b", "a", "b"], "id": 7}
      {"text": "four", "label": 5}
      {"text": "five", "label": true}
      """, as: "d.jsonl")
    #expect(data.train.map(\.text) == ["one\ntwo", "three", "four", "five"])
    #expect(data.train.map(\.labels) == [["a"], ["a", "b"], ["5"], ["true"]])
    #expect(data.train.map(\.line) == [1, 3, 4, 5])
    #expect(data.kind == .labelled)
    let other = try read("{\"q\":\"x\",\"l\":\"a|b\"}\n{\"q\":\"y\",\"l\":\"b\"}\n", as: "d.json") {
      ($0.textColumn, $0.labelColumn, $0.labelSeparator) = ("q", "l", "|")
    }
    #expect(other.labels == ["a", "b"])
    #expect(other.train[0].labels == ["a", "b"])
    let spaced = try read(#"{"text":"x","label":" a"}"# + "\n" + #"{"text":"y","label":["b ","a"]}"#, as: "d.jsonl")
    #expect(spaced.train.map(\.labels) == [["a"], ["a", "b"]])
    let both = try read("{\"text\":\"x\",\"label\":0,\"label_text\":\"no\"}\n{\"text\":\"y\",\"label\":1,\"label_text\":\"yes\"}", as: "d")
    #expect(both.labels == ["no", "yes"], "names come before numbers")
  }

  @Test("an empty list is a text to which no label applies; null and an empty text are rows that nobody labelled")
  func rowsWithoutLabels() throws {
    let data = try read(
      #"{"text":"a","labels":["x"]}"# + "\n" + #"{"text":"b","labels":[]}"# + "\n" + #"{"text":"c","labels":null}"# + "\n"
        + #"{"text":"d","labels":" "}"# + "\n" + #"{"text":"e","labels":["y","x"]}"#, as: "d.jsonl")
    #expect(data.train.map(\.text) == ["a", "b", "e"] && data.train.map(\.labels) == [["x"], [], ["x", "y"]])
    #expect(data.report[.unlabelledRow].paths == ["d.jsonl:3", "d.jsonl:4"])
  }

  private func conversations(_ text: String, _ change: (inout RowOptions) -> Void = { _ in }) throws -> [Conversation] {
    try read(text, as: "d.jsonl", change).train.compactMap { if case .conversation(let found) = $0 { found } else { nil } }
  }

  @Test func conversations() throws {
    let turns =
      #"{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"},{"role":"assistant","content":"4"}"#
    let rows = try conversations(
      """
      {"messages":[{"role":"system","content":"s"},\(turns)]}
      [\(turns)]
      {"prompt":"p","completion":"c"}
      {"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"x"}]}
      """)
    #expect(rows.map(\.messages.count) == [5, 4, 2, 2])
    #expect(rows.map(\.answers) == [[2, 4], [1, 3], [1], [1]])
    #expect(rows[0].messages[0] == ChatMessage(role: .system, content: "s"))
    #expect(rows[2].messages.map(\.content) == ["p", "c"])
    #expect(rows[3].messages[0].content == "ab")
    let last = try conversations("[\(turns)]\n") { $0.answers = .last }
    #expect(last.map(\.answers) == [[3]])
    #expect(last[0].digest != rows[1].digest, "what is learnt belongs to the data")
  }

  @Test func weightsOfMessages() throws {
    let rows = try conversations(
      #"[{"role":"user","content":"1"},{"role":"assistant","content":"2","weight":0},{"role":"user","content":"3"},"#
        + #"{"role":"assistant","content":"4","weight":1}]"#)
    #expect(rows[0].answers == [3])
  }

  @Test func conversationsHaveNoLabelsAndAreSplit() throws {
    var data = try read((0..<60).map { "{\"prompt\":\"\($0)\",\"completion\":\"c\"}\n" }.joined(), as: "d.jsonl")
    #expect(data.labels.isEmpty && data.kind == .conversation)
    let whole = data.digest
    #expect(data.splitAutomatically(seed: 3) == SplitSummary(train: 54, validation: 6, test: 0, automatic: [.validation]))
    #expect(data.digest == whole)
    #expect(data.labelled(.train).isEmpty)
  }

  @Test(arguments: [
    (
      "{\"text\": \"a\"", "line 1, column 13: ',' or '}' expected, the end of the text found; every line must be a JSON document of its own"
    ),
    ("{\"text\":\"a\",\"label\":\"b\"}\n[1]\n", "line 2: 'messages': objects expected, a number found"),
    (
      "[\n{\"text\":\"a\",\"label\":\"b\"}]",
      "line 1, column 2: a value expected, the end of the text found; every line must be a JSON document of its own"
    ),
    ("{\"a\":1,\"a\":2}", "line 1, column 8: the key 'a' appears twice"),
    ("{\"a\":" + String(repeating: "[", count: 99), "line 1, column 21: nested deeper than 16 levels"),
    ("7", "line 1: an object or a list of messages expected, a number found"),
    (
      "{\"a\":1}",
      "line 1: messages, prompt and completion, or text and label expected, the keys 'a' found; name yours with \0textColumn\0 and \0labelColumn\0"
    ),
    (
      "{\"instruction\":\"a\",\"output\":\"b\"}",
      "line 1: messages, prompt and completion, or text and label expected, the keys 'instruction', 'output' found; call a text and its answer prompt and completion, or name yours with \0textColumn\0 and \0labelColumn\0"
    ),
    (
      "{\"text\":\"a\"}",
      "line 1: a label beside 'text' expected, the keys 'text' found; name yours with \0textColumn\0 and \0labelColumn\0"
    ),
    ("{\"text\":1,\"label\":\"x\"}", "line 1: 'text': a text expected, a number found"),
    ("{\"text\":\"a\",\"label\":1.5}", "line 1: 'label': a label or a list of labels expected, a number found"),
    ("{\"text\":\"a\",\"label\":[\"b\",\"\"]}", "line 1: 'label': a label expected, nothing found"),
    ("{\"text\":\"a\",\"label\":[null]}", "line 1: 'label': a label or a list of labels expected, null found"),
    ("{\"text\":\"a\",\"label\":\"b\\nc\"}", "line 1: a label of one line without control characters expected, 'b\\u{A}c' found"),
    ("{\"messages\":7}", "line 1: 'messages': a list of messages expected, a number found"),
    ("[]", "line 1: messages expected, an empty list found"),
    (
      #"[{"text": "a", "label": "x"}]"#,
      "line 1: an object or a list of messages expected, a list of objects found: write each row on a line of its own (JSONL)"
    ),
    ("[{\"role\":\"user\",\"content\":\"x\"}]", "line 1: a last message of the assistant expected, one of somebody else found"),
    ("[{\"role\":\"assistant\",\"content\":\"x\"}]", "line 1: message 1: one of system or user expected, one of assistant found"),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"x\"}]",
      "line 1: message 2: one of assistant expected, one of user found"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"system\",\"content\":\"x\"}]",
      "line 1: message 2: one of assistant expected, one of system found"
    ),
    ("[{\"role\":\"tool\",\"content\":\"x\"}]", "line 1: message 1: one of system or user expected, one of tool found"),
    ("[{\"role\":\"function\",\"content\":\"x\"}]", "line 1: message 1: the role system, user or assistant expected, 'function' found"),
    ("[{\"role\":\"user\"}]", "line 1: the key 'content' expected, 'role' found"),
    ("[{\"role\":\"user\",\"content\":null}]", "line 1: 'content': a text expected, null found"),
    (
      "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]",
      "line 1: 'content': a text or parts of type text expected, 'image_url' found"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\",\"tool_calls\":[1]}]",
      "line 1: 'tool_calls': calls in a message of the assistant only expected, some in another found"
    ),
    ("{\"messages\":[],\"tools\":[1]}", "line 1: messages expected, an empty list found"),
    (
      "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[1]}",
      "line 1: 'tools': functions with a name expected, a number found"
    ),
    (
      "{\"text\":\"x\",\"label\":\"y\",\"tools\":[1]}",
      "line 1: a tool (key 'tools') cannot be learnt; take it out of the row, or leave the row out"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"[1]\"}}]}]",
      "line 1: 'arguments': a JSON object, or one as text expected, another text found"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\"}]}]",
      "line 1: 'tool_calls': calls of a function with a name expected, an object found"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\"}}]},"
        + "{\"role\":\"tool\",\"content\":\"\",\"tool_call_id\":\"2\"}]",
      "line 1: 'tool_call_id': the id of a call before it expected, another found"
    ),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]},"
        + "{\"role\":\"user\",\"content\":\"y\"}]",
      "line 1: message 3: one of tool expected, one of user found"
    ),
    ("[{\"role\":\"user\",\"content\":\"x\",\"weight\":1}]", "line 1: 'weight': 0 or 1, in an assistant's message expected, 1.0 found"),
    (
      "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":\"x\",\"weight\":0}]",
      "line 1: at least one answer with a weight of 1 expected, none found"
    ),
  ])
  func faults(_ text: String, _ message: String) throws {
    #expect(try fault(text, as: "d.jsonl") == "'d.jsonl', " + message)
  }

  @Test func otherFaults() throws {
    let labelled = "{\"text\":\"a\",\"label\":\"b\"}\n"
    #expect(
      try fault(labelled + "{\"prompt\":\"a\",\"completion\":\"b\"}\n", as: "d.jsonl")
        == "'d.jsonl': rows of one kind expected, labelled texts ('d.jsonl:1') and conversations ('d.jsonl:2') found; "
        + "train on them one after the other")
    #expect(
      try fault(labelled, as: "d.jsonl") { $0.textColumn = "x" } == "'d.jsonl', line 1: the key 'x' expected, 'text', 'label' found")
    #expect(
      try fault(labelled, as: "d.jsonl") { $0.maximumRowBytes = 10 }
        == "'d.jsonl', line 1: a row of at most 10 bytes expected, more found; is a quote not closed?")
    #expect(try fault(Array("[{\"a".utf8) + [0x81, 0x8D] + Array("\":1}]".utf8), as: "d.jsonl") != nil)
  }

  @Test func faultsAreCountedWhereTheyAreTolerated() throws {
    let data = try read("{\"text\":\"a\",\"label\":\"b\"}\n{\n{\"text\":\"c\",\"label\":\"d\"}\n[]\n", as: "d.jsonl") {
      $0.toleratesFaults = true
    }
    #expect(data.train.map(\.text) == ["a", "c"])
    #expect(data.report[.badRow].paths == ["d.jsonl:2:2", "d.jsonl:4"])
  }
}
