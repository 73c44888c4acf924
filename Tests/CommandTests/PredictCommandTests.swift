import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// Texts of every kind, tagged from the command line.
@Suite(.serialized) struct PredictCommandTests {
  private let work: Workplace
  private let scratch = Scratch()

  init() throws { work = try Workplace(adapter: true) }

  private func arguments(_ rest: [String]) -> [String] { ["predict", work.model, "--adapter", work.adapter] + rest }

  private func predict(_ rest: String..., in directory: String? = nil, input: String? = nil) throws -> Outcome {
    try DibitProcess(arguments(rest), in: directory, input: input).finish()
  }

  private func fields(_ output: String) -> [[String]] {
    output.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
  }

  @Test("files, a folder, rows, lines and standard input give a text the same tags")
  func inputs() throws {
    let texts = topics(perLabel: 2).map(\.text)
    for (index, text) in texts.enumerated() { try scratch.write(text, to: "in/\(index).txt") }
    try scratch.write("", to: "in/8.txt")
    try scratch.write([0x63, 0x61, 0x66, 0xE9], to: "in/9.txt")
    try scratch.write("text\n" + texts.map { "\"\($0)\"\n" }.joined(), to: "rows.csv")
    try scratch.write("body\tid\n" + texts.map { "\($0)\t1\n" }.joined(), to: "rows.tsv")
    let objects = texts.map { "{\"body\":\"\($0)\"}\n" }.joined()
    let folder = try predict(scratch("in"))
    #expect(folder.status == 0, "\(folder.errors)")
    #expect(folder.errors == "note: 1 empty text, tagged by the prompt alone\n")
    let expected = fields(folder.output)
    #expect(expected.map { $0[0] } == (0..<10).map { scratch("in/\($0).txt") })
    let tags = expected.prefix(8).map { Array($0[1...]) }

    let files = try DibitProcess(arguments((0..<10).map { scratch("in/\($0).txt") })).finish()
    #expect(files.output == folder.output)
    for (path, options) in [("rows.csv", []), ("rows.tsv", ["--text-column", "body"])] {
      let rows = try DibitProcess(arguments([scratch(path)] + options)).finish()
      #expect(rows.status == 0, "\(rows.errors)")
      #expect(fields(rows.output).map { $0[0] } == (2..<10).map { scratch(path) + ":\($0)" })
      #expect(fields(rows.output).map { Array($0[1...]) } == tags)
      #expect(rows.errors.hasPrefix("8 texts in "), "\(rows.errors)")
    }
    let jsonl = try predict("-", "--input-format", "jsonl", "--text-column", "body", input: objects)
    #expect(fields(jsonl.output).map { $0[0] } == (1...8).map { "-:\($0)" })
    #expect(fields(jsonl.output).map { Array($0[1...]) } == tags)
    let lines = try predict("--lines", "-", input: texts.joined(separator: "\r\n"))
    #expect(fields(lines.output).map { Array($0[1...]) } == tags)
    let whole = try predict("-", input: texts[0])
    #expect(fields(whole.output) == [["-"] + tags[0]])
    #expect(whole.errors == "")
    let nothing = try predict("-", "--lines", input: "\n\n")
    #expect(nothing.status == 0)
    #expect(nothing.output == "")
    #expect(nothing.errors == "note: there was no text to tag\n")
  }

  @Test func outputForms() throws {
    let name = "a, \"b\".txt"
    try scratch.write("goal match", to: name)
    try scratch.write("soup", to: "c.txt")
    let csv = try predict(".", "--format", "csv", "--scores", in: scratch.path)
    #expect(csv.status == 0, "\(csv.errors)")
    let records = csv.output.split(separator: "\n")
    #expect(records[0] == "path,label,tags,probability,food,money,space,sport")
    #expect(records[1].hasPrefix("\"./a, \"\"b\"\".txt\","))
    #expect(records[2].hasPrefix("./c.txt,"))
    let jsonl = try predict(name, "c.txt", "--format", "jsonl", "--scores", in: scratch.path)
    let objects = try jsonl.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(objects.map { $0["file"]?.string } == [name, "c.txt"])
    #expect(objects[0].object?.keys == ["file", "topics", "probability", "truncated_tokens", "scores"])
    let json = try predict(name, "c.txt", "--json", in: scratch.path)
    #expect(try json.json() == .array(objects))
    #expect(json.output == JSONValue.array(objects).serialized(pretty: true) + "\n")
    let fields = records[2].split(separator: ",")
    #expect(fields[3] == (objects[1]["probability"]?.serialized() ?? "")[...])
  }

  @Test func thresholdAndTags() throws {
    let text = try scratch.write("goal match soup bread", to: "a.txt")
    func tags(_ options: String...) throws -> [String] {
      let outcome = try DibitProcess(arguments([text, "--json"] + options)).finish()
      #expect(outcome.status == 0, "\(outcome.errors)")
      return try outcome.json().array?.first?["topics"]?.array?.compactMap(\.string) ?? []
    }
    #expect(Set(try tags("--threshold", "0")) == ["food", "money", "space", "sport"])
    #expect(try tags("--threshold", "1") == [])
    #expect(try tags().count == 1)
    let scores = try predict(text, "--json", "--tags", "3").json().array?.first?["scores"]?.object?.members ?? []
    // A label is likelier to be one of three than to be the only one.
    #expect(scores.reduce(0) { $0 + ($1.value.double ?? 0) } > 1)
    #expect(try tags("--tags", "3", "--threshold", "0").count == 3)
    #expect((1...2).contains(try tags("--tags", "2").count))
    #expect(fields(try predict(text, "--threshold", "1").output)[0][1] == "-")
    let long = try scratch.write((0..<400).map { "word\($0)" }.joined(separator: " "), to: "long.txt")
    let probabilities = try ["tail", "head", "middle"].map { cut in
      try predict(long, "--json", "--cut", cut).json().array?.first?["probability"]?.double
    }
    #expect(Set(probabilities).count == 3)
    // Nothing is lost without a word, not even where one text asks for one line.
    #expect(try predict(long).errors == "note: 1 text cut to what the adapter learnt to read\n")
    #expect(try predict(text).errors == "")
  }

  @Test("what cannot be tagged is told, the rest goes on, and the exit code says so")
  func faults() throws {
    for index in 0..<30 { try scratch.write("soup \(index)", to: "in/\(index + 10).txt") }
    for index in 0..<12 { try scratch.write([0, 1, 2], to: "in/\(index + 10).bin") }
    // What is no text is left out where a folder holds it, and a fault where it was asked for.
    let named = (0..<12).map { scratch("in/\($0 + 10).bin") }
    let some = try DibitProcess(arguments([scratch("in")] + named + ["--format", "jsonl"])).finish()
    #expect(some.status == 65)
    let objects = try some.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(objects.count == 42)
    #expect(objects[30]["file"]?.string == scratch("in/10.bin"))
    #expect(objects[30]["error"]?.string?.hasPrefix("file '\(scratch("in/10.bin"))' holds no text") == true)
    #expect(objects.count { $0["topics"] != nil } == 30)
    let lines = some.errors.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("not tagged: file '") } == 10)
    #expect(lines.contains("not tagged: 2 more"))
    #expect(lines.contains("note: 12 files that are no text, left out"))
    #expect(lines.last == "error: 12 of 42 texts could not be tagged")
    let folder = try predict(scratch("in"))
    #expect(folder.status == 0 && folder.output.split(separator: "\n").count == 30)
    #expect(folder.errors == "note: 12 files that are no text, left out\n")
    try scratch.write([0, 1], to: "pictures/a.png")
    let nothing = try predict(scratch("pictures"))
    #expect(nothing.status == 65 && nothing.output == "")
    #expect(nothing.errors == "note: 1 file that is no text, left out\nerror: there was no text to tag\n")
    let empty = try predict(try scratch.write("", to: "empty.txt"), scratch("in/10.txt"), "--format", "jsonl")
    let records = try empty.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(records.map { $0["empty"] } == [true, nil])

    let none = scratch("none")
    let missing = "'\(none)' does not exist; check the path"
    try expectFailure(arguments([none]), status: 66, message: missing)
    let two = try predict(none, scratch("in/10.bin"))
    #expect(two.status == 66)
    #expect(two.errorLines == ["error: none of 2 texts could be tagged, the first because: \(missing)"])
    let mixed = try predict(scratch("in/10.txt"), none, "--json")
    #expect(mixed.status == 66)
    #expect(try mixed.json().array?[1] == ["file": .string(none), "error": .string(missing)])
    let large = try scratch.write([UInt8](repeating: 0x20, count: 16 << 20 | 1), to: "large.txt")
    #expect(try predict(large).errors.contains("at most 16777216 bytes expected in one text, 16777217 found"))
  }

  @Test("a job that was cut off goes on to the same bytes", arguments: ["text", "csv", "jsonl"])
  func goingOn(form: String) throws {
    for (index, topic) in topics(perLabel: 5).enumerated() { try scratch.write(topic.text, to: "in/\(index + 10), x.txt") }
    try scratch.write([0], to: "bad.bin")
    try scratch.write("text\nsoup\ngoal\n", to: "in/rows.csv")
    let (output, whole) = (scratch("in/out"), scratch("whole"))
    func run(_ output: String, _ options: String...) throws -> Outcome {
      try DibitProcess(arguments([scratch("bad.bin"), scratch("in"), "--format", form, "-o", output] + options)).finish()
    }
    let first = try run(whole)
    #expect(first.status == 65)
    #expect(first.output == "")
    #expect(first.errors.contains("23 texts in "))
    #expect(first.errors.contains(", 1 failed"))
    let bytes = try contents(whole)
    for length in [bytes.count / 2, bytes.count - 1, bytes.count] {
      try scratch.write(Array(bytes[..<length]), to: "in/out")
      let resumed = try run(output, "--resume")
      #expect(resumed.status == 65, "\(resumed.errors)")
      #expect(resumed.errors.contains("going on behind "))
      #expect(try contents(output) == bytes, "\(length)")
    }
    let refused = try run(output)
    #expect(refused.status == 73)
    #expect(
      refused.errors == "error: '\(output)': the output exists already; pass --resume to go on, or --overwrite to begin anew\n")
    #expect(try run(output, "--overwrite").status == 65)
    #expect(try contents(output) == bytes)
    try scratch.write("Dear all,\nthis is no output.\n", to: "in/out")
    let unfit = try run(output, "--resume")
    #expect(unfit.status == 65)
    #expect(unfit.errorLines.first?.hasPrefix("error: '\(output)', line 1: ") == true, "\(unfit.errors)")
    #expect(try text(output) == "Dear all,\nthis is no output.\n")
  }

  @Test func interruptionLosesNothing() throws {
    let rows = (0..<4000).map { "goal and soup \($0)\n" }.joined()
    let (input, output) = (try scratch.write(rows, to: "lines.txt"), scratch("out.jsonl"))
    let arguments = arguments([input, "--lines", "--format", "jsonl", "-o", output])
    let process = try DibitProcess(arguments)
    try process.wait { (try? contents(output).count) ?? 0 > 2000 }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    #expect(outcome.errorLines.count == 1)
    let line = outcome.errorLines.first ?? ""
    #expect(line.hasPrefix("error: interrupted after ") && line.hasSuffix(" texts; the same command with --resume goes on"), "\(line)")
    let before = try contents(output)
    #expect(before.last == 0x0A)
    let resumed = try DibitProcess(arguments + ["--resume"])
    try resumed.wait { (try? contents(output).count) ?? 0 > before.count }
    resumed.interrupt()
    #expect(try resumed.finish().status == 130)
    let lines = try text(output).split(separator: "\n")
    #expect(try contents(output).starts(with: before))
    for (index, line) in lines.enumerated() {
      #expect(try JSONValue(parsing: Array(line.utf8))["line"]?.int == index + 1)
    }
  }

  @Test("two jobs do not write one output")
  func oneAtATime() throws {
    let rows = (0..<4000).map { "goal and soup \($0)\n" }.joined()
    let (input, output) = (try scratch.write(rows, to: "lines.txt"), scratch("out.jsonl"))
    let arguments = arguments([input, "--lines", "--format", "jsonl", "-o", output])
    let first = try DibitProcess(arguments)
    try first.wait { (try? contents(output).count) ?? 0 > 2000 }
    for option in ["--resume", "--overwrite"] {
      try expectFailure(arguments + [option], status: 73, message: "'\(output)': another job is writing it")
    }
    first.interrupt()
    #expect(try first.finish().status == 130)
    let lines = try text(output).split(separator: "\n")
    #expect(try lines.map { try JSONValue(parsing: Array($0.utf8))["line"]?.int } == (1...lines.count).map { $0 })
  }

  @Test("a job that goes on foretells no end before it has done anything")
  func timeLeft() throws {
    // Longer than what is read ahead.
    let rest = String(repeating: "x", count: 8000)
    let rows = try scratch.write("text,rest\n" + (0..<400).map { "soup and bread \($0),\(rest)\n" }.joined(), to: "rows.csv")
    let output = scratch("tags.csv")
    let call = arguments([rows, "--format", "csv", "-o", output])
    try #require(try DibitProcess(call).finish().status == 0)
    let lines = try text(output).split(separator: "\n").prefix(201)
    try scratch.write(lines.joined(separator: "\n") + "\n", to: "tags.csv")
    let outcome = try DibitProcess(call + ["--resume"]).finish()
    #expect(outcome.status == 0)
    let first = outcome.errors.split(separator: "\n").first { $0.hasPrefix("tagging: ") } ?? ""
    #expect(first.hasSuffix("/s"), "\(outcome.errors)")
  }

  @Test("a reader that goes away ends the work quietly", arguments: ["", "trap '' PIPE; "])
  func brokenPipe(trap: String) throws {
    for index in 0..<200 { try scratch.write("soup \(index)", to: "in/\(index).txt") }
    let errors = scratch("errors")
    let command = arguments([scratch("in")]).map { "'\($0)'" }.joined(separator: " ")
    let script = "\(trap)'\(DibitProcess.executable)' \(command) 2>'\(errors)' | head -n 1 > '\(scratch("first"))'"
    #expect(run("/bin/sh", ["-c", script]) == 0)
    #expect(try text(errors).split(separator: "\n").allSatisfy { $0.hasPrefix("tagging: ") })
    #expect(try text(scratch("first")).split(separator: "\n").count == 1)
  }
}
