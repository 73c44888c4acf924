import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// Where the prompt of `dibit generate` comes from, how it is read, and what is said of what does not fit.
@Suite struct PromptTests {
  private let scratch = Scratch()
  private let model: String

  init() throws { model = try TinyCheckpoint.llama().write(to: scratch) }

  private func generate(_ arguments: String..., input: String? = nil) throws -> Outcome {
    try dibit(["generate", model, "--max-tokens", "6"] + arguments, input: input)
  }

  @Test func filesAndPipes() throws {
    let expected = try generate("--prompt", "the goal")
    #expect(expected.status == 0, "\(expected.errors)")
    // One line end is the editor's, and so is the mark in front.
    let file = try scratch.write("\u{FEFF}the goal\r\n", to: "prompt.txt")
    for outcome in [
      try generate("--prompt-file", file), try generate(input: "the goal\n"), try generate("--prompt", "-", input: "the goal"),
      try generate("--prompt-file", "-", input: "the goal\n"),
    ] {
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.output == expected.output)
    }
    // What is asked for counts, not what lies in a pipe.
    #expect(try generate("--prompt", "the goal", input: "the soup\n").output == expected.output)
    #expect(try generate("--raw", input: "the goal\n\n").output.hasPrefix("the goal\n"))
    let messages = try scratch.write("{\"role\": \"user\", \"content\": \"the goal\"}\n", to: "messages.jsonl")
    #expect(try generate("--messages", messages).output == expected.output)
    let chat = try generate("--messages", messages, "--system", "be calm").output
    #expect(try chat == generate("--prompt", "the goal", "--system", "be calm").output)
    try expectFailure(
      ["generate", model, "--prompt-file", scratch("none.txt")], status: 66, message: "'\(scratch("none.txt"))': no such file or directory")
  }

  @Test("control tokens in a raw prompt count only where that is asked for")
  func specialTokens() throws {
    let turn = "<turn_start> user<n>the goal<turn_end><turn_start> assistant<n>"
    func count(_ arguments: String...) throws -> Int? {
      try dibit(["generate", model, "--max-tokens", "1", "--json"] + arguments).json()["prompt_tokens"]?.int
    }
    let asked = try #require(try count("--prompt", "the goal"))
    #expect(try count("--raw", "--special-tokens", "--prompt", turn) == asked)
    #expect(try #require(try count("--raw", "--prompt", turn)) > asked + 8)
    #expect(
      try dibit("generate", model, "--max-tokens", "6", "--raw", "--special-tokens", "--prompt", turn).output
        == turn + generate("--prompt", "the goal").output)
  }

  @Test("bytes that are no UTF-8 are refused with their offset")
  func invalidUTF8() throws {
    let file = try scratch.write([0x61, 0x62, 0xC3], to: "cut.txt")
    try expectFailure(
      ["generate", model, "--prompt-file", file], status: 65, message: "'\(file)': UTF-8 expected, byte 0xC3 found at offset 2")
    func run(_ script: String) throws -> (status: Int32, errors: String) {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/bash")
      process.arguments = ["-c", script]
      let errors = Pipe()
      (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, errors)
      try process.run()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
    }
    let start = "'\(DibitProcess.executable)' generate '\(model)'"
    for (script, status, message) in [
      (start + " --prompt $'caf\\xe9'", 64, "--prompt: UTF-8 expected, byte 0xE9 found at offset 3"),
      (start + " --prompt=$'\\xffa'", 64, "--prompt: UTF-8 expected, byte 0xFF found at offset 0"),
      ("'\(DibitProcess.executable)' $'\\xc0'", 64, "argument 1: UTF-8 expected, byte 0xC0 found at offset 0"),
      ("printf 'ab\\200' | " + start, 65, "standard input: UTF-8 expected, byte 0x80 found at offset 2"),
    ] {
      let outcome = try run(script)
      #expect(outcome.status == Int32(status), "\(script)")
      #expect(outcome.errors == "error: \(message)\n", "\(script)")
    }
  }

  @Test("an adapter that tags is asked as it was trained, and answers with its labels")
  func taggingAdapter() throws {
    let work = try Workplace(adapter: true)
    let arguments = ["generate", work.model, "--adapter", work.adapter, "--prompt", "soup bread salt"]
    let outcome = try dibit(arguments)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let tags = try outcome.json()["topics"]?.array ?? []
    #expect(!tags.isEmpty)
    #expect(tags.allSatisfy { ["food", "money", "space", "sport"].contains($0.string ?? "") })
    let asked = try dibit(arguments + ["--json"]).json()
    #expect(asked["text"]?.string == outcome.output.dropLast().description)
    // The instruction that the adapter learnt with, in turns.
    let whole =
      "<turn_start> system<n>Tag the text with its topic.<turn_end><turn_start> user<n>soup bread salt<turn_end><turn_start> assistant<n>"
    let ids = try dibit("tokenize", work.model, "--text", whole).output.split(separator: " ").count
    #expect(asked["prompt_tokens"]?.int == ids)
    #expect(try dibit(arguments + ["--raw"]).output.hasPrefix("soup bread salt"))
    #expect(try dibit(arguments + ["--choices", "yes,no"]).output.contains(/^(yes|no)\n$/))
    try expectFailure(
      arguments + ["--system", "s"], status: 64,
      message: "--system: the adapter tags texts and has an instruction of its own; use 'dibit generate' without it")
  }

  @Test func whatDoesNotFitIsTold() throws {
    let cut = try generate("--prompt", "the goal", "--raw", "--max-tokens", "99999", "--json")
    let made = 256 - (try cut.json()["prompt_tokens"]?.int ?? 0)
    #expect(cut.status == 0)
    #expect(
      cut.errors == "note: only \(made) of the 99,999 tokens of --max-tokens fit behind the prompt in the model's context of 256\n")
    let long = String(repeating: "the planet was small ", count: 100)
    let count = try dibit("tokenize", model, "--text", long).output.split(separator: " ").count
    try expectFailure(
      ["generate", model, "--raw", "--prompt", long], status: 65,
      message: "\(count) tokens do not fit the model's context of 256: shorten the prompt")
  }

  @Test func schemas() throws {
    let schema = "{\"enum\": [\"one of the goals\", \"two\"]}"
    let file = try scratch.write(schema, to: "schema.json")
    let inline = try generate("--prompt", "the goal", "--schema", " " + schema, "--max-tokens", "60")
    #expect(inline.status == 0, "\(inline.errors)")
    #expect(inline.output == (try generate("--prompt", "the goal", "--schema", file, "--max-tokens", "60").output))
    #expect(["\"one of the goals\"\n", "\"two\"\n"].contains(inline.output))
    let outcome = try generate("--prompt", "the goal", "--schema", schema, "--max-tokens", "1")
    #expect(outcome.status == 65)
    let needed = outcome.errors.split(separator: " ").compactMap { Int($0) }.first ?? 0
    #expect(
      outcome.errors
        == "error: an answer of the form that was asked for may take \(needed) tokens, and only 1 may come: pass --max-tokens \(needed) or more\n"
    )
    #expect(try generate("--prompt", "the goal", "--schema", schema, "--max-tokens", "\(needed)").status == 0)
    try expectFailure(
      ["generate", model, "--prompt", "p", "--schema", "{\"type\""], status: 65,
      message: "--schema: the schema is not JSON: JSON at byte 7: expected ':', found the end of the text")
    try expectFailure(
      ["generate", model, "--prompt", "p", "--schema", "[]"], status: 65,
      message: "--schema: a schema (an object, true or false) expected, an array found")
    #expect(try generate("--prompt", "p", "--schema", "true", "--max-tokens", "20").status == 0)
  }

  @Test("at a terminal the speed is told in the end; elsewhere only behind a long prompt's progress")
  func speed() throws {
    let process = try TerminalProcess(["generate", model, "--prompt", "the goal", "--max-tokens", "5"])
    let end = process.finish()
    #expect(end.status == 0)
    #expect(try end.output == generate("--prompt", "the goal", "--max-tokens", "5").output)
    #expect(end.screen.contains(/^\d+ prompt tokens in [\d.]+ s \([\d,.]+\/s\), \d tokens? in [\d.]+ s \([\d,.]+\/s\)\n$/), "\(end.screen)")
    #expect(try generate("--prompt", "the goal").errors == "")
  }
}
