import DibitJSON
import DibitTestSupport
import Testing

/// `dibit curve` on a tiny model.
@Suite(.serialized) struct CurveTests {
  private func data(_ work: Workplace, heldOut: String = "test") throws -> String {
    let path = try writeTopics(to: work.scratch, "splits", perLabel: 8, split: "train")
    try writeLate(to: work.scratch, "splits", heldOut)
    return path
  }

  @Test func sizesAreNestedAndAskedAboutTheSameTexts() throws {
    let work = try Workplace()
    let arguments = ["curve", work.model, "--data", try data(work), "--points", "3", "--epochs", "1", "--rank", "2"]
    let outcome = try DibitProcess(arguments + ["--repeats", "2", "--json", "--more", "16", "--difference", "5"]).finish()
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("training 3 of 6, 16 texts, training: "))
    let report = try outcome.json()
    #expect(
      report.object?.keys == [
        "schema", "split", "held_out_texts", "seed", "repeats", "run_sha256", "labels", "points", "fit", "prediction",
        "test_texts",
      ])
    #expect(report["split"] == "test" && report["held_out_texts"] == 16)
    let points = try #require(report["points"]?.array)
    #expect(points.map { $0["texts"] } == [8, 16, 32])
    #expect(points.map { $0["steps"] } == [[1, 1], [2, 2], [4, 4]])
    for point in points {
      let (accuracy, ends) = (try #require(point["accuracy"]?.double), try #require(point["accuracy_ci95"]?.numbers))
      #expect(ends[0] <= accuracy && accuracy <= ends[1])
      // Shares of 16 texts and two trainings.
      #expect((accuracy * 32).rounded() == accuracy * 32)
      #expect((point["standard_deviation"]?.double ?? -1) >= 0)
    }
    // Words of one label occur in no other: all of them tell more than a quarter.
    let bayes = points.compactMap { $0["naive_bayes_accuracy"]?.double }
    #expect(bayes[2] >= bayes[0] && bayes[2] > 0.9, "\(bayes)")
    let regression = points.compactMap { $0["regression_accuracy"]?.double }
    #expect(regression.count == 3 && regression[2] > 0.9, "\(regression)")
    #expect(report["fit"]?.object?.keys == ["limit", "scale", "exponent", "misfit"])
    let prediction = try #require(report["prediction"])
    #expect(prediction["more"] == 16)
    // Either an answer or why there is none.
    #expect((prediction["doubt"] == nil) == (prediction["accuracy"] != nil))
    #expect(prediction["answer"]?.string?.contains("16 more texts") == true)
    let needed = try #require(report["test_texts"])
    #expect(needed.object?.keys == ["texts", "discordance", "found", "asked"])
    let discordance = try #require(needed["discordance"]?.double)
    #expect(needed["texts"] == 16 && (discordance * 32).rounded() == discordance * 32)
    let growth = (points[2]["accuracy"]?.double ?? 0) - (points[1]["accuracy"]?.double ?? 0)
    #expect(abs((needed["found"]?["difference"]?.double ?? 9) - growth) < 1e-12)
    #expect(needed["asked"]?["difference"] == 0.05)
    // Connor's equation with the test's correction, a quadratic in √n.
    let share = max(discordance, 0.05)
    let errors = 1.959964 * share.squareRoot() + 0.841621 * (share - 0.05 * 0.05).squareRoot()
    let root = (errors + (errors * errors + 4 * 0.05).squareRoot()) / (2 * 0.05)
    #expect(abs(Double(needed["asked"]?["texts_needed"]?.int ?? 0) - root * root) <= 1.1)
    #expect(work.scratch.names == ["data", "model", "source", "splits"])
  }

  @Test("the last size is what train makes of all texts", arguments: ["drawn", "given", "none"])
  func lastSizeIsTrain(validation: String) throws {
    let work = try Workplace()
    let data = work.scratch("splits")
    // From 50 texts on a part is held out for validation; the order of the files is not that of the texts.
    let perLabel = validation == "none" ? 8 : 16
    try writeTopics(to: work.scratch, "splits", perLabel: perLabel, split: "train")
    try writeLate(to: work.scratch, "splits", "test")
    if validation == "given" {
      for (index, topic) in topics(perLabel: 2).enumerated() {
        try work.scratch.write("seen later: \(topic.text)", to: "splits/validation/\(topic.label)/\(index).txt")
      }
    }
    // A label that only a test text has says nothing about how much of a long text is learnt.
    try work.scratch.write("soup", to: "splits/test/a label of many words that no training text has and longer than all others/0.txt")
    try work.scratch.write((0..<300).map { "goal \($0)" }.joined(separator: " "), to: "splits/train/sport/long.txt")
    let recipe = ["--data", data, "--epochs", "2", "--rank", "2", "--seed", "3", "--set", "keep=best", "--set", "steps_per_eval=2"]
    let (curve, adapter, evaluated) = (work.scratch("curve"), work.scratch("adapter"), work.scratch("evaluated"))
    for arguments in [
      ["curve", work.model, "--points", "2", "-o", curve] + recipe, ["train", work.model, "-o", adapter] + recipe,
      [
        "evaluate", work.model, "--adapter", adapter, "--data", data, "--output", evaluated, "--allow-leakage", "--baselines", "majority",
        "--alone", "0",
      ],
    ] {
      let outcome = try dibit(arguments)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    func run(_ folder: String, _ name: String) throws -> JSONValue {
      let names = try files(below: folder).keys.sorted()
      let file = try #require(names.first { $0.hasPrefix(name) }, "\(names)")
      let json = try JSONValue(parsing: try contents(folder + "/" + file))
      return try #require(json["runs"]?.array?.first { $0["kind"] == "adapter" })
    }
    let texts = 4 * perLabel + 1
    let last = try run(curve, "texts-\(texts)-repeat-1")
    #expect(try run(evaluated, "run-2")["log_probabilities"] == last["log_probabilities"])
    #expect(last["log_probabilities"]?.array?.count == 17)
  }

  @Test func textsThatADifferenceNeeds() throws {
    let work = try Workplace()
    let arguments = ["curve", work.model, "--data", try data(work), "--points", "2", "--epochs", "1", "--rank", "2"]
    for points in ["0", "-1", "101", "nan"] {
      let outcome = try dibit(arguments + ["--difference", points])
      #expect(outcome.status == 64 && outcome.errors.hasPrefix("error: --difference: expected points above 0, and 100 at most, found "))
      #expect(outcome.errors.split(separator: "\n").count == 1)
    }
    let outcome = try dibit(arguments + ["--difference", "7.5"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.contains("From 16 to 32 texts accuracy moved by "), "\(outcome.output)")
    #expect(outcome.output.contains("To tell 7.5 points apart, about ") && outcome.output.contains("; there are 16."), "\(outcome.output)")
  }

  @Test func sameNumbersAfterAStop() throws {
    let work = try Workplace()
    let arguments = ["curve", work.model, "--data", try data(work), "--points", "2", "--epochs", "1", "--rank", "2", "--more", "100"]
    let expected = try DibitProcess(arguments + ["--threads", "1"]).finish()
    #expect(expected.status == 0, "\(expected.errors)")
    #expect(expected.output.hasPrefix("Trained on parts of 32 texts, asked about 16 of the test split\n"))
    #expect(expected.errors.contains("note: nothing is kept of a job that is stopped"))
    let folder = work.scratch("kept")
    #expect(try DibitProcess(arguments + ["-o", folder]).finish().output == expected.output)
    let names = try files(below: folder).keys.sorted()
    #expect(
      names.map { $0.split(separator: "-").prefix(4).joined(separator: "-") } == [
        "texts-16-repeat-1", "texts-32-repeat-1",
      ])
    try work.scratch.remove("kept/" + names[1])
    let resumed = try DibitProcess(arguments + ["-o", folder, "--resume"]).finish()
    #expect(resumed.output == expected.output)
    #expect(resumed.errors.contains("32 texts, training") && !resumed.errors.contains("16 texts, training"))
  }

  @Test func badInput() throws {
    let work = try Workplace()
    try expectFailure(
      ["curve", work.model, "--data", work.data], status: 65,
      message: "'\(work.data)' has neither a test nor a validation split to ask about: move some texts into one, "
        + "or use 'dibit crossvalidate'")
    let splits = try data(work, heldOut: "validation")
    try expectFailure(
      ["curve", work.model, "--data", splits, "--points", "5"], status: 65,
      message: "'\(splits)': 32 training texts are too few for 5 sizes: the smallest would be 2, less than the 4 labels; "
        + "ask for fewer --points")
    try expectFailure(
      ["curve", work.model, "--data", splits, "--points", "1"], status: 64,
      message: "--points: expected a number from 2 to 10, found 1; see 'dibit curve --help'")
    let chat = try work.scratch.write(
      String(repeating: #"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"# + "\n", count: 3),
      to: "chat.jsonl")
    try expectFailure(
      ["curve", work.model, "--data", chat], status: 65, message: "'\(chat)': labelled texts expected, conversations found")
    let outcome = try dibit("curve", work.model, "--data", splits, "--points", "2", "--epochs", "1", "--rank", "2")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("note: there is no test split, so the validation split is asked about and no training watches it\n"))
    #expect(outcome.output.contains("Whether 200 more texts would help cannot be told from 2 sizes: three at least are needed."))
  }
}
