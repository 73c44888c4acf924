import DibitJSON
import DibitTestSupport
import Testing

/// Texts that a model writes after the manner of labelled ones.
@Suite(.serialized) struct SynthesizeCommandTests {
  private let work: Workplace
  private var output: String { work.scratch("written.jsonl") }

  init() throws { work = try Workplace() }

  private func arguments(_ options: [String], to output: String? = nil) -> [String] {
    ["synthesize", work.model, "--data", work.data, "--limit", "12", "--temperature", "2", "--top-p", "1"]
      + (output.map { ["-o", $0] } ?? []) + options
  }

  private func rows(_ text: String) throws -> [JSONValue] { try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) } }

  @Test("texts are new, of each label in turn, the same on any number of threads, and others with another seed")
  func writes() throws {
    let one = try dibit(arguments(["--threads", "1"]))
    try #require(one.status == 0, "\(one.errors)")
    #expect(try dibit(arguments(["--threads", "2"])).output == one.output)
    #expect(try dibit(arguments(["--seed", "1"])).output != one.output)
    let rows = try rows(one.output)
    #expect(rows.count == 12 && rows.allSatisfy { $0.object?.keys == ["text", "label", "attempt"] })
    let texts = rows.compactMap { $0["text"]?.string }
    #expect(Set(texts).count == 12 && texts.allSatisfy { !$0.contains("\n") && !$0.isEmpty })
    #expect(Set(texts).isDisjoint(with: topics(perLabel: 8).map(\.text)))
    let labels = ["food", "money", "space", "sport"]
    for row in rows { #expect(row["label"]?.string == row["attempt"]?.int.map { labels[$0 % 4] }) }
    // Fewer are the first of more.
    let fewer = try dibit(["synthesize", work.model, "--data", work.data, "--limit", "5", "--temperature", "2", "--top-p", "1"])
    #expect(one.output.hasPrefix(fewer.output) && fewer.output.count { $0 == "\n" } == 5)
  }

  @Test("what a job wrote before it was stopped is gone on with, to the same bytes, wherever it was cut")
  func resumes() throws {
    let outcome = try dibit(arguments([], to: output))
    try #require(outcome.status == 0, "\(outcome.errors)")
    let whole = try contents(output)
    for end in [0, 1, whole.count / 3, whole.count / 2, whole.count - 1, whole.count] {
      try work.scratch.write(Array(whole[..<end]), to: "written.jsonl")
      let resumed = try dibit(arguments(["--resume"], to: output))
      #expect(resumed.status == 0, "\(resumed.errors)")
      #expect(try contents(output) == whole)
    }
    // Fewer than are there take nothing away.
    #expect(try dibit(arguments(["--resume"], to: output).map { $0 == "12" ? "5" : $0 }).status == 0)
    #expect(try contents(output) == whole)
    // Where there is nothing yet, it begins.
    let fresh = work.scratch("fresh.jsonl")
    #expect(try dibit(arguments(["--resume"], to: fresh)).status == 0)
    #expect(try contents(fresh) == whole)
    try expectFailure(
      arguments([], to: output), status: 73,
      message: "'\(output)': the output exists already; pass --resume to go on, or --overwrite to begin anew")
    let advice = ": give the same to go on, or pass --overwrite instead of --resume to begin anew"
    try expectFailure(
      arguments(["--resume", "--seed", "1"], to: output), status: 65, message: "'\(output)' was begun with --seed 0, not 1\(advice)")
    try work.scratch.write("one more", to: "data/food/more.txt")
    try expectFailure(arguments(["--resume"], to: output), status: 65, message: "'\(output)' was begun with other data\(advice)")
    #expect(try contents(output) == whole)
    #expect(try dibit(arguments(["--overwrite"], to: output)).status == 0)
    #expect(try contents(output) != whole)
  }

  @Test("an interrupted job says how to go on")
  func interrupted() throws {
    let many = ["synthesize", work.model, "--data", work.data, "--limit", "100000", "--temperature", "2", "-o", output]
    let process = try DibitProcess(many)
    try process.wait { process.errors.contains("writing texts") }
    process.interrupt()
    #expect(try process.finish().status == 130)
    #expect(process.errors.contains("the same command with --resume goes on"), "\(process.errors)")
  }

  @Test("what is written is learnt from as a teacher labels it")
  func teaches() throws {
    let teacher = work.scratch("teacher")
    let options = ["--epochs", "1", "--rank", "4"]
    try #require(try dibit(["train", work.model, "--data", work.data, "-o", teacher] + options).status == 0)
    try #require(try dibit(arguments([], to: output)).status == 0)
    let taught = try dibit(
      [
        "train", work.model, "--data", work.data, "-o", work.scratch("taught"), "--teacher", work.model, "--teacher-adapter", teacher,
        "--unlabelled-texts", output,
      ] + options)
    #expect(taught.status == 0 && taught.errors.contains("12 texts that the teacher labelled"), "\(taught.errors)")
  }

  @Test("what no texts can be written of is refused in one line")
  func refusals() throws {
    for (options, message) in [
      (["--limit", "0"], "--limit: expected a number from 1 to 1000000, found 0"),
      (["--resume"], "--resume: expected --output beside it"),
      (["--temperature", "0"], "--temperature: expected a number from 0.01 to 10.0, found 0.0"),
    ] {
      try expectFailure(arguments(options), status: 64, message: "\(message); see 'dibit synthesize --help'")
    }
    let chats = try work.scratch.write(#"{"prompt": "a", "completion": "b"}"# + "\n", to: "chats.jsonl")
    let refused = try dibit("synthesize", work.model, "--data", chats)
    #expect(refused.status == 65 && refused.errors.contains("'\(chats)'"), "\(refused.errors)")
    let note = try work.scratch.write("a note\n", to: "note.jsonl")
    let foreign = try dibit(arguments(["--overwrite"], to: note))
    #expect(foreign.status == 73 && foreign.errors.contains("a file of written texts"), "\(foreign.errors)")
    try expectFailure(
      arguments(["--resume"], to: note), status: 65,
      message: "'\(note)', line 1: expected a text that 'dibit synthesize' wrote; choose another name")
    #expect(try text(note) == "a note\n")
    let inside = try dibit(arguments([], to: work.data + "/food/0.txt"))
    #expect(inside.status == 73, "\(inside.errors)")
  }
}
