import DibitTestSupport
import Foundation
import Testing

/// No output destroys an input: it is refused in one line, and every file is as it was.
@Suite struct OutputsOverInputsTests {
  /// The contents of every file below a folder, by its path.
  private func files(_ work: Workplace) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: work.scratch.path) {
      found[name] = FileManager.default.contents(atPath: work.scratch(name)) ?? Data()
    }
    return found
  }

  @Test("every command refuses an output that is, lies in or holds an input")
  func everyCommand() throws {
    let work = try Workplace(adapter: true)
    let (model, adapter, data, source) = (work.model, work.adapter, work.data, work.scratch("source"))
    let note = try work.scratch.write("soup", to: "note.txt")
    let saved = try work.scratch.write("{}", to: "report.json")
    let recipe = try work.scratch.write(
      "data: \(data)\nmodel: {hidden_dim: 32, num_layers: 1, num_heads: 2, num_kv_heads: 1}\nsteps: 1\n", to: "recipe.yaml")
    let beside = try work.scratch.copy(data, to: "b.checkpoints")
    try FileManager.default.createSymbolicLink(atPath: work.scratch("link"), withDestinationPath: "source")
    try FileManager.default.linkItem(atPath: note, toPath: work.scratch("hard.txt"))
    let before = try files(work)

    func same(_ output: String, _ input: String) -> String { "'\(output)': the output is the input '\(input)'; choose another name" }
    func inside(_ output: String, _ input: String) -> String {
      "'\(output)': the output lies in the input '\(input)'; choose a place outside of it"
    }
    func around(_ output: String, _ input: String) -> String {
      "'\(output)': the output would replace the input '\(input)', which lies in it; choose another name"
    }
    let train = ["train", model, "--data", data, "--epochs", "1", "--overwrite", "-o"]
    let evaluate = ["evaluate", model, "--adapter", adapter, "--data", data]
    let bench = ["bench", model, "--runs", "1", "--overwrite", "--profile"]
    let predict = ["predict", model, "--adapter", adapter, "--overwrite", "-o"]
    let refused: [([String], String)] = [
      (["convert", source, "-o", source, "--overwrite"], same(source, source)),
      (["convert", source, "-o", work.scratch("link"), "--overwrite"], same(work.scratch("link"), source)),
      (
        ["convert", source, "-o", work.scratch("model/../source/"), "--overwrite"],
        same(work.scratch("model/../source/"), source)
      ),
      (["convert", source, "-o", source + "/packed"], inside(source + "/packed", source)),
      (["convert", source, "-o", work.scratch.path, "--overwrite"], around(work.scratch.path, source)),
      (
        ["convert", adapter, "--base", model, "-o", model, "--overwrite"], same(model, model)
      ),
      (["export", model, "--format", "safetensors", "-o", model, "--overwrite"], same(model, model)),
      (
        ["export", model, "--adapter", adapter, "--format", "peft", "-o", adapter, "--overwrite"],
        same(adapter, adapter)
      ),
      (
        ["export", model, "--adapter", adapter, "--format", "peft", "-o", model + "/a"],
        inside(model + "/a", model)
      ),
      (train + [model], same(model, model)), (train + [data], same(data, data)), (train + [data + "/a"], inside(data + "/a", data)),
      (train + [work.scratch("a"), "--tensorboard", data], same(data, data)),
      (["train", model, "--data", beside, "--epochs", "1", "-o", work.scratch("b")], same(beside, beside)),
      (train + [work.scratch("a"), "--tensorboard", work.scratch("a")], same(work.scratch("a"), work.scratch("a"))),
      (["pretrain", recipe, "-o", data, "--overwrite"], same(data, data)),
      (["pretrain", recipe, "-o", work.scratch("p"), "--tensorboard", data + "/t"], inside(data + "/t", data)),
      (evaluate + ["--report", data + "/page.html"], inside(data + "/page.html", data)),
      (evaluate + ["--report", adapter + "/page.html"], inside(adapter + "/page.html", adapter)),
      (evaluate + ["--runs", data], same(data, data)),
      (["crossvalidate", model, "--data", data, "-o", data], same(data, data)),
      (["curve", model, "--data", data, "-o", data + "/kept"], inside(data + "/kept", data)),
      (bench + [model + "/trace.json"], inside(model + "/trace.json", model)),
      (bench + [model + "/trace.json", "--train"], inside(model + "/trace.json", model)),
      (predict + [note, note], same(note, note)),
      (predict + [work.scratch("hard.txt"), note], same(work.scratch("hard.txt"), note)),
      (predict + [model + "/config.json", note], inside(model + "/config.json", model)),
      (["report", saved, "--html", saved, "--overwrite"], same(saved, saved)),
    ]
    for (arguments, message) in refused {
      let outcome = try dibit(arguments)
      #expect(outcome.status == 73, "\(arguments): \(outcome.errors)")
      #expect(outcome.errors == "error: \(message)\n")
      #expect(outcome.output == "")
      #expect(try files(work) == before, "\(arguments)")
    }
  }

  @Test("standard input is an input too")
  func standardInput() throws {
    let work = try Workplace(adapter: true)
    let note = try work.scratch.write("soup", to: "note.txt")
    let command = "'\(DibitProcess.executable)' predict '\(work.model)' --adapter '\(work.adapter)' - -o '\(note)' --overwrite"
    #expect(run("/bin/sh", ["-c", command + " < '\(note)' 2> '\(work.scratch("errors"))'"]) == 73)
    #expect(
      try text(work.scratch("errors")) == "error: '\(note)': the output is the input 'standard input'; choose another name\n")
    #expect(try text(note) == "soup")
  }

  @Test("--overwrite replaces what dibit wrote, and nothing else")
  func onlyOurs() throws {
    let work = try Workplace(adapter: true)
    let texts = [work.data + "/food/0.txt", work.data + "/sport/0.txt"]
    let predict = ["predict", work.model, "--adapter", work.adapter, "--overwrite", "-o"]
    for form in ["text", "csv", "jsonl", "json"] {
      let output = work.scratch("tags." + form)
      let call = predict + [output, "--format", form] + texts
      try #require(try dibit(call).status == 0)
      let first = try text(output)
      // In another form than before too.
      #expect(try dibit(predict + [output, "--format", "csv", "--scores"] + texts).status == 0)
      #expect(try dibit(call).status == 0)
      #expect(try text(output) == first)
    }
    let other = Scratch()
    let export = ["export", work.scratch("llama"), "--format", "gguf", "--overwrite", "-o", work.scratch("model.gguf")]
    try #require(
      try dibit("convert", try TinyCheckpoint.llama().write(to: other), "-o", work.scratch("llama")).status == 0)
    for _ in 0..<2 { #expect(try dibit(export).status == 0) }
    let trace = work.scratch("trace.json")
    let bench = ["bench", work.model, "--prompt-tokens", "8", "--decode-tokens", "4", "--runs", "1", "--overwrite", "--profile", trace]
    for _ in 0..<2 { #expect(try dibit(bench).status == 0) }

    let mine = try work.scratch.write("Dear all,\nthis is mine.\n", to: "mine.txt")
    func refused(_ arguments: [String], _ what: String) throws {
      let message = "will not be overwritten, because it is not \(what) that dibit wrote; remove it by hand or choose another name"
      try expectFailure(arguments, status: 73, message: "'\(mine)': \(message)")
      #expect(try text(mine) == "Dear all,\nthis is mine.\n")
    }
    try refused(predict + [mine] + texts, "a file of predictions")
    try refused(export.dropLast() + [mine], "a GGUF file")
    try refused(bench.dropLast() + [mine], "a trace")
    // Labelled texts look a little like predictions.
    for (name, labelled) in [("set.tsv", "id1\tmy notes\t1\nid2\tmore\t0\n"), ("set.jsonl", "{\"file\":\"a\",\"text\":\"mine\"}\n")] {
      let set = try work.scratch.write(labelled, to: name)
      try expectFailure(
        predict + [set] + texts, status: 73,
        message: "'\(set)': will not be overwritten, because it is not a file of predictions that dibit wrote; "
          + "remove it by hand or choose another name")
      #expect(try text(set) == labelled)
    }
    // A folder that is read may hold the output, and an input there is no output of an earlier job.
    let note = work.data + "/food/0.txt"
    let before = try text(note)
    try expectFailure(
      predict + [note, work.data], status: 73,
      message: "'\(note)': will not be overwritten, because it is not a file of predictions that dibit wrote; "
        + "remove it by hand or choose another name")
    #expect(try text(note) == before)
    #expect(try dibit(predict + [work.data + "/tags.csv", "--format", "csv", work.data]).status == 0)
  }
}
