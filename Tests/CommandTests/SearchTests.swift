import Dibit
import DibitJSON
import DibitTestSupport
import Testing

/// Settings that are found within a budget.
@Suite struct SearchTests {
  private func command(_ work: Workplace, _ name: String, _ options: [String] = []) -> [String] {
    ["train", work.model, "--data", work.data, "-o", work.scratch(name), "--rank", "4"] + options
  }

  private func manifest(_ work: Workplace, _ name: String) throws -> JSONValue {
    try JSONValue(parsing: try contents(work.scratch(name) + "/manifest.json"))
  }

  private func weights(_ work: Workplace, _ name: String) throws -> [UInt8] {
    try contents(work.scratch(name) + "/adapter_model.safetensors")
  }

  @Test("a search begins with what nobody chose, takes what is better on texts held out, and its recipe repeats the adapter")
  func finds() throws {
    let work = try Workplace(perLabel: 12)
    let outcome = try dibit(command(work, "found", ["--budget", "10m"]))
    try #require(outcome.status == 0, "\(outcome.errors)")
    let found = try manifest(work, "found")
    let search = try #require(found["search"])
    let trials = try #require(search["trials"]?.array)
    #expect(trials.count > 1 && trials[0]["learning_rate"] == 0.004 && trials[0]["epochs"] == 10)
    #expect(
      search["folds"] == 3 && search["held_out_texts"]?.int == found["split"].map { ($0["train"]?.int ?? 0) + ($0["validation"]?.int ?? 0) }
    )
    // What was taken is one of them, and none was so much better that it should have been.
    let taken = try #require(
      trials.first { $0["learning_rate"] == found["recipe"]?["learning_rate"] && $0["epochs"] == found["recipe"]?["epochs"] })
    let scores = trials.compactMap { trial in trial["brier"]?.double }
    let (score, best) = (try #require(taken["brier"]?.double), try #require(scores.min()))
    #expect(score < best + 0.1)
    #expect(outcome.errors.contains("epochs: ") && outcome.errors.contains("; the best so far"), "\(outcome.errors)")
    #expect(outcome.errors.contains("a classifier of words learns: "), "\(outcome.errors)")
    try #require(try dibit(command(work, "again", ["--recipe", work.scratch("found/recipe.yaml")])).status == 0)
    #expect(try weights(work, "found") == weights(work, "again"))
    #expect(try manifest(work, "again")["search"] == nil)
    // Words get the share that helped, if any did.
    #expect(search["words"]?["share"] == found["words"]?["share"] && found["recipe"]?["word_share"] == found["words"]?["share"])
    // The finished adapter is known by the command that made it.
    let finished = try dibit(command(work, "found", ["--budget", "10m", "--resume"]))
    #expect(finished.status == 0 && finished.output.contains("is the finished adapter of this run"), "\(finished.errors)")
  }

  @Test("a search that was stopped goes on behind the trials that are done, to the same bytes")
  func resumes() throws {
    let work = try Workplace(perLabel: 24)
    let options = ["--budget", "10m", "--learning-rate", "0.004"]
    try #require(try dibit(command(work, "whole", options)).status == 0)
    let process = try DibitProcess(command(work, "stopped", options))
    try process.wait { process.errors.contains("the best so far") }
    process.interrupt()
    let stopped = try process.finish()
    // The signal may come so late that the run itself is what it stops.
    #expect(stopped.status == 130 && stopped.errors.contains("interrupted "), "\(stopped.errors)")
    let again = try dibit(command(work, "stopped", options))
    #expect(again.status == 73 && again.errorLines.count == 1, "\(again.errors)")
    let outcome = try dibit(command(work, "stopped", options + ["--resume"]))
    try #require(outcome.status == 0, "\(outcome.errors)")
    #expect(try weights(work, "stopped") == weights(work, "whole"))
    #expect(try manifest(work, "stopped")["search"] == manifest(work, "whole")["search"])
    // A rate that was given stays.
    #expect(try #require(manifest(work, "whole")["search"]?["trials"]?.array).allSatisfy { $0["learning_rate"] == 0.004 })
    #expect(!exists(work.scratch("stopped.checkpoints")))
  }

  @Test("beside a teacher the search is for its adapter, and the share of words that it finds is the new one's too")
  func teacher() throws {
    let work = try Workplace(perLabel: 12)
    let options = ["--teacher", work.model, "--learning-rate", "0.004", "--epochs", "5"]
    // What is chosen leaves nothing to search for, also beside a teacher.
    let chosen = try dibit(command(work, "taught", options + ["--budget", "10m"]))
    #expect(chosen.status == 64 && chosen.errors.contains("found both chosen"), "\(chosen.errors)")
    let open = Array(options.prefix(4))
    let outcome = try dibit(command(work, "taught", open + ["--budget", "10m"]))
    try #require(outcome.status == 0, "\(outcome.errors)")
    let (teacher, taught) = (try manifest(work, "taught.teacher"), try manifest(work, "taught"))
    #expect(teacher["search"]?["trials"]?.array?.isEmpty == false && taught["search"] == nil)
    // The epochs of the new adapter are what they are without a search.
    #expect(taught["recipe"]?["epochs"] == 10)
    let share = teacher["words"]?["share"]
    #expect(taught["words"]?["share"] == share)
    #expect(outcome.errors.contains("as the search found for the teacher") == (share != nil), "\(outcome.errors)")
    let again = try dibit(command(work, "taught", open + ["--budget", "10m", "--resume"]))
    #expect(again.status == 0 && again.output.contains("is the finished adapter of this run"), "\(again.errors)")
    let trained = ["--teacher-adapter", work.scratch("taught.teacher")]
    let refused = try dibit(command(work, "no", open + trained + ["--budget", "10m"]))
    #expect(refused.status == 64 && refused.errorLines.count == 1, "\(refused.errors)")
    #expect(refused.errors.contains("--budget: beside a teacher it is for the training of its adapter; expected none, found '"))
  }

  @Test("a budget that is too small for a search trains all the same, and says so")
  func tooSmall() throws {
    let work = try Workplace(perLabel: 12)
    // A single trial tells what words add, which is found unless it is given.
    for (name, given, trials) in [("adapter", [], "1 trial"), ("without-words", ["--word-share", "0"], "2 trials")] {
      let outcome = try dibit(command(work, name, ["--budget", "1s", "--epochs", "400"] + given))
      try #require(outcome.status == 0, "\(outcome.errors)")
      #expect(
        outcome.errors.contains("note: no search for better settings: \(trials) and the training itself would take about "),
        "\(outcome.errors)")
      #expect(outcome.errors.contains(" s, and the budget is 1 s\n"), "\(outcome.errors)")
      #expect(try manifest(work, name)["search"] == nil)
    }
  }

  @Test("what no search can be made of is refused in one line")
  func refusals() throws {
    let work = try Workplace(perLabel: 4)
    func refuses(_ options: [String], _ message: String) throws {
      let outcome = try dibit(command(work, "no") + options)
      #expect(outcome.status == 64 && outcome.errorLines == ["error: \(message); see 'dibit train --help'"], "\(outcome.errors)")
    }
    for text in ["10", "m", "-1m", "0s", "1d", "nanh"] {
      try refuses(["--budget=\(text)"], "--budget: expected a time like 90s, 10m or 1h, found '\(text)'")
    }
    try refuses(["--budget", "0.5s"], "--budget: expected a time from 1 s to 11 days, found 0.5 s")
    try refuses(["--budget", "1m", "--plan"], "--budget: expected without --plan, which measures a single training")
    try refuses(["--budget", "1m", "--from", "x"], "--budget: expected either it or --from, found both")
    for both in [["--epochs", "2", "--learning-rate", "1e-3"], ["--epochs", "2", "--set", "learning_rate=1e-3"]] {
      try refuses(["--budget", "1m"] + both, "--budget: expected learning rate or epochs to be open, found both chosen")
    }
    let chats = try work.scratch.write(
      (1...4).map { #"{"messages":[{"role":"user","content":"\#($0)?"},{"role":"assistant","content":"\#($0)!"}]}"# }.joined(
        separator: "\n"),
      to: "chats.jsonl")
    let outcome = try dibit("train", work.model, "--data", chats, "-o", work.scratch("no"), "--budget", "1m")
    #expect(outcome.status == 64 && outcome.errorLines.count == 1, "\(outcome.errors)")
    #expect(outcome.errors.contains("--budget: is for labelled texts; settings for conversations are chosen by hand"))
  }

  @Test("a trial is better where the mean difference over the same texts exceeds its standard error")
  func better() throws {
    func trial(_ distances: [Double]) throws -> SearchTrial {
      let list = distances.map { "\($0)" }.joined(separator: ",")
      let text = #"{"learning_rate":0.001,"epochs":2,"hits":0,"seconds":1,"distances":[\#(list)]}"#
      let trial = try #require(SearchTrial(try JSONValue(parsing: text)))
      #expect(SearchTrial(.object(trial.json)) == trial)
      return trial
    }
    let (plain, failed) = (try trial([0.5, 0.4, 0.6, 0.5]), try trial([]))
    // Differences of -0.1 each; and of mean -0.1 with a standard error of 0.18.
    let (lower, scattered) = (try trial([0.4, 0.3, 0.5, 0.4]), try trial([0.0, 0.8, 0.2, 0.6]))
    #expect(lower.isBetter(than: plain) && !plain.isBetter(than: lower) && !plain.isBetter(than: plain))
    #expect(!scattered.isBetter(than: plain) && plain.isBetter(than: failed) && !failed.isBetter(than: plain))
    #expect(failed.hasFailed && failed.score == .infinity)
    // A share of words counts where it brings more than its own error: here the second brings most, the third is scattered.
    let pooled = #"{"learning_rate":1,"epochs":2,"hits":2,"seconds":1,"distances":[0.5,0.4,0.6,0.5],"pooled_distances":"#
    let helped = try #require(
      SearchTrial(try JSONValue(parsing: pooled + "[[0.4,0.3,0.5,0.4],[0.3,0.2,0.4,0.3],[0.0,0.8,0.2,0.6]]}")))
    let (share, score) = try #require(helped.wordShare)
    #expect(share == 0.5 && abs(score - 0.3) < 1e-12 && SearchTrial(.object(helped.json)) == helped && plain.wordShare == nil)
    let harmed = SearchTrial(try JSONValue(parsing: pooled + "[[0.5,0.4,0.6,0.5],[0.6,0.5,0.7,0.6],[0.0,0.8,0.2,1.6]]}"))
    #expect(try #require(harmed).wordShare == nil)
    #expect(SearchTrial(try JSONValue(parsing: pooled + "[[0.4,0.3,0.5,0.4]]}")) == nil)
    #expect(SearchTrial(try JSONValue(parsing: pooled + "[[0.4],[0.3],[0.0]]}")) == nil)
    for broken in [#"{"epochs":2}"#, #"{"learning_rate":1,"epochs":2,"hits":2,"seconds":1,"distances":[0.5]}"#] {
      #expect(SearchTrial(try JSONValue(parsing: broken)) == nil)
    }
  }
}
