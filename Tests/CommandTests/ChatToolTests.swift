import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// Tools and schemas of a chat.
@Suite struct ChatToolTests {
  private let scratch = Scratch()

  private static func tool(_ name: String, _ script: String, timeout: JSONValue = 60) -> JSONValue {
    let parameters: JSONValue = [
      "type": "object", "properties": ["word": ["type": "string", "enum": ["moon", "soup"]]], "required": ["word"],
    ]
    let function: JSONValue = ["name": .string(name), "description": "Looks a word up.", "parameters": parameters]
    return ["type": "function", "function": function, "command": ["/bin/sh", "-c", .string(script)], "timeout": timeout]
  }

  private func write(_ tools: JSONValue) throws -> String { try scratch.write(tools.serialized(), to: "tools.json") }

  private static let lines = ["the goal", "what is the moon?", "the soup", "the bank", "look the moon up", "the cup"]

  @Test("the model calls commands, what they print is told to it and kept, and a kept chat goes on as it would have")
  func calls() throws {
    let model = try writeChatModel(to: scratch, context: 4096)
    let tools = try write([Self.tool("lookup", "cat; echo found"), Self.tool("other", "echo nothing")])
    let options = ["chat", model, "--tools", tools, "--max-tokens", "6"]
    let input = Self.lines.map { $0 + "\n" }
    let outcome = try dibit(options + ["--json", "--save", scratch("kept.json")], input: input.joined())
    #expect(outcome.status == 0, "\(outcome.errors)")
    let answers = try outcome.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(answers.count == input.count)
    let calls = answers.flatMap { $0["tool_calls"]?.array ?? [] }
    try #require(!calls.isEmpty)
    for call in calls {
      let word = try #require(call["arguments"]?["word"]?.string)
      #expect(["moon", "soup"].contains(word))
      #expect(call["output"]?.string == (call["name"] == "lookup" ? "{\"word\":\"\(word)\"}\nfound" : "nothing"))
    }
    let kept = try JSONValue(parsing: try contents(scratch("kept.json"))).array ?? []
    #expect(kept.count { $0["role"] == "tool" } == calls.count)
    #expect(kept.compactMap { $0["tool_calls"]?.array?.count }.reduce(0, +) == calls.count)
    // In two parts.
    let first = try dibit(options + ["--save", scratch("part.json")], input: input.dropLast(2).joined())
    #expect(first.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("[lookup {") || $0.hasPrefix("[other {") })
    let rest = try dibit(
      options + ["--messages", scratch("part.json"), "--save", scratch("part.json"), "--overwrite"], input: input.suffix(2).joined())
    #expect(rest.status == 0, "\(rest.errors)")
    let whole = try JSONValue(parsing: try contents(scratch("part.json"))).array ?? []
    #expect(whole.map { $0["content"] } == kept.map { $0["content"] })
  }

  @Test("a tool that fails ends the turn: a pipe there, a terminal says so and goes on")
  func failures() throws {
    let model = try writeChatModel(to: scratch, context: 4096)
    let tools = try write([Self.tool("lookup", "exit 4"), Self.tool("other", "exit 4")])
    let lines = Self.lines.map { $0 + "\n" }.joined()
    let outcome = try dibit(["chat", model, "--tools", tools, "--max-tokens", "4"], input: lines)
    #expect(outcome.status == 65)
    let pattern = /\[(lookup|other) .*\]\nerror: line \d: the tool '(lookup|other)': the exit status 0 expected, found 4\n/
    #expect(outcome.errors.wholeMatch(of: pattern) != nil, "\(outcome.errors)")
    let missing = try write(
      .array(
        ["lookup", "other"].map { name in
          var tool = Self.tool(name, "").object ?? JSONObject()
          tool["command"] = ["/no/such/tool"]
          return .object(tool)
        }))
    let absent = try dibit(["chat", model, "--tools", missing, "--max-tokens", "4"], input: lines)
    #expect(absent.status == 66)
    #expect(absent.errors.contains(/: the tool '(lookup|other)': '\/no\/such\/tool': no such file or directory\n/), "\(absent.errors)")
  }

  @Test("a tool that takes too long is ended with all that it has started, and its turn")
  func timeouts() throws {
    let model = try writeChatModel(to: scratch, context: 4096)
    let script = "sleep 600 & echo $! > \(scratch("process")); wait"
    let tools = try write([Self.tool("lookup", script, timeout: 0.2), Self.tool("other", script, timeout: 0.2)])
    let outcome = try dibit(["chat", model, "--tools", tools, "--max-tokens", "4"], input: Self.lines.map { $0 + "\n" }.joined())
    #expect(outcome.status == 65)
    #expect(outcome.errors.contains(/: the tool '(lookup|other)': an answer within 0\.2 s expected; give it more time with a 'timeout'/))
    let process = String(decoding: try contents(scratch("process")), as: UTF8.self).filter(\.isNumber)
    // Of one that was killed and that nobody has asked for, the words are gone.
    func isAlive() -> Bool { (try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")))?.isEmpty == false }
    for _ in 0..<500 where isAlive() { Thread.sleep(forTimeInterval: 0.01) }
    #expect(!process.isEmpty && !isAlive())
  }

  @Test("Ctrl-C ends a tool that runs on and its turn, without a word, and not the chat")
  func interruption() throws {
    let model = try writeChatModel(to: scratch, context: 4096)
    let tools = try write([Self.tool("lookup", "sleep 600"), Self.tool("other", "sleep 600")])
    let chat = try TerminalProcess(["chat", model, "--tools", tools, "--max-tokens", "4"])
    try chat.wait(for: "> ")
    var ended = 0
    for line in Self.lines {
      chat.type(line + "\n")
      guard try chat.wait(for: "> ", "]\n").hasSuffix("]\n") else { continue }
      chat.interrupt()
      #expect(try chat.wait(for: "> ") == "> ")
      ended += 1
    }
    #expect(ended > 0)
    chat.type("/exit\n")
    #expect(chat.finish().status == 0)
  }

  @Test(
    "tools that cannot be called are told before the model is opened",
    arguments: [
      ("{}", "a list of tools expected, found an object"), ("[]", "a list of tools expected, found an empty one"),
      (#"[{"command":["a"]}]"#, "tool 1: a function with a 'name' expected, found an object without one"),
      (#"[{"name":"a"}]"#, "tool 1: a 'command' expected, a list of a program and its arguments, found none"),
      (#"[{"name":"a","command":"ls"}]"#, "tool 1: a 'command' expected, a list of a program and its arguments, found a string"),
      (#"[{"name":"a","command":["ls"],"timeout":0}]"#, "tool 1: 'timeout': seconds above 0 and up to 86400 expected, found 0"),
      (#"[{"name":"a","command":["ls"],"timeout":"x"}]"#, "tool 1: 'timeout': seconds above 0 and up to 86400 expected, found \"x\""),
      (#"[{"name":"a","command":["ls"]},{"name":"a","command":["ls"]}]"#, "tool 2: a name of its own expected, found 'a' again"),
      (
        #"[{"name":"a","command":["ls"],"parameters":{"type":"string"}}]"#,
        "tool 1, 'a': 'parameters': a JSON Schema of type object expected, found another"
      ),
    ])
  func faults(text: String, message: String) throws {
    let path = try scratch.write(text, to: "tools.json")
    try expectFailure(["chat", "nowhere", "--tools", path], status: 65, message: "'\(path)': \(message)")
  }

  @Test("answers keep to a schema, from the command line and from /schema on")
  func schemas() throws {
    let model = try writeChatModel(to: scratch)
    let schema = #"{"type":"object","properties":{"n":{"type":"integer","minimum":10,"maximum":99}},"required":["n"]}"#
    let outcome = try dibit(["chat", model, "--schema", schema, "--max-tokens", "40"], input: "the goal\nthe soup\n")
    #expect(outcome.status == 0, "\(outcome.errors)")
    for line in outcome.output.split(separator: "\n") { #expect((10...99).contains(try JSONValue(parsing: String(line))["n"]?.int ?? 0)) }
    let wrong = try dibit("chat", model, "--schema", "{\"type\":1}")
    #expect(wrong.status == 65 && wrong.errors.hasPrefix("error: --schema: "), "\(wrong.errors)")
    try expectFailure(
      ["chat", model, "--schema", schema, "--stop", "x"], status: 64,
      message: "--stop: expected either it or --schema, which ends the answer itself, found both; see 'dibit chat --help'")

    let path = try scratch.write(schema, to: "n.json")
    let chat = try TerminalProcess(["chat", model, "--max-tokens", "40"])
    try chat.wait(for: "> ")
    func say(_ text: String) throws -> String {
      chat.type(text + "\n")
      return String(try chat.wait(for: "> ").dropFirst(text.count + 1).dropLast(2))
    }
    #expect(try say("/schema \(path)") == "answers as JSON of the schema\n")
    _ = try say("the goal")
    #expect(try say("/schema") == "answers in words\n")
    #expect(try say("/schema \(scratch("none.json"))").hasPrefix("error: '"))
    #expect(try say("/schema {\"type\":1}").hasPrefix("error: /schema: "))
    chat.type("/exit\n")
    let end = chat.finish()
    #expect((10...99).contains(try JSONValue(parsing: String(end.output.split(separator: "\n").first ?? ""))["n"]?.int ?? 0))
  }
}
