import DibitJSON
import DibitTestSupport
import Testing

@Suite struct EvaluateCommandTests {
  /// Texts of four topics in a training and a test split.
  private func splits(_ workplace: Workplace, train: Int = 12, test: Int = 6) throws -> String {
    for (index, topic) in topics(perLabel: train + test).enumerated() {
      let split = index % (train + test) < train ? "train" : "test"
      try workplace.scratch.write(topic.text, to: "splits/\(split)/\(topic.label)/\(topic.path)")
    }
    return workplace.scratch("splits")
  }

  private func train(_ workplace: Workplace, _ data: String, _ options: String...) throws {
    let outcome = try dibit(
      ["train", workplace.model, "--data", data, "--output", workplace.adapter, "--rank", "4", "--overwrite"] + options)
    try #require(outcome.status == 0, "\(outcome.errors)")
  }

  @Test("every run, baseline and measure is in the report, on the page and in the folder of runs")
  func wholeReport() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    try train(workplace, data, "--epochs", "2")
    let (page, runs) = (workplace.scratch("report.html"), workplace.scratch("runs"))
    let outcome = try dibit(
      "evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--report", page, "--runs", runs, "--json", "--samples",
      "--alone", "2", "--resamples", "200")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(
      report["baselines"]?.array?.compactMap { $0["name"]?.string }.prefix(5) == [
        "most frequent label", "naive Bayes on words", "logistic regression on words", "nearest centroid of embeddings",
        "logistic regression on embeddings",
      ])
    #expect(report["baselines"]?.array?.count == 6)
    #expect(report["runs"]?.array?.map { $0["kind"]?.string } == ["base", "adapter"])
    for run in report["runs"]?.array ?? [] {
      for key in ["unparsable_share", "content_loss", "latency_p95", "memory_bytes", "tokens_per_second", "ece", "brier", "macro_f1_ci95"] {
        #expect(run[key]?.double != nil || run[key]?.array?.count == 2, "\(key)")
      }
      #expect(run["intervals"]?.object?.keys == ["weighted_f1", "log_loss", "brier", "ece"])
    }
    #expect((report["runs"]?.array?.last?["kl_from_base"]?.double ?? 0) > 0)
    #expect(report["comparisons"]?.array?.count == 2 * (1 + 6))
    #expect(report["leakage"] == ["exact_duplicates": 0, "near_duplicates": 0, "left_out": false])
    #expect(report["digests"]?["model"]?.string?.count == 64)
    #expect(report["digests"]?["adapters"]?.array?.count == 1)
    #expect(report["training"]?.array?.first?["name"] == "training")
    #expect(report["command"]?.string?.hasPrefix("dibit evaluate ") == true)
    let html = String(decoding: try files(below: workplace.scratch.path)["report.html"] ?? [], as: UTF8.self)
    #expect(html.contains("logistic regression on embeddings"))
    #expect(!html.contains("<script"))
    let kept = try files(below: runs)
    #expect(kept.count == 1)
    #expect(kept.keys.first?.count == "20261121T174149Z-01234567.json".count)
    // The texts of mistakes are in the report only where they were asked for.
    let saved = try JSONValue(parsing: kept.values.first ?? [])
    #expect(saved["runs"]?.array?.count == 2)
    let plain = try dibit(
      "evaluate", workplace.model, "--data", data, "--json", "--baselines", "none", "--alone", "0", "--resamples", "200")
    #expect(try plain.json()["runs"]?.array?.first?["samples"] == nil)
    // The same page again replaces its forerunner; a file of another origin stays.
    #expect(
      try dibit("evaluate", workplace.model, "--data", data, "--baselines", "none", "--report", page, "--resamples", "200").status == 0)
    let other = try workplace.scratch.write("mine", to: "mine.html")
    try expectFailure(
      ["evaluate", workplace.model, "--data", data, "--report", other], status: 73,
      message: "'\(other)': will not be overwritten, because it is not a report that dibit wrote; remove it by hand or choose another name")
    let nowhere = try dibit("evaluate", workplace.model, "--data", data, "--report", workplace.scratch("no/where.html"))
    #expect(nowhere.status == 73 && nowhere.errorLines.count == 1 && nowhere.output == "", "\(nowhere.errors)")
    #expect(nowhere.errors == "error: '\(workplace.scratch("no/where.html"))': its directory does not exist; create it first\n")
  }

  @Test("one adapter under two spellings of its path is one adapter")
  func repeatedAdapters() throws {
    let workplace = try Workplace()
    let (some, again) = (workplace.data, workplace.data + "/./")
    try expectFailure(
      ["evaluate", workplace.model, "--adapter", some, "--adapter", again, "--data", workplace.data], status: 64,
      message: "'\(again)' is given twice; each adapter runs once")
  }

  @Test("an adapter that was trained on test texts is caught")
  func leakage() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    try train(workplace, data, "--epochs", "1")
    // Two test texts were trained on, one of them in other spelling.
    let text = topics(perLabel: 18)[0].text
    try workplace.scratch.write(text, to: "leaky/test/sport/a.txt")
    try workplace.scratch.write(text.uppercased() + "!", to: "leaky/test/sport/b.txt")
    try workplace.scratch.write("quite another text of sport", to: "leaky/test/sport/c.txt")
    try workplace.scratch.write("bread and butter and cheese", to: "leaky/train/food/d.txt")
    let leaky = workplace.scratch("leaky")
    let call = ["evaluate", workplace.model, "--adapter", workplace.adapter, "--data", leaky, "--alone", "0", "--resamples", "200"]
    let refused = try dibit(call)
    #expect(refused.status == 65 && refused.output == "")
    #expect(refused.errors.contains("error: 1 of the 3 texts of the test split of '\(leaky)' were trained on, 1 more nearly so: "))
    let allowed = try dibit(call + ["--allow-leakage", "--json"])
    #expect(allowed.status == 0, "\(allowed.errors)")
    #expect(try allowed.json()["leakage"] == ["exact_duplicates": 1, "near_duplicates": 1, "left_out": false])
    #expect(refused.errors.contains("note: 'test/sport/a.txt' was trained on\n"))
    #expect(refused.errors.contains("note: 'test/sport/b.txt' is nearly the same as a text that was trained on\n"))
    let others = try dibit(call + ["--leave-out-leakage", "--json"])
    #expect(try others.json()["leakage"] == ["exact_duplicates": 1, "near_duplicates": 1, "left_out": true])
    #expect(try others.json()["examples"] == 1)
    // What the manifest vouches for may not be changed.
    let sketches = workplace.adapter + "/training_texts.json"
    try workplace.scratch.write("{}", to: "adapter/training_texts.json")
    let changed = try dibit(call)
    #expect(changed.status == 65 && changed.errors.hasPrefix("error: '\(sketches)' was changed: SHA-256 "), "\(changed.errors)")
  }

  @Test("an adapter that changes nothing and a copy of the base are told as what they are")
  func identical() throws {
    let workplace = try Workplace()
    let data = try splits(workplace)
    try train(workplace, data, "--epochs", "1", "--learning-rate", "0")
    let copy = workplace.scratch("copy")
    for (name, bytes) in try files(below: workplace.model) { try workplace.scratch.write(bytes, to: "copy/" + name) }
    let call = [
      "evaluate", workplace.model, "--adapter", workplace.adapter, "--compare", copy, "--data", data, "--alone", "0", "--resamples", "200",
      "--baselines", "majority,words",
    ]
    let outcome = try dibit(call + ["--json"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["standing"] == "identical")
    #expect(report["verdict"]?.string?.contains("changes nothing") == true)
    let notes = report["notes"]?.array?.compactMap { $0["text"]?.string } ?? []
    #expect(notes.contains("'\(copy)' and 'base' gave every label of every text the same probability."))
    let strict = try dibit(call + ["--require-improvement"])
    #expect(strict.status == 3)
    #expect(strict.output.contains("changes nothing"))
    #expect(strict.errors.contains("error: no adapter is better than the base model and every baseline beyond noise"))
  }

  @Test("an adapter trained on shuffled labels is no better than the base; one trained on true labels is")
  func shuffledLabels() throws {
    let workplace = try Workplace()
    let (train, test) = (20, 15)
    var rng = 1
    for (index, topic) in topics(perLabel: train + test).enumerated() {
      let split = index % (train + test) < train ? "train" : "test"
      try workplace.scratch.write(topic.text, to: "true/\(split)/\(topic.label)/\(topic.path)")
      rng = rng &* 1_103_515_245 &+ 12_345
      let label = split == "test" ? topic.label : ["food", "money", "space", "sport"][(rng >> 16) & 3]
      try workplace.scratch.write(topic.text, to: "shuffled/\(split)/\(label)/\(topic.label)-\(topic.path)")
    }
    for (name, status) in [("true", Int32(0)), ("shuffled", 3)] {
      let data = workplace.scratch(name)
      try self.train(workplace, data, "--epochs", "8", "--learning-rate", "1e-2", "--batch-size", "8")
      let outcome = try dibit(
        "evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--baselines", "majority", "--alone", "0",
        "--require-improvement", "--resamples", "200")
      #expect(outcome.status == status, "\(name): \(outcome.output)\(outcome.errors)")
    }
  }

  @Test("results depend neither on threads nor on what else runs")
  func threads() throws {
    let workplace = try Workplace()
    let data = try splits(workplace, test: 4)
    try train(workplace, data, "--epochs", "1")
    func scores(_ options: String...) throws -> [String] {
      let call = [
        "evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--json", "--alone", "0", "--resamples", "200",
      ]
      let report = try dibit(call + options).json()
      return (report["runs"]?.array ?? []).map { run in
        ["log_loss", "brier", "ece", "macro_f1", "intervals", "confusion"].map { run[$0]?.serialized() ?? "" }.joined(separator: " ")
      }
    }
    let alone = try scores("--threads", "1", "--baselines", "none")
    #expect(alone.count == 2)
    #expect(try scores("--threads", "2") == alone)
  }

  @Test("texts with several labels are scored as sets")
  func sets() throws {
    let workplace = try Workplace()
    var rows = ""
    for (index, topic) in topics(perLabel: 12).enumerated() {
      let second = index % 3 == 0 && topic.label != "zoo" ? #","zoo""# : ""
      rows += #"{"text":"\#(topic.text)\#(second.isEmpty ? "" : " animals")","labels":["\#(topic.label)"\#(second)]}"# + "\n"
    }
    try workplace.scratch.write(rows, to: "rows/train.jsonl")
    try workplace.scratch.write(rows.replacing(" ", with: "  ").replacing("goal", with: "kick"), to: "rows/test.jsonl")
    let data = workplace.scratch("rows")
    try train(workplace, data, "--epochs", "1")
    let outcome = try dibit(
      "evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--tags", "2", "--json", "--allow-leakage", "--alone",
      "0",
      "--resamples", "200")
    #expect(outcome.status == 0, "\(outcome.errors)")
    for run in try (outcome.json()["runs"]?.array ?? []) + (outcome.json()["baselines"]?.array ?? []) {
      #expect(run["tags"]?["micro"]?["f1"]?.double != nil)
      #expect(run["tags"]?["at_k"]?.array?.map { $0["k"] } == [1, 3, 5])
      #expect(run["intervals"]?["tags_jaccard"]?.array?.count == 2)
    }
  }
}
