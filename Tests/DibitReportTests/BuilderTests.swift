import DibitReport
import DibitStatistics
import Foundation
import Testing

@Suite struct BuilderTests {
  @Test func numbersAreThoseOfTheStatistics() throws {
    let sample = SampleReport()
    let report = sample.make()
    let adapter = try #require(report.run("runs/newsgroups-r32"))
    #expect(report.examples == 400 && report.runs.count == 2 && report.baselines.count == 3)
    #expect(adapter.metrics.count == 400)
    #expect(adapter.accuracyInterval == .wilson(successes: adapter.metrics.hits, of: 400))
    let f1 = try #require(adapter.macroF1Interval)
    #expect(f1.lower < adapter.metrics.macroF1 && adapter.metrics.macroF1 < f1.upper)
    #expect(
      adapter.calibration.count == 10 && adapter.calibration.reduce(0) { $0 + $1.count } == 400)
    #expect(adapter.abstention.last?.coverage == 1)
    #expect(abs((adapter.abstention.last?.risk ?? 0) - (1 - adapter.metrics.accuracy)) < 1e-12)
    #expect(abs(try #require(report.run("most frequent label")?.metrics.accuracy) - 0.05) < 1e-12)
    // An adapter against the base and three baselines, by two metrics.
    #expect(report.comparisons.count == 8)
    for comparison in report.comparisons {
      let (a, b) = (try #require(report.run(comparison.a)), try #require(report.run(comparison.b)))
      let expected =
        comparison.metric == .accuracy
        ? a.metrics.accuracy - b.metrics.accuracy : a.metrics.macroF1 - b.metrics.macroF1
      #expect(abs(comparison.difference - expected) < 1e-12)
      #expect(
        comparison.interval.lower <= comparison.difference
          && comparison.difference <= comparison.interval.upper)
      #expect(comparison.pValue >= comparison.rawPValue)
      #expect((comparison.pValue < 0.05) == (comparison.interval.lower > 0 || comparison.interval.upper < 0))
      #expect(comparison.pValue == min(1, comparison.rawPValue * comparison.correction) && comparison.correction >= 1)
    }
    #expect(report.standing == .better)
    #expect(report.seed == 7)
    #expect(sample.make() == report)
  }

  @Test func withoutAnAdapterTheBaseMeetsTheBaselines() {
    let rows: [[Double]] = (0..<40).map { $0 % 4 == 0 ? [-2, -0.2] : [-0.2, -2] }
    let builder = ReportBuilder(
      labels: 2, truths: (0..<40).map { [$0 % 2] }, bootstrap: Bootstrap(resamples: 50))
    let report = builder.report(
      names: ["a", "b"], split: "test",
      runs: [RunOutcomes(name: "base", kind: .base, logProbabilities: rows, seconds: 2)],
      baselines: [
        RunOutcomes(name: "Bayes", kind: .baseline, logProbabilities: rows.reversed(), seconds: 0)
      ])
    #expect(report.comparisons.map(\.b) == ["Bayes", "Bayes"])
    #expect(report.standing == .unproven || report.standing == .worse)
  }

  @Test func anyOfSeveralTrueLabelsIsRight() {
    let builder = ReportBuilder(labels: 3, truths: [[0, 2], [0, 1]])
    let outcomes = RunOutcomes(
      name: "x", kind: .base,
      logProbabilities: [[log(0.2), log(0.3), log(0.5)], [log(0.1), log(0.2), log(0.7)]], seconds: 0
    )
    let forecasts = builder.forecasts(outcomes)
    #expect(forecasts.truths == [2, 1])
    #expect(forecasts.hits == [true, false])
    #expect(abs(forecasts.logLoss - -(log(0.5) + log(0.2)) / 2) < 1e-12)
  }

  @Test func setsOfLabels() throws {
    let builder = ReportBuilder(labels: 3, truths: [[0, 2], [1]], bootstrap: Bootstrap(resamples: 10))
    var outcomes = RunOutcomes(name: "x", kind: .base, logProbabilities: [[-1, -2, -3], [-3, -1, -2]], seconds: 0)
    #expect(builder.run(outcomes).tags == nil)
    outcomes.tags = [[0, 1], [1]]
    let tags = try #require(builder.run(outcomes).tags)
    // Two of three given are true, two of three true ones are given; one of two sets is exact; two of six decisions are wrong.
    #expect(abs(tags.micro.f1 - 2.0 / 3) < 1e-12 && tags.subsetAccuracy == 0.5 && abs(tags.hammingLoss - 1.0 / 3) < 1e-12)
    let report = builder.report(names: ["a", "b", "c"], split: "test", runs: [outcomes], baselines: [])
    #expect(HTMLReport(report).html.contains("<h3 style=\"margin-top:36px\">Sets of labels</h3>"))
  }

  @Test func mistakesHaveTextsOnlyOnRequest() throws {
    var builder = ReportBuilder(
      labels: 2, truths: [[0], [0], [1], [1]], bootstrap: Bootstrap(resamples: 20))
    let rows = [
      [log(0.9), log(0.1)], [log(0.3), log(0.7)], [log(0.8), log(0.2)], [log(0.4), log(0.6)],
    ]
    let outcomes = RunOutcomes(name: "x", kind: .base, logProbabilities: rows, seconds: 1)
    #expect(builder.run(outcomes).samples.isEmpty)
    builder.texts = ["right", "wrong", String(repeating: "x", count: 700), "right too"]
    let samples = builder.run(outcomes).samples
    #expect(samples.map(\.truth) == [1, 0] && samples.map(\.prediction) == [0, 1])
    #expect(samples[0].text == String(repeating: "x", count: 600) + "…")
    #expect(
      abs(samples[0].probability(of: 0) - 0.8) < 1e-12
        && abs(samples[0].probability(of: 1) - 0.2) < 1e-12)
    #expect(samples[1].probability(of: 7) == 0)
  }

  @Test func impossibleTruthsAndNothing() {
    let builder = ReportBuilder(labels: 2, truths: [[0]], bootstrap: Bootstrap(resamples: 10))
    let run = builder.run(
      RunOutcomes(name: "x", kind: .base, logProbabilities: [[-.infinity, 0]], seconds: 0))
    #expect(run.logLoss == nil && run.brier == 2)
    let empty = ReportBuilder(labels: 2, truths: []).report(
      names: ["a", "b"], split: "test",
      runs: [RunOutcomes(name: "base", kind: .base, logProbabilities: [], seconds: 0)],
      baselines: [])
    #expect(empty.comparisons.isEmpty && empty.verdict == "Nothing was evaluated.")
    #expect(ReportedRun.Latency([]) == nil)
    #expect(ReportedRun.Latency([3, 1, 2]) == ReportedRun.Latency(median: 2, p95: 3))
    #expect(
      ReportedRun.Latency((1...100).map(Double.init)) == ReportedRun.Latency(median: 50, p95: 95))
  }

  @Test func ranking() {
    let first = SampleReport().make()
    var second = SampleReport(adapter: 3.6).make()
    second.runs[1].name = "runs/other"
    var elsewhere = first
    elsewhere.digests.data = "another"
    let ranking = RunRanking([first, second, elsewhere])
    #expect(ranking.groups.count == 2)
    let names = ranking.groups[0].map(\.run.name)
    // The base and the baselines are the same in both reports.
    #expect(
      names.count == 6 && Set(names.prefix(2)) == ["runs/other", "runs/newsgroups-r32"]
        && names.last == "most frequent label")
    #expect(ranking.groups[0][1].overlapsBest && !ranking.groups[0][5].overlapsBest)
    let accuracies = ranking.groups[0].map(\.run.metrics.accuracy)
    #expect(accuracies == accuracies.sorted(by: >))
    #expect(ranking.groups[1].count == 5 && ranking.groups[1].allSatisfy { $0.report == 2 })
    #expect(RunRanking([]).groups.isEmpty)
  }
}
