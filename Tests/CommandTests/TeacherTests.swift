import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// Learning from an adapter of another model beside the labels.
@Suite struct TeacherTests {
  /// A model at two bits, the same in 16 bits with an adapter, and data.
  private struct Pair {
    let work: Workplace
    var floats: String { work.scratch("floats") }
    var adapter: String { work.scratch("taught") }

    init() throws {
      work = try Workplace()
      try #require(try dibit("convert", work.scratch("source"), "--bits", "16", "--output", floats, "--no-check").status == 0)
      let outcome = try dibit(
        "train", floats, "--data", work.data, "-o", adapter, "--epochs", "8", "--rank", "4", "--learning-rate", "1e-2")
      try #require(outcome.status == 0, "\(outcome.errors)")
    }

    func command(_ name: String, _ options: [String] = []) -> [String] {
      ["train", work.model, "--data", work.data, "-o", work.scratch(name), "--epochs", "2", "--rank", "4"] + options
    }

    var teacher: [String] { ["--teacher", floats, "--teacher-adapter", adapter] }

    func manifest(_ name: String) throws -> JSONValue { try JSONValue(parsing: try contents(work.scratch(name) + "/manifest.json")) }
    func weights(_ name: String) throws -> [UInt8] { try contents(work.scratch(name) + "/adapter_model.safetensors") }
  }

  @Test("an adapter that learns from another says so, is its own on one thread and two, and depends on the share of the labels")
  func teaches() throws {
    let pair = try Pair()
    for (name, options) in [
      ("alone", []), ("half", pair.teacher + ["--threads", "1"]), ("again", pair.teacher + ["--label-share", "0.5", "--threads", "2"]),
      ("answers", pair.teacher + ["--label-share", "0"]),
    ] {
      let outcome = try dibit(pair.command(name, options))
      try #require(outcome.status == 0, "\(outcome.errors)")
    }
    #expect(try pair.weights("half") == pair.weights("again"))
    #expect(try pair.weights("half") != pair.weights("alone") && pair.weights("half") != pair.weights("answers"))
    let teacher = try #require(try pair.manifest("half")["teacher"])
    #expect(teacher["model"] == .string(pair.floats) && teacher["adapter"] == .string(pair.adapter) && teacher["label_share"] == 0.5)
    #expect(try teacher["digest"] == JSONValue(parsing: contents(pair.adapter + "/manifest.json"))["digest"])
    #expect(try pair.manifest("alone")["teacher"] == nil)
    #expect(try dibit("predict", pair.work.model, "--adapter", pair.work.scratch("half"), pair.work.data).status == 0)
  }

  @Test("a stopped run goes on with the same teacher only, to the same bytes")
  func resumes() throws {
    let pair = try Pair()
    let long = pair.teacher + ["--set", "epochs=40", "--checkpoint-every", "2"]
    let options = pair.command("stopped").filter { $0 != "--epochs" && $0 != "2" }
    let whole = pair.command("whole").filter { $0 != "--epochs" && $0 != "2" }
    try #require(try dibit(whole + long).status == 0)
    let process = try DibitProcess(options + long)
    try process.wait { process.errors.contains("step ") }
    process.interrupt()
    try #require(try process.finish().status == 130)
    let other = try dibit(options + long + ["--resume", "--label-share", "0.25"])
    #expect(other.status == 65 && other.errors.contains("teacher"), "\(other.errors)")
    let outcome = try dibit(options + long + ["--resume"])
    try #require(outcome.status == 0, "\(outcome.errors)")
    #expect(try pair.weights("stopped") == pair.weights("whole"))
  }

  @Test("texts that nobody has labelled are learnt from, as the teacher labels them, whatever the number of threads and after a stop")
  func unlabelled() throws {
    let pair = try Pair()
    let texts = pair.work.scratch("texts")
    for index in 0..<6 {
      try pair.work.scratch.write("the \(["sea", "team", "cake"][index % 3]) is number \(index)", to: "texts/\(index).txt")
    }
    try pair.work.scratch.write("the sea is number 0", to: "texts/again.txt")
    let options = pair.teacher + ["--unlabelled-texts", texts]
    for (name, more) in [("one", ["--threads", "1"]), ("two", ["--threads", "2"]), ("some", ["--unlabelled-limit", "4"])] {
      let outcome = try dibit(pair.command(name, options + more))
      try #require(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.errors.contains("1 text of '\(texts)' passed over"), "\(outcome.errors)")
    }
    try #require(try dibit(pair.command("without", pair.teacher)).status == 0)
    #expect(try pair.weights("one") == pair.weights("two"))
    #expect(try pair.weights("one") != pair.weights("some") && pair.weights("some") != pair.weights("without"))
    #expect(try pair.manifest("one")["teacher"]?["texts"] == ["path": .string(texts), "found": 7, "repeated": 1, "taken": 6])
    #expect(try pair.manifest("some")["teacher"]?["texts"]?["taken"] == 4)
    let rows = try pair.work.scratch.write(
      (1...3).map { #"{"title":"news","body":"the sea has \#($0) waves"}"# }.joined(separator: "\n"), to: "rows.jsonl")
    try #require(try dibit(pair.command("rows", pair.teacher + ["--unlabelled-texts", rows, "--text-column", "body"])).status == 0)
    #expect(try pair.manifest("rows")["teacher"]?["texts"]?["taken"] == 3)
    // The data is what it is without them, so that evaluation finds its splits again; what was learnt from is known all the same.
    #expect(try pair.manifest("one")["data_sha256"] == pair.manifest("without")["data_sha256"])
    try pair.work.scratch.write("the sea is number 0", to: "asked/food/1.txt")
    try pair.work.scratch.write("the ball is number 9", to: "asked/sport/1.txt")
    let asked = ["evaluate", pair.work.model, "--data", pair.work.scratch("asked"), "--baselines", "none"]
    let evaluated = try dibit(asked + ["--adapter", pair.work.scratch("one")])
    #expect(evaluated.errors.contains("'food/1.txt' was trained on"), "\(evaluated.errors)")
    let other = try dibit(asked + ["--adapter", pair.work.scratch("without")])
    #expect(!other.errors.contains("was trained on"), "\(other.errors)")

    let long = pair.command("stopped", options + ["--set", "epochs=40", "--checkpoint-every", "2"]).filter { $0 != "--epochs" && $0 != "2" }
    let process = try DibitProcess(long + ["2"])
    try process.wait { process.errors.contains("step ") }
    process.interrupt()
    try #require(try process.finish().status == 130)
    let resumed = try dibit(long + ["2", "--resume"])
    try #require(resumed.status == 0, "\(resumed.errors)")
    let whole = long.map { $0 == pair.work.scratch("stopped") ? pair.work.scratch("whole") : $0 }
    try #require(try dibit(whole + ["2"]).status == 0)
    #expect(try pair.weights("stopped") == pair.weights("whole"))
  }

  @Test("texts that no teacher can label are refused in one line")
  func unlabelledRefusals() throws {
    let pair = try Pair()
    let work = pair.work
    for (options, message) in [
      (["--unlabelled-texts", "x"], "--unlabelled-texts: expected beside --teacher, found without one"),
      (pair.teacher + ["--unlabelled-limit", "9"], "--unlabelled-limit: expected beside --unlabelled-texts, found without them"),
      (
        pair.teacher + ["--unlabelled-texts", "x", "--unlabelled-limit", "0"],
        "--unlabelled-limit: expected a number from 1 to 10000000, found 0"
      ),
    ] {
      let outcome = try dibit(pair.command("no") + options)
      #expect(outcome.status == 64 && outcome.errorLines == ["error: \(message); see 'dibit train --help'"], "\(outcome.errors)")
    }
    let missing = try dibit(pair.command("no", pair.teacher + ["--unlabelled-texts", work.scratch("none")]))
    #expect(missing.status == 66 && missing.errorLines.count == 1 && missing.errors.contains(work.scratch("none")), "\(missing.errors)")
    // Before a teacher learns for them.
    for teacher in [pair.teacher, ["--teacher", pair.floats]] {
      let same = try dibit(pair.command("no", teacher + ["--unlabelled-texts", work.data]))
      #expect(same.status == 65 && same.errors.contains("expected texts that are not labelled already"), "\(same.errors)")
      #expect(!same.errors.contains("the teacher learns first") && !exists(work.scratch("no.teacher")), "\(same.errors)")
    }
  }

  @Test("teachers that do not fit are refused in one line")
  func refusals() throws {
    let pair = try Pair()
    let (work, floats, adapter) = (pair.work, pair.floats, pair.adapter)
    func fails(_ options: [String], _ status: Int32, _ message: String) throws {
      try expectFailure(pair.command("no") + options, status: status, message: message)
    }
    let unmeasured = "beside --teacher, found none: what is not there yet cannot be measured"
    for (options, message) in [
      (["--teacher-adapter", adapter], "--teacher-adapter: expected beside --teacher, found without one"),
      (["--label-share", "0.5"], "--label-share: expected beside --teacher, found without one"),
      (["--written-texts", "5"], "--written-texts: expected beside --teacher, found without one"),
      (pair.teacher + ["--written-texts", "0"], "--written-texts: expected a number from 1 to 1000000, found 0"),
      (
        pair.teacher + ["--written-texts", "5", "--unlabelled-texts", "x"],
        "--written-texts: expected either it or --unlabelled-texts, found both"
      ),
      (["--plan", "--teacher", floats], "--plan: expected --teacher-adapter \(unmeasured)"),
      (["--plan", "--written-texts", "5"] + pair.teacher, "--plan: expected --unlabelled-texts \(unmeasured)"),
      (pair.teacher + ["--label-share", "1"], "--label-share: expected a number from 0.0 to 0.99, found 1.0"),
    ] {
      let outcome = try dibit(pair.command("no") + options)
      #expect(outcome.status == 64 && outcome.errorLines == ["error: \(message); see 'dibit train --help'"], "\(outcome.errors)")
    }
    try fails(
      ["--teacher", floats, "--teacher-adapter", work.scratch("none")], 66, "'\(work.scratch("none"))': no such file or directory")
    // Other labels, and the same ones asked in another way.
    try work.scratch.write("the sea is deep and blue", to: "colours/blue/1.txt")
    try work.scratch.write("the red paint dries", to: "colours/red/1.txt")
    try differs(pair, ["--data", work.scratch("colours")], in: "labels (")
    try differs(pair, ["--data", work.data, "--set", "prompt.instruction=What is it?"], in: "instructions (")
    try differs(pair, ["--data", work.data, "--prompt-form", "plain"], in: "forms of the prompt")
    // Another tokenizer.
    var other = try TinyCheckpoint.afm7()
    other.tokenizer = other.tokenizer.replacingOccurrences(of: "<turn_start>", with: "<turn_begin>")
    let path = work.scratch("other")
    try #require(try dibit("convert", other.write(to: work.scratch, "second"), "--bits", "16", "-o", path, "--no-check").status == 0)
    let outcome = try dibit(pair.command("no", ["--teacher", path, "--teacher-adapter", adapter]))
    #expect(outcome.status == 65 && outcome.errorLines.count == 1, "\(outcome.errors)")
    #expect(outcome.errors.contains("is not that of '\(work.model)': a teacher needs the same tokenizer"), "\(outcome.errors)")
    // What it learns from is not overwritten.
    let over = try dibit(["train", work.model, "--data", work.data, "-o", adapter, "--overwrite"] + pair.teacher)
    #expect(over.status == 73 && over.errorLines.count == 1, "\(over.errors)")
  }

  @Test("a teacher that lacks an adapter and texts gets both first, as by the commands one by one, and a stop anywhere loses nothing")
  func prepares() throws {
    let pair = try Pair()
    let work = pair.work
    // Data whose column of texts has a name of its own, which the written ones do not have.
    let lines = topics(perLabel: 8).map { #"{"body": "\#($0.text)", "label": "\#($0.label)"}"# }
    let data = try work.scratch.write(lines.joined(separator: "\n") + "\n", to: "rows.jsonl")
    let training = ["--data", data, "--text-column", "body", "--epochs", "2", "--rank", "4"]
    func command(_ name: String) -> [String] {
      ["train", work.model, "-o", work.scratch(name)] + training + ["--teacher", pair.floats, "--written-texts", "9"]
    }
    let whole = try dibit(command("whole"))
    try #require(whole.status == 0, "\(whole.errors)")
    #expect(whole.errors.contains("9 texts that the teacher labelled"), "\(whole.errors)")
    #expect(whole.output.count { $0 == "\n" } == 1, "\(whole.output)")
    #expect(try pair.manifest("whole")["teacher"]?["texts"]?["path"] == .string(work.scratch("whole") + ".written.jsonl"))

    // The commands one by one.
    let (adapter, texts) = (work.scratch("own"), work.scratch("own.jsonl"))
    try #require(try dibit(["train", pair.floats, "-o", adapter] + training).status == 0)
    try #require(
      try dibit("synthesize", pair.floats, "--data", data, "--text-column", "body", "--limit", "9", "-o", texts).status == 0)
    #expect(try contents(texts) == contents(work.scratch("whole") + ".written.jsonl"))
    #expect(try pair.weights("own") == pair.weights("whole.teacher"))

    // What is there is in the way, and with --resume not made again.
    let again = try dibit(command("whole"))
    #expect(again.status == 73 && again.errorLines.count == 1, "\(again.errors)")
    let finished = try dibit(command("whole") + ["--resume"])
    #expect(finished.status == 0 && finished.output.contains("is the finished adapter of this run"), "\(finished.errors)")
    let weights = try pair.weights("whole")
    try work.scratch.remove("whole")
    let gone = try dibit(command("whole"))
    #expect(gone.status == 73 && gone.errors.contains("whole.written.jsonl': the output exists already"), "\(gone.errors)")

    for stage in ["writing texts", "the teacher learns first", "the teacher labels texts"] {
      let name = stage.filter { $0 != " " }
      let process = try DibitProcess(command(name))
      try process.wait { process.errors.contains(stage) }
      process.interrupt()
      _ = try process.finish()
      let resumed = try dibit(command(name) + ["--resume"])
      try #require(resumed.status == 0, "\(stage): \(resumed.errors)")
      #expect(try pair.weights(name) == weights && pair.weights(name + ".teacher") == pair.weights("own"))
      #expect(try contents(work.scratch(name) + ".written.jsonl") == contents(texts))
    }
  }

  /// A run whose teacher learnt something else.
  private func differs(_ pair: Pair, _ options: [String], in difference: String) throws {
    let outcome = try dibit(["train", pair.work.model, "-o", pair.work.scratch("no"), "--rank", "4"] + pair.teacher + options)
    #expect(outcome.status == 65 && outcome.errorLines.count == 1, "\(outcome.errors)")
    #expect(
      outcome.errors.contains("'\(pair.adapter)': expected a teacher of the same labels and prompt, found other")
        && outcome.errors.contains(difference), "\(outcome.errors)")
  }
}
