import DibitJSON
import DibitTestSupport
import DibitTokenizer
import Foundation
import Testing

/// A tiny model that is spoken to in ChatML.
func writeChatModel(to scratch: Scratch, _ name: String = "talker", context: Int = 512) throws -> String {
  var checkpoint = try TinyCheckpoint.llama(context: context)
  checkpoint.tokenizer = try Tokenizer.training(
    on: TinyCheckpoint.sentences, vocabularySize: TinyCheckpoint.vocabulary - 8,
    specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
  ).serialized()
  let path = try checkpoint.write(to: scratch, name)
  let template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
  let settings: JSONValue = ["chat_template": .string(template), "eos_token": "<|im_end|>"]
  try scratch.write(settings.serialized(), to: name + "/tokenizer_config.json")
  return path
}

@Suite struct ChatCommandTests {
  private let scratch = Scratch()

  private func write(_ messages: [(role: String, content: String)], to name: String) throws -> String {
    let list = messages.map { message -> JSONValue in ["role": .string(message.role), "content": .string(message.content)] }
    return try scratch.write(JSONValue.array(list).serialized(), to: name)
  }

  @Test("lines of a pipe are turns; the prompt is the chat as transformers writes it, and only what is new is read")
  func pipe() throws {
    let model = try writeChatModel(to: scratch)
    let options = ["chat", model, "--system", "be calm", "--max-tokens", "9", "--temperature", "0.8", "--seed", "2"]
    let lines = "the goal\n\nthe soup needs salt\nthe moon\r\n   \nthe bank pays\nthe cup"
    let outcome = try dibit(options + ["--json", "--save", scratch("kept.json")], input: lines)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors == "")
    let answers = try outcome.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(answers.count == 5)
    #expect(
      answers.first?.object?.keys
        == ["role", "content", "finish_reason", "prompt_tokens", "read_tokens", "tokens", "prompt_seconds", "seconds"])
    let kept = try JSONValue(parsing: try contents(scratch("kept.json"))).array ?? []
    let (roles, said) = (kept.map { $0["role"]?.string ?? "" }, kept.dropFirst().map { $0["content"]?.string ?? "" })
    #expect(roles == ["system"] + (0..<5).flatMap { _ in ["user", "assistant"] })
    #expect(
      said.indices.filter { $0.isMultiple(of: 2) }.map { said[$0] } == [
        "the goal", "the soup needs salt", "the moon", "the bank pays", "the cup",
      ])
    #expect(said.indices.filter { !$0.isMultiple(of: 2) }.map { said[$0] } == answers.map { $0["content"]?.string ?? "?" })
    var before = 0
    for (turn, answer) in answers.enumerated() {
      let written = kept.prefix(2 + 2 * turn).map { "<|im_start|>\($0["role"]?.string ?? "")\n\($0["content"]?.string ?? "")<|im_end|>\n" }
      let ids = try dibit("tokenize", model, "--bare", "--text", written.joined() + "<|im_start|>assistant\n")
      #expect(answer["prompt_tokens"]?.int == ids.output.split(separator: " ").count)
      let (all, read) = (answer["prompt_tokens"]?.int ?? 0, answer["read_tokens"]?.int ?? 0)
      #expect(turn == 0 ? read == all : read <= all - before + 1, "turn \(turn)")
      before = all
    }

    // As text, and in two chats of which the second goes on with the first.
    let text = try dibit(options + ["--save", scratch("three.json")], input: "the goal\nthe soup needs salt\nthe moon\n")
    let rest = try dibit(
      ["chat", model, "--messages", scratch("three.json")] + options.dropFirst(4) + ["--save", scratch("three.json"), "--overwrite"],
      input: "the bank pays\nthe cup\n")
    #expect(rest.status == 0, "\(rest.errors)")
    #expect(text.output + rest.output == answers.map { ($0["content"]?.string ?? "?") + "\n" }.joined())
    #expect(try contents(scratch("three.json")) == contents(scratch("kept.json")))
    // 'generate' answers the same.
    let messages = try write(zip(roles, ["be calm"] + said).dropLast().map { (role: $0, content: $1) }, to: "asked.json")
    let generated = try dibit(["generate", model, "--messages", messages] + options.dropFirst(4))
    #expect(generated.output == (answers.last?["content"]?.string ?? "?") + "\n", "\(generated.errors)")
    // A last message of the user is answered before any line.
    #expect(try dibit(["chat", model, "--messages", messages] + options.dropFirst(4)).output == generated.output)
  }

  @Test func fullContext() throws {
    let model = try writeChatModel(to: scratch, context: 64)
    let long = String(repeating: "the planet was small ", count: 40)
    let outcome = try dibit(
      ["chat", model, "--max-tokens", "5", "--save", scratch("kept.json")], input: "the goal\n\(long)\nthe soup\n")
    #expect(outcome.status == 65)
    #expect(outcome.output.split(separator: "\n", omittingEmptySubsequences: false).count >= 2)
    let tokens = outcome.errors.split(separator: " ").compactMap { Int($0) }.first ?? 0
    #expect(tokens > 64)
    #expect(
      outcome.errors
        == "error: line 2: the chat would have \(tokens) tokens, and the model's context of 64 leaves no room for an answer: "
        + "begin another chat, or let fewer turns come before\n")
    let alone = try dibit(["chat", model, "--max-tokens", "5"], input: "\(long)\n")
    #expect(alone.status == 65)
    #expect(alone.errors.hasPrefix("error: line 1: the chat would have "))
    #expect(
      alone.errors.hasSuffix(" tokens, and the model's context of 64 leaves no room for an answer: shorten the message\n"),
      "\(alone.errors)")
    #expect(try JSONValue(parsing: try contents(scratch("kept.json"))).array?.count == 2)
    let cut = try dibit(["chat", model, "--max-tokens", "500", "--seed", "1", "--temperature", "2"], input: "the goal\n")
    #expect(cut.status == 0)
    #expect(
      cut.errors.isEmpty
        || cut.errors == "note: the answer ends here because the model's context of 64 tokens is full\n"
    )
  }

  @Test("what cannot be chatted with is told before the model is asked")
  func faults() throws {
    let (model, plain) = (try writeChatModel(to: scratch), scratch("plain"))
    var checkpoint = try TinyCheckpoint.llama()
    checkpoint.tokenizer = try Tokenizer.training(
      on: TinyCheckpoint.sentences, vocabularySize: TinyCheckpoint.vocabulary - 8, specialTokens: ["<|endoftext|>"]
    ).serialized()
    try checkpoint.write(to: scratch, "plain")
    let noChat =
      "'\(plain)' has no chat template, nor turns that Dibit knows, so that it cannot tell who speaks: continue texts with 'dibit generate --raw'"
    try expectFailure(["chat", plain], status: 65, message: noChat)
    let asked = try write([("user", "the goal")], to: "asked.json")
    try expectFailure(["generate", plain, "--messages", asked], status: 65, message: noChat)
    let wrong = try write([("user", "a"), ("bot", "b")], to: "wrong.json")
    for command in ["chat", "generate"] {
      try expectFailure(
        [command, model, "--messages", wrong], status: 65,
        message: "'\(wrong)': message 2: the role system, user or assistant expected, 'bot' found")
    }
    let twice = try write([("user", "a"), ("user", "b")], to: "twice.json")
    try expectFailure(
      ["chat", model, "--messages", twice], status: 65, message: "'\(twice)': message 2: one of assistant expected, one of user found")
    let before = try contents(asked)
    try expectFailure(
      ["chat", model, "--save", asked], status: 73,
      message: "'\(asked)': the output exists already; choose another name or pass --overwrite")
    #expect(try contents(asked) == before)
    let answered = try write([("user", "a"), ("assistant", "b")], to: "answered.json")
    try expectFailure(
      ["generate", model, "--messages", answered], status: 65,
      message: "'\(answered)': a last message of the user expected, which is answered; found one of the assistant")
    let file = try scratch.write([0x61, 0x0A, 0x62, 0xFF, 0x0A], to: "latin.txt")
    let process = Process()
    process.executableURL = URL(filePath: DibitProcess.executable)
    process.arguments = ["chat", model, "--max-tokens", "1"]
    process.standardInput = FileHandle(forReadingAtPath: file)
    let errors = Pipe()
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, errors)
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 65)
    #expect(
      String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        == "error: line 2 of standard input: UTF-8 expected, byte 0xFF found at offset 1\n")
  }

  @Test("an adapter that tags does not talk")
  func taggingAdapter() throws {
    let work = try Workplace(adapter: true)
    try expectFailure(
      ["chat", work.model, "--adapter", work.adapter], status: 65,
      message: "the adapter '\(work.adapter)' was trained to tag texts, not to talk: use it with 'dibit predict' or 'dibit generate'")
  }

  @Test("at a terminal: commands, Ctrl-C and Ctrl-D")
  func terminal() throws {
    let model = try writeChatModel(to: scratch)
    let chat = try TerminalProcess(["chat", model, "--max-tokens", "3"])
    #expect(try chat.wait(for: "> ") == "\(model), a context of 512 tokens; /help lists commands, Ctrl-D ends\n> ")
    func say(_ text: String) throws -> String {
      chat.type(text + "\n")
      let seen = try chat.wait(for: "> ")
      #expect(seen.hasPrefix(text + "\n"))
      return String(seen.dropFirst(text.count + 1).dropLast(2))
    }
    #expect(try say("/undo") == "there is no message to take back\n")
    #expect(try say("the goal") == "")
    #expect(try say("/save \(scratch("kept.json"))") == "wrote \(scratch("kept.json"))\n")
    #expect(try say("//slash") == "")
    #expect(try say("/save \(scratch("kept.json"))") == "wrote \(scratch("kept.json"))\n")
    #expect(try JSONValue(parsing: try contents(scratch("kept.json"))).array?.map { $0["content"]?.string ?? "" }[2] == "/slash")
    #expect(try say("/undo") == "taken back; 2 messages left\n")
    #expect(try say("/reset") == "the chat begins anew\n")
    #expect(try say("/system be calm") == "system message set\n")
    #expect(try say("/jump") == "error: there is no command '/jump'; /help lists them, and //... is a message that begins with a slash\n")
    #expect(try say("/save") == "error: /save: the name of a file expected, found none\n")
    let taken = try scratch.write("mine", to: "taken.txt")
    #expect(try say("/save \(taken)") == "error: /save: '\(taken)' exists already; choose another name\n")
    #expect(try text(taken) == "mine")
    #expect(try say("/help").contains("/undo         take back the last message and its answer\n"))
    let long = String(repeating: "planet ", count: 500)
    #expect(try say(long).hasSuffix("leaves no room for an answer: shorten the message\n"))
    _ = try say("the goal")
    #expect(
      try say(long).hasSuffix(
        "leaves no room for an answer: nothing is lost; /undo takes back the last turn, /save keeps the chat, /reset begins anew\n"))
    chat.interrupt()
    #expect(try chat.wait(for: "> ") == "\n(Ctrl-C again or Ctrl-D ends)\n> ")
    #expect(try say("the soup") == "")
    chat.type("\u{4}")
    let end = chat.finish()
    #expect(end.status == 0)
    #expect(end.screen == "\n")
    // Three answers, each with a line end.
    #expect(end.output.filter { $0 == "\n" }.count >= 3)
  }

  @Test("Ctrl-C ends an answer and not the chat; what has come of it stays")
  func interruptedAnswer() throws {
    let model = try writeChatModel(to: scratch, context: 32768)
    let chat = try TerminalProcess(["chat", model, "--max-tokens", "30000", "--temperature", "3", "--seed", "1"])
    try chat.wait(for: "> ")
    chat.type("the goal\n")
    try chat.wait(for: "the goal\n")
    usleep(100_000)
    chat.interrupt()
    try chat.wait(for: "> ")
    chat.type("/save \(scratch("kept.json"))\n")
    // Where the answer ended by itself first, Ctrl-C has its own line at the prompt.
    try chat.wait(for: "> ", behind: "wrote \(scratch("kept.json"))\n")
    let kept = try JSONValue(parsing: try contents(scratch("kept.json"))).array ?? []
    #expect(kept.count == 2 || kept.isEmpty)
    chat.type("/exit\n")
    #expect(chat.finish().status == 0)
  }
}
