import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// `dibit crossvalidate` on a tiny model.
@Suite(.serialized) struct CrossValidateTests {
  /// A model, 32 texts of four labels in equal parts, and one text of a fifth.
  private func workplace() throws -> Workplace {
    let work = try Workplace()
    try work.scratch.write("a lonely text of its own", to: "data/rare/0.txt")
    return work
  }

  private func arguments(_ work: Workplace, _ more: String...) -> [String] {
    ["crossvalidate", work.model, "--data", work.data, "--folds", "3", "--epochs", "1", "--rank", "4"] + more
  }

  @Test func everyTextIsAskedAboutOnce() throws {
    let work = try workplace()
    let outcome = try DibitProcess(arguments(work, "--json")).finish()
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("note: nothing is kept of a job that is stopped"))
    #expect(outcome.errors.contains("note: 1 label has fewer texts than there are folds, so that some folds lack them: rare\n"))
    #expect(outcome.errors.contains("33 texts in 3 folds of 11\n"))
    #expect(outcome.errors.contains("fold 2 of 3, training: "))
    let report = try outcome.json()
    #expect(
      report.object?.keys == [
        "schema", "folds", "seed", "texts", "untouched_test_texts", "near_duplicate_groups", "run_sha256", "labels", "truncated_examples",
        "runs", "comparisons", "test_texts", "standing", "trainings",
      ])
    #expect(report["texts"] == 33)
    #expect(report["labels"] == ["food", "money", "rare", "space", "sport"])
    let trainings = try #require(report["trainings"]?.array)
    #expect(trainings.map { $0["training_texts"] } == [22, 22, 22])
    #expect(trainings.map { $0["held_out_texts"] } == [11, 11, 11])
    #expect(trainings.allSatisfy { $0["validation_texts"] == 0 && $0["steps"] == 3 })
    let runs = try #require(report["runs"]?.array)
    #expect(runs.map { $0["name"] } == ["adapter", "base", "naive Bayes on words", "logistic regression on words", "most frequent label"])
    for run in runs {
      let confusion = try #require(run["confusion"]?.array).map { $0.array?.compactMap(\.int) ?? [] }
      #expect(confusion.map { $0.reduce(0, +) } == [8, 8, 1, 8, 8])
      // Pooled over folds of one size, accuracy is the mean over folds.
      let accuracy = try #require(run["accuracy"])
      let folds = try #require(accuracy["folds"]?.numbers)
      let (pooled, mean) = (try #require(accuracy["pooled"]?.double), folds.reduce(0, +) / 3)
      #expect(abs(pooled - mean) < 1e-12 && abs((accuracy["mean"]?.double ?? 0) - mean) < 1e-12)
      #expect(pooled == Double(confusion.indices.reduce(0) { $0 + confusion[$1][$1] }) / 33)
      let squares = folds.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      #expect(abs((accuracy["standard_deviation"]?.double ?? -1) - (squares / 2).squareRoot()) < 1e-12)
      let ends = try #require(accuracy["ci95"]?.numbers)
      #expect(ends[0] <= pooled && pooled <= ends[1])
    }
    // Words of one label occur in no other: what has seen them must not miss them.
    #expect((runs[2]["accuracy"]?["pooled"]?.double ?? 0) > 0.8)
    #expect((runs[3]["accuracy"]?["pooled"]?.double ?? 0) > 0.8)
    #expect(
      report["comparisons"]?.array?.filter { $0["metric"] == "accuracy" }.map { $0["b"] } == [
        "base", "naive Bayes on words", "logistic regression on words",
      ])
    let needed = try #require(report["test_texts"]?.array)
    #expect(needed.map { $0["b"] } == ["base", "naive Bayes on words", "logistic regression on words"])
    for (rival, run) in zip(needed, runs.dropFirst()) {
      #expect(rival["texts"] == 33 && rival["asked"]?["difference"] == 0.02)
      let difference = (runs[0]["accuracy"]?["pooled"]?.double ?? 0) - (run["accuracy"]?["pooled"]?.double ?? 0)
      #expect(abs((rival["found"]?["difference"]?.double ?? 9) - difference) < 1e-12)
      let comparison = report["comparisons"]?.array?.first { $0["b"] == rival["b"] && $0["metric"] == "accuracy" }
      // Where there is no difference a report leaves the number out.
      #expect(rival["found"]?["texts_needed"] == comparison?["examples_needed"] ?? .null)
    }
    #expect(work.scratch.names == ["data", "model", "source"])
  }

  @Test func neitherThreadsNorFileNamesMatter() throws {
    let work = try workplace()
    let first = try DibitProcess(arguments(work)).finish()
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.hasPrefix("33 texts in 3 folds, 5 labels; each text is asked about once"))
    #expect(first.output.contains("McNemar's p "))
    #expect(first.output.components(separatedBy: "To tell 2.0 points apart, about ").count == 4 && first.output.contains("; there are 33."))
    for label in ["food", "sport"] {
      for (index, name) in ["z", "y", "x"].enumerated() {
        try FileManager.default.moveItem(atPath: work.data + "/\(label)/\(index).txt", toPath: work.data + "/\(label)/\(name).txt")
      }
    }
    #expect(try DibitProcess(arguments(work, "--threads", "1")).finish().output == first.output)
  }

  @Test func aStoppedJobGoesOn() throws {
    let work = try workplace()
    let folder = work.scratch("folds")
    let expected = try DibitProcess(arguments(work, "--json")).finish().output
    let process = try DibitProcess(arguments(work, "--output", folder))
    // Slow enough that the second fold can be met while it trains.
    try process.wait { process.errors.contains("fold 2 of 3, training") }
    process.kill()
    _ = process.waitForSignal()
    let kept = try directory(folder).filter { !$0.hasPrefix(".") }
    #expect(!kept.isEmpty && kept.allSatisfy { $0.hasPrefix("fold-") && $0.hasSuffix(".json") })
    let refused = try DibitProcess(arguments(work, "--output", folder)).finish()
    #expect(refused.status == 73)
    #expect(
      refused.errorLines == [
        "error: '\(folder)' holds \(kept.count) of 3 trainings of this very job: pass --resume to go on behind them, or --overwrite to train again"
      ])
    let resumed = try DibitProcess(arguments(work, "--output", folder, "--resume", "--json")).finish()
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(resumed.errors.contains("note: \(kept.count) of 3 trainings of this job are in '\(folder)'\n"))
    #expect(!resumed.errors.contains("fold 1 of 3, training"))
    #expect(resumed.output == expected)
    #expect(try directory(folder).filter { !$0.hasPrefix(".") }.count == 3)
  }

  @Test func everyJobKeepsFilesOfItsOwn() throws {
    let work = try workplace()
    let folder = work.scratch("folds")
    let first = try DibitProcess(arguments(work, "--output", folder)).finish()
    let all = try directory(folder).sorted()
    #expect(first.status == 0 && all.count == 3, "\(first.errors)")
    let bytes = try contents(folder + "/" + all[0])
    #expect(try DibitProcess(arguments(work, "--output", folder, "--overwrite")).finish().status == 0)
    #expect(try contents(folder + "/" + all[0]) == bytes)
    let other = try DibitProcess(arguments(work, "--output", folder, "--resume", "--seed", "5")).finish()
    #expect(other.status == 0 && other.output != first.output)
    #expect(other.errors.contains("note: 0 of 3 trainings of this job are in '\(folder)'; what is there belongs to other texts"))
    #expect(try directory(folder).count == 6)
    // What is not whole is told, not taken.
    try work.scratch.write(String(decoding: bytes.prefix(bytes.count / 2), as: UTF8.self), to: "folds/" + all[0])
    try expectFailure(
      arguments(work, "--output", folder, "--resume"), status: 65,
      message: "'\(folder)/\(all[0])' is not what this job wrote: remove it, and it is trained again", isLate: true)
  }

  private func directory(_ path: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path) }

  @Test("Ctrl-C ends in order", arguments: [true, false])
  func interrupted(keeps: Bool) throws {
    let work = try workplace()
    let folder = work.scratch("folds")
    let process = try DibitProcess(
      ["crossvalidate", work.model, "--data", work.data, "--folds", "2", "--epochs", "10000"] + (keeps ? ["-o", folder] : []))
    try process.wait { process.errors.contains("fold 1 of 2, training") }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    let kept = " and in '\(folder)'; the same command with --resume goes on behind them"
    let lost = ", and nothing was kept; --output FOLDER keeps them"
    #expect(outcome.errorLines == ["error: interrupted in fold 1 of 2: 0 of 2 trainings are done\(keeps ? kept : lost)"])
    #expect(outcome.output == "")
    #expect(work.scratch.names == ["data"] + (keeps ? ["folds"] : []) + ["model", "source"])
  }

  @Test func badInput() throws {
    let work = try Workplace(perLabel: 1)
    let common = ["crossvalidate", work.model, "--data"]
    try expectFailure(
      common + [work.data, "--folds", "5"], status: 65,
      message: "5 folds need 5 different texts at least, found 4; ask for fewer folds or add texts")
    for (option, value, message) in [
      ("--folds", "1", "--folds: expected a number from 2 to 100, found 1"),
      ("--epochs", "0", "--epochs: expected a number from 1 to 10000, found 0"),
    ] {
      try expectFailure(
        common + [work.data, option, value], status: 64, message: message + "; see 'dibit crossvalidate --help'")
    }
    try expectFailure(
      common + [work.data, "--resume"], status: 64,
      message: "--resume: needs the --output of the job that was stopped; see 'dibit crossvalidate --help'")
    let chat = try work.scratch.write(
      String(repeating: #"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"# + "\n", count: 3),
      to: "chat.jsonl")
    try expectFailure(common + [chat], status: 65, message: "'\(chat)': labelled texts expected, conversations found")
    try expectFailure(
      common + [work.scratch("none")], status: 66, message: "'\(work.scratch("none"))' does not exist; check the path")
  }

  @Test func theTestSplitStaysUntouched() throws {
    let work = try Workplace()
    let data = try writeTopics(to: work.scratch, "splits", perLabel: 6, split: "train")
    try writeLate(to: work.scratch, "splits", "test")
    let outcome = try dibit("crossvalidate", work.model, "--data", data, "--folds", "2", "--epochs", "1", "--rank", "2", "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.contains("note: texts of the train and validation splits are used; the 16 of the test split stay untouched\n"))
    #expect(try outcome.json()["texts"] == 24)
    #expect(try outcome.json()["untouched_test_texts"] == 16)
  }
}

/// Texts of the topics that come behind the first eight of each label.
func writeLate(to scratch: Scratch, _ name: String, _ split: String) throws {
  for (path, text, label) in topics(perLabel: 12) where (Int(path.dropLast(4)) ?? 0) >= 8 {
    try scratch.write(text, to: "\(name)/\(split)/\(label)/\(path)")
  }
}

extension JSONValue {
  /// The elements of a list of numbers.
  var numbers: [Double]? { array?.compactMap(\.double) }
}
