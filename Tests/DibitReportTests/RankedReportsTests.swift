import DibitJSON
import DibitStatistics
import Testing

@testable import DibitReport

/// Saved reports beside each other.
@Suite struct RankedReportsTests {
  private func run(_ name: String, _ kind: ReportedRun.Kind, hits: Int, logLoss: Double? = nil) -> ReportedRun {
    var run = ReportedRun(
      name: name, kind: kind,
      metrics: ClassificationMetrics(labels: 2, pairs: (0..<100).map { (truth: $0 % 2, prediction: $0 < hits ? $0 % 2 : 1 - $0 % 2) }))
    let share = Double(hits) / 100
    run.accuracyInterval = ConfidenceInterval(lower: share - 0.05, upper: share + 0.05)
    run.logLoss = logLoss
    return run
  }

  private func report(_ runs: [ReportedRun], data: String = "notes") -> EvaluationReport {
    var report = EvaluationReport(
      labels: ["a", "b"], split: "test", examples: 100, runs: [run("base", .base, hits: 50, logLoss: 0.7)] + runs,
      baselines: [run("Bayes", .baseline, hits: 70)])
    report.data = data
    report.digests.data = data
    return report
  }

  private func compared(_ a: String, _ b: String, _ difference: Double, p: Double) -> RunComparison {
    RunComparison(
      a: a, b: b, metric: .accuracy, difference: difference,
      interval: ConfidenceInterval(lower: difference - 0.04, upper: difference + 0.04), pValue: p, rawPValue: p)
  }

  private var saved: [SavedReport] {
    var first = report([run("x", .adapter, hits: 72, logLoss: 0.5), run("y", .adapter, hits: 78, logLoss: 0.9)])
    first.comparisons = [compared("x", "y", -0.06, p: 0.01)]
    let second = report([run("x", .adapter, hits: 75, logLoss: 0.45)])
    return [
      SavedReport(file: "runs/20261121T090000Z-0a1b2c3d.json", report: second),
      SavedReport(file: "runs/20261120T090000Z-ffffffff.json", report: first),
      SavedReport(file: "runs/20261121T100000Z-00000000.json", report: report([], data: "letters")),
    ]
  }

  @Test func ranking() throws {
    let ranked = RankedReports(saved)
    #expect(ranked.groups.map(\.count) == [2, 1])
    let entries = ranked.groups[0].entries
    #expect(entries.map(\.run.name) == ["y", "x", "x", "Bayes", "base"])
    #expect(entries.map(\.rank) == [1, 2, 3, 4, 5])
    #expect(entries.map(\.report) == [1, 0, 1, 0, 0])
    // The second x is worse by a test though the intervals overlap; the first was never compared with y.
    #expect(entries.map(\.mayBeNoise) == [false, true, false, true, false])
    #expect(entries.map { $0.toBest?.difference } == [nil, nil, 0.06, nil, nil])
  }

  @Test func metrics() throws {
    let byLoss = RankedReports(saved, by: .logLoss).groups[0].entries
    #expect(byLoss.map(\.run.logLoss) == [0.45, 0.5, 0.7, 0.9, nil])
    #expect(byLoss.map(\.mayBeNoise) == [false, nil, nil, nil, nil])
    let byF1 = RankedReports(saved, by: .macroF1).groups[0].entries
    #expect(byF1.map(\.run.metrics.macroF1) == byF1.map(\.run.metrics.macroF1).sorted(by: >))
    #expect(byF1[1].mayBeNoise == nil, "neither interval is known")
  }

  @Test func history() throws {
    let histories = RankedReports(saved).groups[0].histories
    #expect(histories.map(\.name) == ["base", "x"])
    #expect(histories[1].points.map(\.report) == [1, 0])
    #expect(histories[1].points.map(\.value) == [0.72, 0.75])
    #expect(histories[1].points[0].change == nil)
    #expect(abs((histories[1].points[1].change ?? 0) - 0.03) < 1e-12)
    #expect(RankedReports(saved).groups[1].histories.isEmpty)
    let undated = saved.map { SavedReport(file: "x" + $0.file.suffix(20), report: $0.report) }
    #expect(RankedReports(undated).groups[0].histories.isEmpty)
  }

  @Test func lines() throws {
    let lines = RankedReports(saved).lines()
    let expected = """
      notes, test split: 100 texts, 2 labels, 2 reports

      rank  run      accuracy       95 %  macro F1  log loss  file
      1     y          78.0 %  73.0-83.0     0.780     0.900  runs/20261120T090000Z-ffffffff.json
      2 ~   x          75.0 %  70.0-80.0     0.750     0.450  runs/20261121T090000Z-0a1b2c3d.json
      3     x          72.0 %  67.0-77.0     0.720     0.500  runs/20261120T090000Z-ffffffff.json
      4 ~   · Bayes    70.0 %  65.0-75.0     0.700            runs/20261121T090000Z-0a1b2c3d.json
      5     base       50.0 %  45.0-55.0     0.500     0.700  runs/20261121T090000Z-0a1b2c3d.json
      ~ the order of this run and the best may be noise

      Differences to 'y' in accuracy, in points:
        x  -6.0  95 % interval -10.0 to -2.0  p = 0.010

      Over time, accuracy, and the change in points:
        base  2026-11-20 09:00:00 UTC  50.0 %
              2026-11-21 09:00:00 UTC  50.0 %   0.0
        x     2026-11-20 09:00:00 UTC  72.0 %
              2026-11-21 09:00:00 UTC  75.0 %  +3.0
      """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(Array(lines.prefix(expected.count)) == expected, "\(lines.joined(separator: "\n"))")
    #expect(lines.contains("letters, test split: 100 texts, 2 labels, 1 report"))
    for width in [60, 80, 100] {
      let narrow = RankedReports(saved).lines(width: width)
      #expect(narrow.allSatisfy { $0.count <= width }, "\(narrow.joined(separator: "\n"))")
      #expect(narrow.contains { $0.contains("accuracy       95 %") && $0.hasSuffix("file") == (width == 100) })
      #expect(narrow.contains("  x  -6.0  95 % interval -10.0 to -2.0  p = 0.010"))
    }
    var evil = saved
    evil[0].report.data = "\u{1B}[2Jx\ny"
    evil[0].report.runs[1].name = "\u{1B}]0;title\u{7}" + String(repeating: "long/", count: 40)
    for line in RankedReports(evil).lines() {
      #expect(!line.unicodeScalars.contains { $0.value < 0x20 })
      #expect(line.count < 140, "\(line)")
    }
    for line in RankedReports(evil).lines(width: 60) { #expect(line.count <= 60, "\(line)") }
    #expect(RankedReports([]).lines().isEmpty)
  }

  @Test func json() throws {
    let json = RankedReports(saved).json(unreadable: [(file: "z.json", reason: "why")])
    #expect(json.object?.keys == ["schema", "metric", "groups", "unreadable"])
    #expect(json["schema"] == 1)
    #expect(json["unreadable"] == [["file": "z.json", "error": "why"]])
    let group = try #require(json["groups"]?.array?.first)
    #expect(group.object?.keys == ["data", "data_digest", "split", "examples", "labels", "reports", "runs", "history"])
    let third = try #require(group["runs"]?.array?[2])
    #expect(
      third.object?.keys == [
        "rank", "name", "kind", "file", "accuracy", "accuracy_ci95", "macro_f1", "log_loss", "may_be_noise", "to_best",
      ])
    #expect(third["to_best"]?["difference"]?.double == -0.06)
    #expect(third["may_be_noise"] == false)
    let point = try #require(group["history"]?.array?[1]["points"]?.array?[1])
    #expect(point["date"] == "2026-11-21T09:00:00Z")
    #expect(point.object?.keys == ["file", "date", "value", "change"])
  }

  @Test func dates() {
    #expect(ReportDate(fileName: "20261121T174503Z-0a1b2c3d.json")?.description == "2026-11-21 17:45:03 UTC")
    // Around leap days, and at the ends of an era and of a day.
    for (seconds, date) in [
      (0, "1970-01-01 00:00:00"), (951_782_399, "2000-02-28 23:59:59"), (951_868_799.9, "2000-02-29 23:59:59"),
      (1_709_164_800, "2024-02-29 00:00:00"), (1_795_283_103, "2026-11-21 17:45:03"), (4_107_542_400, "2100-03-01 00:00:00"),
    ] {
      let name = ReportDate.fileName(seconds: seconds, digest: "0123456789abcdef")
      #expect(name.hasSuffix("Z-01234567.json"))
      #expect(ReportDate(fileName: name)?.description == date + " UTC")
    }
    for name in [
      "", "20261121T174503Z.json", "20261121T174503Z-0a1b2c3d.JSON", "20261321T174503Z-0a1b2c3d.json", "20261121T254503Z-0a1b2c3d.json",
      "20261121t174503Z-0a1b2c3d.json", "20261121T174503Z-0a1b2c3G.json", "x20261121T174503Z-0a1b2c3d.json",
      "2026112éT174503Z-0a1b2c3.json",
    ] { #expect(ReportDate(fileName: "runs/" + name) == nil, "\(name)") }
  }
}
