import DibitJSON
import DibitTestSupport
import Testing

/// Texts to which no label applies, from the rows to predictions.
@Suite struct EmptySetTests {
  /// Rows of two labels, sets of both, and none.
  private static let rows: [String] =
    rows(6, "the goal of match", #"["sport"]"#) + rows(6, "the soup needs salt", #"["food"]"#) + rows(6, "zzz qqq", "[]")
    + rows(4, "soup at the match", #"["food", "sport"]"#)

  private static func rows(_ count: Int, _ text: String, _ topics: String) -> [String] {
    (0..<count).map { number in "{\"text\": \"\(text) \(number)\", \"topics\": \(topics)}" }
  }

  @Test("an adapter learns that there may be no label, and is evaluated and asked so")
  func wholeWay() throws {
    let work = try Workplace(perLabel: 1)
    let data = try work.scratch.write(Self.rows.joined(separator: "\n"), to: "sets.jsonl")
    let survey = try dibit("dataset", data)
    #expect(survey.output.contains("  6 with no label\n"), "\(survey)")
    #expect(try dibit("dataset", data, "--json").json()["without_labels"] == 6)
    let trained = try dibit(
      "train", work.model, "--data", data, "-o", work.scratch("sets"), "--epochs", "30", "--rank", "8", "--learning-rate", "5e-3")
    try #require(trained.status == 0, "\(trained.errors)")
    #expect(
      trained.errors.contains(
        "note: 6 training texts without a label: an answer may be empty, as evaluation and prediction ask with --tags 2 or more\n"))
    let manifest = try JSONValue(parsing: try contents(work.scratch("sets") + "/manifest.json"))
    #expect(manifest["task"]?["none"] == true)
    // What was learnt is told again: an empty set, one label, both.
    let lines = Self.rows.compactMap { (try? JSONValue(parsing: $0))?["text"]?.string }
    let texts = try work.scratch.write(lines.joined(separator: "\n"), to: "lines.txt")
    let predicted = try dibit(
      "predict", work.model, "--adapter", work.scratch("sets"), texts, "--input-format", "lines", "--tags", "2", "--format", "jsonl")
    try #require(predicted.status == 0, "\(predicted)")
    let tags = try predicted.output.split(separator: "\n").map {
      try JSONValue(parsing: String($0))["topics"]?.array?.compactMap(\.string) ?? ["?"]
    }
    let right = zip(Self.rows, tags).count { row, tags in
      (try? JSONValue(parsing: row))?["topics"]?.array?.compactMap(\.string).sorted() == tags.sorted()
    }
    #expect(tags.contains([]) && right >= 18, "\(tags)")
    // Evaluation of sets counts them, of single labels leaves them out.
    let options = [
      "evaluate", work.model, "--adapter", work.scratch("sets"), "--data", data, "--split", "train", "--allow-leakage", "--json",
    ]
    let sets = try dibit(options + ["--tags", "2"])
    try #require(sets.status == 0, "\(sets.errors)")
    let report = try sets.json()
    let subject = report["runs"]?.array?.last
    #expect(report["examples"] == 22)
    #expect(subject?["tags"]?["subset_accuracy"]?.double ?? 0 > 0.8, "\(subject?["tags"]?.serialized() ?? "")")
    #expect(sets.output.contains("6 of the texts have no label: measures of sets count them, those of one label do not."))
    let single = try dibit(options)
    try #require(single.status == 0, "\(single.errors)")
    #expect(try single.json()["examples"] == 16)
    #expect(
      single.errors.contains(
        "note: 6 texts without a label left out, because an answer is one label; --tags 2 or more asks for sets of labels\n"),
      "\(single.errors)")
    let folds = try dibit("crossvalidate", work.model, "--data", data, "--folds", "2", "--epochs", "1", "--rank", "2")
    #expect(folds.errors.contains("note: 6 texts without a label left out, because an answer is one label\n"), "\(folds.errors)")
  }

  @Test("rows that nobody labelled are left out and told; where none is labelled, that is an error")
  func unlabelledRows() throws {
    let work = try Workplace(perLabel: 1)
    let data = try work.scratch.write("text,label\na goal,sport\nsome soup,food\nwho knows,\n", to: "rows.csv")
    let trained = try dibit("train", work.model, "--data", data, "-o", work.scratch("a"), "--plan")
    #expect(trained.status == 0 && trained.errors.contains("note: 1 row without a label, left out\n"), "\(trained)")
    let none = try work.scratch.write("text,label,topic\na goal,,sport\nsome soup,,food\n", to: "none.csv")
    try expectFailure(
      ["train", work.model, "--data", none, "-o", work.scratch("b")], status: 65,
      message: "'\(none)': labels expected in 'label', none found in 2 rows; name the column or key of the labels with --label-column")
    #expect(try dibit("dataset", none, "--label-column", "topic").status == 0)
  }
}
