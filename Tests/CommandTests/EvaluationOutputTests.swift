import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// What `dibit evaluate` compares, keeps and writes, on a tiny model.
@Suite struct EvaluationOutputTests {
  /// Texts of four topics in a training and a test split; one file's name and one label need quotes in CSV.
  private func splits(_ workplace: Workplace, train: Int = 6, test: Int = 3) throws -> String {
    for (index, topic) in topics(perLabel: train + test).enumerated() {
      let split = index % (train + test) < train ? "train" : "test"
      let label = topic.label == "zoo" || topic.label == "sport" ? "play, \"ball\"" : topic.label
      let name = index == train ? "a,\"b\".txt" : topic.path
      try workplace.scratch.write(topic.text, to: "splits/\(split)/\(label)/\(name)")
    }
    return workplace.scratch("splits")
  }

  private func train(_ workplace: Workplace, _ data: String, to name: String, _ options: String...) throws -> String {
    let path = workplace.scratch(name)
    let outcome = try dibit(["train", workplace.model, "--data", data, "--output", path, "--rank", "4", "--epochs", "1"] + options)
    try #require(outcome.status == 0, "\(outcome.errors)")
    return path
  }

  private let quick = ["--alone", "0", "--resamples", "100"]

  @Test("adapters that read different lengths of a text are compared; those of other labels or prompts are not, and it is said why")
  func lengths() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    let (short, long) = (try train(workplace, data, to: "short", "--max-tokens", "100"), try train(workplace, data, to: "long"))
    let call = ["evaluate", workplace.model, "--adapter", short, "--adapter", long, "--data", data, "--json"] + quick
    let outcome = try dibit(call)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["runs"]?.array?.map { $0["name"] } == ["base", .string(short), .string(long)])
    #expect(report["comparisons"]?.array?.contains { $0["a"] == .string(short) && $0["b"] == .string(long) } == true)
    let notes = report["notes"]?.array?.compactMap { $0["text"]?.string } ?? []
    #expect(
      notes.contains(
        "Adapters read different lengths of a text, each as it was trained ('\(short)' 100, '\(long)' 256 tokens); the others read 256."
      ))
    let shots = try #require(report["baselines"]?.array?.last)
    let asked = try #require(shots["few_shot"])
    #expect(asked["asked"] == 8 && asked["context"] == 256)
    #expect(shots["name"]?.string == "few-shot prompt, \(asked["examples"]?.int ?? 0) of 8 examples")
    let other = try train(workplace, workplace.data, to: "other", "--set", "prompt.instruction=Say what it is about.")
    try expectFailure(
      ["evaluate", workplace.model, "--adapter", short, "--adapter", other, "--data", data], status: 65,
      message: "adapters '\(short)' and '\(other)' were trained for different labels ('play, \"ball\"' only in the first, 'sport' only in "
        + "the second) and instructions ('Tag the text with its topic.' and 'Say what it is about.'): evaluate them one by one")
  }

  @Test("open answers are told as what they are: an answer that is no label is none")
  func openAnswers() throws {
    let workplace = try Workplace()
    let (data, runs) = (try splits(workplace), workplace.scratch("runs"))
    let call = ["evaluate", workplace.model, "--data", data, "--baselines", "none"] + quick
    let open = try dibit(call + ["--open", "--runs", runs])
    #expect(open.status == 0, "\(open.errors)")
    #expect(open.output.contains("12 texts of the test split, 4 labels, open answers"), "\(open.output)")
    #expect(!open.output.split(separator: "\n").contains { $0.hasPrefix("(another tag)") }, "\(open.output)")
    let json = try dibit(call + ["--open", "--json"]).json()
    #expect(json["open"] == true && json["labels"]?.array?.last == "(another tag)")
    #expect(try dibit(call + ["--runs", runs, "--json"]).json()["open"] == nil)
    let ranked = try dibit("report", runs)
    #expect(ranked.status == 0, "\(ranked.errors)")
    for group in ["12 texts, 4 labels, open answers, 1 report\n", "12 texts, 4 labels, 1 report\n"] {
      #expect(ranked.output.contains(group), "\(ranked.output)")
    }
  }

  @Test("a page that cannot be written costs nothing but itself")
  func fullDisk() throws {
    let workplace = try Workplace()
    let (page, tables) = (workplace.scratch("page.html"), workplace.scratch("answers.csv"))
    let arguments =
      ["evaluate", workplace.model, "--data", try splits(workplace), "--baselines", "none", "--json", "--report", page]
      + ["--predictions-csv", tables] + quick
    let call = ([DibitProcess.executable] + arguments).map { "'\($0)'" }.joined(separator: " ")
    let (result, errors) = (workplace.scratch("result.json"), workplace.scratch("errors"))
    // 8 kilobytes: more than the table has, less than the page.
    let script = "(ulimit -f 8; exec \(call) </dev/null 2>'\(errors)') | cat >'\(result)'; exit ${PIPESTATUS[0]}"
    #expect(run("/bin/bash", ["-c", script]) == 74)
    let told = try text(errors).split(separator: "\n").filter { !$0.hasPrefix("evaluating ") }
    #expect(told.count == 2 && told.first == "wrote \(tables)", "\(told)")
    #expect(told.last?.hasPrefix("error: ") == true && told.last?.hasSuffix("cannot write: File too large") == true, "\(told)")
    #expect(try JSONValue(parsing: try contents(result))["examples"] == 12)
    #expect(exists(tables) && !exists(page))
  }

  @Test("where every text was trained on, no way out is named that is none")
  func onlyTrainedTexts() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    let adapter = try train(workplace, data, to: "adapter")
    let call = ["evaluate", workplace.model, "--adapter", adapter, "--data", data, "--split", "train"] + quick
    for option in [[], ["--leave-out-leakage"]] {
      let outcome = try dibit(call + option)
      #expect(outcome.status == 65)
      #expect(
        outcome.errorLines == [
          "error: 24 of the 24 texts of the train split of '\(data)' were trained on, 0 more nearly so; none is left to evaluate: give texts "
            + "that were held out, or ask 'dibit crossvalidate'; --allow-leakage evaluates these all the same"
        ], "\(outcome.errors)")
    }
  }

  @Test("a split without texts is told with those that have some")
  func missingSplit() throws {
    let workplace = try Workplace(perLabel: 15)
    try expectFailure(
      ["evaluate", workplace.model, "--data", workplace.data, "--split", "test"], status: 65,
      message:
        "'\(workplace.data)' has no labelled texts in the test split; train has 54 texts, validation has 6 texts: name another one with "
        + "--split, or leave it out")
  }

  @Test("what is scored is kept, and the same command goes on behind it")
  func resume() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    let adapter = try train(workplace, data, to: "adapter")
    let folder = workplace.scratch("kept")
    let call =
      [
        "evaluate", workplace.model, "--adapter", adapter, "--data", data, "--json", "--output", folder, "--resamples", "100", "--alone",
        "1",
      ]
    let first = try dibit(call)
    #expect(first.status == 0, "\(first.errors)")
    let kept = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(kept.map { $0.dropLast(22) } == ["baselines-centroid-logistic", "baselines-shots-8", "run-1", "run-2"])
    try expectFailure(
      call, status: 73,
      message: "'\(folder)' holds 4 of 4 runs of this very job: pass --resume to go on behind them, or --overwrite to run again")
    try workplace.scratch.remove("kept/" + kept[1])
    let resumed = try dibit(call + ["--resume"])
    #expect(resumed.status == 0, "\(resumed.errors)")
    let begun = "note: 3 of 4 runs of this job are in '\(folder)'\nbaselines, logistic regression on words"
    #expect(resumed.errors.hasPrefix(begun), "\(resumed.errors)")
    #expect(resumed.errors.contains("\nbaselines, few-shot prompt"))
    #expect(!resumed.errors.contains("evaluating"))
    // Times are those of the first run, but for what ran again.
    func result(_ outcome: Outcome) throws -> [JSONValue?] {
      let report = try outcome.json()
      let runs = (report["runs"]?.array ?? []) + (report["baselines"]?.array ?? [])
      return [report["verdict"], report["comparisons"], report["notes"]]
        + runs.flatMap { run in ["name", "log_loss", "confusion", "intervals", "few_shot", "latency_p50", "content_loss"].map { run[$0] } }
    }
    #expect(try result(resumed) == result(first))
    // Other baselines are other parts of the same job.
    let words = try dibit(call + ["--resume", "--baselines", "words"])
    #expect(words.errors.hasPrefix("note: 2 of 2 runs of this job are in '\(folder)'\n"), "\(words.errors)")
    let shots = try dibit(call + ["--resume", "--baselines", "shots", "--shots", "2"])
    #expect(shots.errors.hasPrefix("note: 2 of 3 runs of this job are in '\(folder)'\nbaselines, few-shot prompt"), "\(shots.errors)")
    // Other options are another job, and what is not whole is told, not taken.
    let other = try dibit(call + ["--resume", "--cut", "head"])
    #expect(other.errors.contains("note: 0 of 4 runs of this job are in '\(folder)'; what is there belongs to other texts, options or"))
    let half = try contents(folder + "/" + kept[2])
    try workplace.scratch.write(String(decoding: half.prefix(half.count / 2), as: UTF8.self), to: "kept/" + kept[2])
    try expectFailure(
      call + ["--resume"], status: 65,
      message: "'\(folder)/\(kept[2])' is not what this job wrote: remove it, and it runs again", isLate: true)
  }

  @Test("Ctrl-C says what is done and how to go on", arguments: [true, false])
  func interrupted(keeps: Bool) throws {
    let workplace = try Workplace(perLabel: 15)
    let folder = workplace.scratch("kept")
    let process = try DibitProcess(
      ["evaluate", workplace.model, "--data", workplace.data, "--split", "train", "--alone", "1000"] + (keeps ? ["--output", folder] : []))
    try process.wait { process.errors.contains("evaluating base, free answers") }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130 && outcome.output == "")
    let rest =
      keeps
      ? " and in '\(folder)'; the same command with --resume goes on behind them" : ", and nothing was kept; --output FOLDER keeps them"
    #expect(outcome.errorLines == ["error: interrupted in evaluating base: 0 of 1 runs are done\(rest)"])
  }

  @Test("one file for two outputs is found before the work, under any spelling")
  func oneFileForTwo() throws {
    let workplace = try Workplace()
    let (file, again) = (workplace.scratch("one.csv"), workplace.scratch("./one.csv"))
    for first in ["--report", "--confusion-csv"] {
      try expectFailure(
        ["evaluate", workplace.model, "--data", workplace.data, first, file, "--predictions-csv", again], status: 64,
        message: "'\(again)' is given for two outputs; give each a file of its own")
    }
  }

  @Test("what was answered in another chat template is not taken for this one's")
  func changedTemplate() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try writeTopics(to: scratch, perLabel: 4)
    func template(_ words: String) throws {
      let text =
        "{% for m in messages %}<\(words) {{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<answer>{% endif %}"
      let settings: JSONValue = ["chat_template": .string(text), "eos_token": "</s>"]
      try scratch.write(settings.serialized(), to: "model/tokenizer_config.json")
    }
    try #require(try dibit("convert", source, "--bits", "4", "--no-check", "-o", scratch("model")).status == 0)
    try template("a")
    let call =
      ["evaluate", scratch("model"), "--data", scratch("data"), "--split", "train", "--baselines", "none", "--output", scratch("kept")]
      + quick
    let first = try dibit(call)
    try #require(first.status == 0, "\(first.errors)")
    #expect(try dibit(call + ["--resume"]).errors.contains("note: 1 of 1 runs of this job are in "))
    try template("b")
    #expect(try dibit(call + ["--resume"]).errors.contains("note: 0 of 1 runs of this job are in "))
  }

  @Test("confusion and predictions as CSV")
  func tables() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    let (confusion, predictions) = (workplace.scratch("confusion.csv"), workplace.scratch("predictions.csv"))
    let call =
      ["evaluate", workplace.model, "--data", data, "--baselines", "words", "--confusion-csv", confusion, "--predictions-csv", predictions]
      + quick
    let outcome = try dibit(call + ["--json"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.hasSuffix("wrote \(confusion)\nwrote \(predictions)\n"))
    let report = try outcome.json()
    let labels = report["labels"]?.array?.compactMap(\.string) ?? []
    let runs = (report["runs"]?.array ?? []) + (report["baselines"]?.array ?? [])
    #expect(runs.count == 2)
    var counts: [[String]] = [["run", "kind", "truth", "prediction", "texts"]]
    for run in runs {
      for (truth, row) in (run["confusion"]?.array ?? []).enumerated() {
        for (prediction, count) in (row.array ?? []).enumerated() {
          counts.append([run["name"]?.string ?? "", run["kind"]?.string ?? "", labels[truth], labels[prediction], "\(count.int ?? -1)"])
        }
      }
    }
    #expect(records(try text(confusion)) == counts)
    let rows = records(try text(predictions))
    #expect(rows[0] == ["run", "kind", "text", "truth", "prediction", "probability", "correct"])
    #expect(rows.count == 1 + 2 * 12 && rows.contains { $0[2].hasSuffix("a,\"b\".txt") } && rows.contains { $0[3] == "play, \"ball\"" })
    for run in runs {
      let own = rows.filter { $0[0] == run["name"]?.string }
      #expect(own.allSatisfy { ($0[6] == "true") == ($0[3] == $0[4]) && 0...1 ~= Double($0[5]) ?? -1 })
      #expect(Double(own.count { $0[6] == "true" }) / 12 == run["accuracy"]?.double)
    }
    // Found before any text is run.
    let again = try dibit(call)
    #expect(
      again.status == 73 && again.output == "" && again.errorLines.count == 1 && !again.errors.contains("evaluating"), "\(again.errors)")
    #expect(try dibit(call + ["--overwrite"]).status == 0)
    #expect(try text(confusion).hasPrefix("run,kind,truth,prediction,texts\nbase,base,food,food,"))
    try expectFailure(
      ["evaluate", workplace.model, "--data", data, "--confusion-csv", workplace.scratch("no/x.csv")], status: 73,
      message: "'\(workplace.scratch("no/x.csv"))': its directory does not exist; create it first")
  }

  /// The records of RFC 4180.
  private func records(_ text: String) -> [[String]] {
    var (records, record, field, isQuoted): ([[String]], [String], String, Bool) = ([], [], "", false)
    var rest = text[...]
    while let character = rest.popFirst() {
      switch character {
      case "\"" where isQuoted && rest.first == "\"":
        rest.removeFirst()
        field.append("\"")
      case "\"": isQuoted.toggle()
      case "," where !isQuoted:
        record.append(field)
        field = ""
      case "\n" where !isQuoted:
        records.append(record + [field])
        (record, field) = ([], "")
      default: field.append(character)
      }
    }
    return records
  }

  @Test("no table is wider than the terminal", arguments: [60, 80, 100])
  func widths(columns: Int) throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    try workplace.scratch.directory("runs")
    for seed in ["1", "2"] {
      let outcome = try dibit(
        ["evaluate", workplace.model, "--data", data, "--seed", seed, "--runs", workplace.scratch("runs"), "--baselines", "words,majority"]
          + quick)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    let runs = workplace.scratch("runs")
    let saved = try FileManager.default.contentsOfDirectory(atPath: runs)
    let one = runs + "/" + (try #require(saved.first))
    let folds = ["crossvalidate", workplace.model, "--data", data, "--folds", "2", "--epochs", "1", "--rank", "4"]
    for (call, words) in [
      (["report", one], ["base", "naive Bayes"]), (["report", runs], ["rank", "naive Bayes"]),
      (folds, ["accuracy", "by fold", "macro F1", "asked about", "McNemar"]),
    ] {
      // One that does not know its height keeps to its width all the same.
      let terminal = try PseudoTerminal(columns: columns, rows: columns == 60 ? 0 : 60)
      let process = try DibitProcess(call, output: terminal.path)
      let outcome = try process.finish()
      #expect(outcome.status == 0, "\(outcome.errors)")
      let lines = terminal.lines()
      let text = lines.joined(separator: "\n")
      #expect(lines.count > 5 && lines.allSatisfy { $0.count <= columns }, "\(call[0]): \(text)")
      for word in words { #expect(text.contains(word), "\(call[0]), \(word): \(text)") }
    }
  }
}
