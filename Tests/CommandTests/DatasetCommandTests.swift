import DibitJSON
import DibitTestSupport
import Testing

/// Data of every kind, from the command line.
@Suite struct DatasetCommandTests {
  /// The topics as rows of JSON; every fifth has two labels.
  private func rows(_ perLabel: Int) -> String {
    topics(perLabel: perLabel).enumerated().map { index, topic in
      let labels = index % 5 == 0 ? "[\"\(topic.label)\",\"zoo\"]" : "\"\(topic.label)\""
      return "{\"text\":\"\(topic.text)\",\"label\":\(labels)}\n"
    }.joined()
  }

  private func table(_ perLabel: Int, offset: Int = 0) -> String {
    "text,category\n" + topics(perLabel: perLabel).map { "\"\($0.text) \(offset)\",\($0.label)\n" }.joined()
  }

  @Test("a folder of tables trains and is evaluated on its test split")
  func tables() throws {
    let workplace = try Workplace()
    let (scratch, data) = (workplace.scratch, workplace.scratch("rows"))
    try scratch.write(table(8), to: "rows/train.csv")
    try scratch.write(table(2, offset: 1), to: "rows/test.csv")
    let trained = try dibit(
      "train", workplace.model, "--data", data, "--output", workplace.adapter, "--epochs", "1", "--rank", "4", "--json")
    #expect(trained.status == 0, "\(trained.errors)")
    #expect(trained.errors.contains("32 training and 0 validation texts, 4 labels"))
    #expect(try trained.json()["split"]?["test"] == 8)
    let evaluated = try dibit("evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--json")
    #expect(evaluated.status == 0, "\(evaluated.errors)")
    #expect(!evaluated.errors.contains("note:"), "the same data has the same digest: \(evaluated.errors)")
    #expect(try evaluated.json()["split"] == "test")
    #expect(try evaluated.json()["examples"] == 8)
  }

  @Test func severalLabelsGoTheWholeWay() throws {
    let workplace = try Workplace()
    try workplace.scratch.write(rows(15), to: "rows.jsonl")
    let data = workplace.scratch("rows.jsonl")
    let trained = try dibit(
      "train", workplace.model, "--data", data, "--output", workplace.adapter, "--epochs", "1", "--rank", "4", "--json")
    #expect(trained.status == 0, "\(trained.errors)")
    #expect(try trained.json()["labels"] == ["food", "money", "space", "sport", "zoo"])
    #expect(try trained.json()["split"]?["validation"] == 6)
    let evaluated = try dibit("evaluate", workplace.model, "--adapter", workplace.adapter, "--data", data, "--json")
    #expect(evaluated.status == 0, "\(evaluated.errors)")
    #expect(try evaluated.json()["examples"] == 6)
  }

  @Test func conversationsTrainAndKnowNoLabels() throws {
    let workplace = try Workplace()
    let talk = (0..<60).map { "[{\"role\":\"user\",\"content\":\"say \($0)\"},{\"role\":\"assistant\",\"content\":\"it is \($0)\"}]\n" }
      .joined()
    try workplace.scratch.write(talk, to: "talk.jsonl")
    let data = workplace.scratch("talk.jsonl")
    let trained = try dibit(
      "train", workplace.model, "--data", data, "--output", workplace.adapter, "--epochs", "1", "--rank", "4", "--json")
    #expect(trained.status == 0, "\(trained.errors)")
    #expect(trained.errors.contains("54 training and 6 validation conversations;"))
    #expect(try trained.json()["task"]?["kind"] == "conversation")
    let generated = try dibit("generate", workplace.model, "--adapter", workplace.adapter, "--prompt", "say 1", "--max-tokens", "3")
    #expect(generated.status == 0, "\(generated.errors)")
    try expectFailure(
      ["evaluate", workplace.model, "--data", data], status: 65, message: "'\(data)': labelled texts expected, conversations found")
    try expectFailure(
      ["predict", workplace.model, "--adapter", workplace.adapter, data], status: 65,
      message: "the adapter '\(workplace.adapter)' was trained on conversations and knows no labels: use it with 'dibit chat' or 'dibit "
        + "generate'")
    // The card recommends what works.
    let card = try text(workplace.adapter + "/README.md")
    #expect(card.contains("In Dibit: `dibit chat model --adapter DIRECTORY`. "), "\(card)")
    #expect(card.contains(" `manifest.json` says more.\n") && !card.contains("dibit predict") && !card.contains("dibit evaluate"))
    let broken = workplace.scratch("broken.jsonl")
    try workplace.scratch.write(talk + "[{\"role\":\"user\"}]\n", to: "broken.jsonl")
    try expectFailure(
      ["train", workplace.model, "--data", broken, "--output", workplace.scratch("other")], status: 65,
      message: "'\(broken)', line 61: the key 'content' expected, 'role' found")
  }

  @Test func datasetSaysWhatIsThere() throws {
    let workplace = try Workplace()
    let data = workplace.scratch("rows.jsonl")
    let first = "{\"text\":\"The goal, of the match!\",\"label\":\"Sport\"}\n{\"text\":\"the goal of the match\",\"label\":\"food\"}\n{\n"
    try workplace.scratch.write(first + rows(15), to: "rows.jsonl")
    let outcome = try dibit("dataset", data, "--tokenizer", workplace.model, "--preview", "2", "--max-tokens", "200", "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(
      report.object?.keys == [
        "schema", "kind", "digest", "split", "labels", "similar_labels", "multiple_labels", "without_labels", "characters", "tokens",
        "findings",
        "near_duplicates", "preview", "seconds",
      ])
    #expect(report["split"] == ["train": 56, "validation": 6, "test": 0, "automatic": ["validation"]])
    #expect(report["labels"]?.array?.count == 6)
    #expect(report["similar_labels"] == [["Sport", "sport"]])
    #expect(report["multiple_labels"] == 12)
    #expect(report["findings"]?["badRow"]?["count"] == 1)
    #expect(report["findings"]?["badRow"]?["first"]?.array?.first?["place"] == "rows.jsonl:3:2")
    #expect(report["near_duplicates"]?.array?.count == 1)
    #expect(report["near_duplicates"]?.array?.first?["different_labels"] == true)
    #expect(report["tokens"]?["learnt"]?.int ?? 0 > report["tokens"]?["content"]?.int ?? 0)
    #expect(report["preview"]?.array?.count == 2)
    let run = try #require(report["preview"]?.array?[0]["runs"]?.array?.first)
    #expect(try #require(run["ids"]?.array).count == run["tokens"]?.array?.count)
    let shown = try dibit("dataset", data, "--tokenizer", workplace.model, "--preview", "1")
    #expect(shown.status == 0)
    #expect(shown.output.hasPrefix("62 labelled texts, 6 labels\n  56 training, 6 validation (held out of training by itself), 0 test\n"))
    for mark in ["\n  not learnt  ", "\n+ scaffolding ", "\n* content     ", "note: labels that look like one: 'Sport', 'sport'"] {
      #expect(shown.output.contains(mark), "\(mark)")
    }
    #expect(shown.output.unicodeScalars.allSatisfy { $0.isASCII })
  }

  @Test("a quote that is not closed is told with its line and column, and what it takes in")
  func unclosedQuotes() throws {
    let scratch = Scratch()
    let quote = "a closing quote expected for the field that begins here, the end of the file found"
    let only = try scratch.write("text,label\n\"one,a\n", to: "only.csv")
    try expectFailure(
      ["dataset", only], status: 65,
      message: "'\(only)': rows with examples expected, none found (left out: 1 row that is no example: only.csv:2:1: \(quote))")
    let most = try scratch.write("text,label\none,1\ntwo,1\n\"three,2\nfour,2\n", to: "most.csv")
    try expectFailure(
      ["dataset", most], status: 65,
      message: "'\(most)': at least two labels expected, all rows have '1' (left out: 1 row that is no example: most.csv:4:1: \(quote); "
        + "it takes in 1 line below)")
    let some = try scratch.write("text,label\none,1\ntwo,2\nthree,\"3\n", to: "some.csv")
    let outcome = try dibit("dataset", some)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("note: 1 row that is no example, left out\n  some.csv:4:7: \(quote)\n"))
    // Training says the same and stops.
    let work = try Workplace()
    try expectFailure(
      ["train", work.model, "--data", some, "-o", scratch("o")], status: 65,
      message: "'\(some)', line 4, column 7: \(quote)")
  }

  @Test("a text over the limit is named with the limit, and the same for training and use")
  func largeTexts() throws {
    let workplace = try Workplace()
    let limit = 16 << 20
    try workplace.scratch.write(String(repeating: "a", count: limit + 1), to: "data/food/large.txt")
    let outcome = try dibit("dataset", workplace.data)
    #expect(outcome.status == 0)
    #expect(
      outcome.output.contains(
        "note: 1 file over the size limit, left out\n  food/large.txt: at most \(limit) bytes expected in one text, \(limit + 1) found\n"))
  }

  @Test("what nothing can be learnt or held out of is told")
  func nothingToLearn() throws {
    let workplace = try Workplace()
    let short = try dibit("dataset", workplace.data, "--model", workplace.model, "--max-tokens", "8")
    #expect(short.status == 0)
    #expect(
      short.output.contains(
        "\n\nnote: none of the labelled texts can be learnt\nnote: 'food/0.txt': prompt and answer need 67 tokens even without the text, "
          + "but the limit is 8: raise --max-tokens or shorten the label\n"), "\(short.output)")
    let scratch = workplace.scratch
    try scratch.write("text,label\n" + (0..<1200).map { "text \($0),label \($0)\n" }.joined(), to: "each.csv")
    let each = try dibit("dataset", scratch("each.csv"), "--no-near-duplicates")
    #expect(
      each.output.hasPrefix(
        """
        1,200 labelled texts, 1,200 labels
          1,200 training, 0 validation, 0 test
        note: nothing is held out of training: no label has two texts

        """), "\(each.output)")
    try scratch.write("text,label\na,1\nb,2\n", to: "tests/test.csv")
    #expect(
      try dibit("dataset", scratch("tests")).output.hasPrefix(
        """
        2 labelled texts, 2 labels
          0 training, 0 validation, 2 test
        note: nothing can be trained: there are no labelled texts of the training split

        """))
  }

  @Test func aSmallTable() throws {
    let scratch = Scratch()
    try scratch.write("q;l\none;a|b\ntwo;b\n", to: "d.csv")
    let outcome = try dibit(
      "dataset", scratch("d.csv"), "--text-column", "q", "--label-column", "l", "--label-separator", "|", "--no-near-duplicates")
    #expect(
      outcome.output == """
        2 labelled texts, 2 labels
          2 training, 0 validation, 0 test
          1 with more than one label

        Labels: 'b' has 2 texts, 'a' has 1
          label  train  validation  test
          b          2           0     0
          a          1           0     0

        Length in characters: shortest 3, half up to 3, 90 % up to 3, 99 % up to 3, longest 3
            0  to 7  2  ########################################

        """)
    #expect(outcome.errors.isEmpty && outcome.status == 0)
  }
}
