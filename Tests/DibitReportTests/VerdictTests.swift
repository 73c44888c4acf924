import DibitReport
import DibitStatistics
import Testing

@Suite struct VerdictTests {
  private func run(_ name: String, _ kind: ReportedRun.Kind, hits: Int, of count: Int = 100)
    -> ReportedRun
  {
    ReportedRun(
      name: name, kind: kind,
      metrics: ClassificationMetrics(
        labels: 2,
        pairs: (0..<count).map { (truth: $0 % 2, prediction: $0 < hits ? $0 % 2 : 1 - $0 % 2) }))
  }

  private func compared(_ a: String, _ b: String, _ difference: Double, p: Double) -> RunComparison {
    RunComparison(
      a: a, b: b, metric: RunComparison.accuracy, difference: difference,
      interval: ConfidenceInterval(low: difference - 0.05, high: difference + 0.05), pValue: p,
      rawPValue: p / 2)
  }

  private func report(adapter hits: Int, bayes: Int, pBase: Double, pBayes: Double)
    -> EvaluationReport
  {
    var report = EvaluationReport(
      labels: ["a", "b"], split: "test", examples: 100,
      runs: [run("base", .base, hits: 50), run("x", .adapter, hits: hits)],
      baselines: [run("majority", .baseline, hits: 50), run("Bayes", .baseline, hits: bayes)])
    let scale = 0.01
    report.comparisons = [
      compared("x", "base", scale * Double(hits - 50), p: pBase),
      compared("majority", "x", -scale * Double(hits - 50), p: pBase),
      compared("x", "Bayes", scale * Double(hits - bayes), p: pBayes),
    ]
    return report
  }

  @Test func better() {
    let report = report(adapter: 80, bayes: 70, pBase: 0.00001, pBayes: 0.031)
    #expect(report.standing == .better)
    #expect(
      report.verdict
        == "Adapter 'x' is better than the base model (+30.0 points, 95 % interval +25.0 to +35.0, p < 0.0001) and than all 2 baselines, "
        + "the best being 'Bayes' (+10.0 points, 95 % interval +5.0 to +15.0, p = 0.031): 80.0 % of 100 texts right."
    )
  }

  @Test func notBeyondNoise() {
    let report = report(adapter: 72, bayes: 70, pBase: 0.0005, pBayes: 0.4)
    #expect(report.standing == .unproven)
    #expect(
      report.verdict
        == "Adapter 'x' does not beat the best baseline, 'Bayes', beyond noise: 72.0 % of 100 texts right against 70.0 % "
        + "(+2.0 points, 95 % interval -3.0 to +7.0, p = 0.40).")
  }

  @Test func baselinesBeatenButNotTheBase() {
    let report = report(adapter: 60, bayes: 40, pBase: 0.2, pBayes: 0.01)
    #expect(report.standing == .unproven)
    // The majority baseline is compared with the same p-value as the base: it costs nothing, so it is named.
    #expect(
      report.verdict.hasPrefix(
        "Adapter 'x' does not beat the best baseline, 'majority', beyond noise: 60.0 % of 100 texts right against 50.0 %"
      ))
  }

  @Test func worse() {
    let report = report(adapter: 60, bayes: 80, pBase: 0.01, pBayes: 0.003)
    #expect(report.standing == .worse)
    #expect(
      report.verdict
        == "Adapter 'x' is worse than 'Bayes': 60.0 % of 100 texts right against 80.0 % (-20.0 points, 95 % interval -25.0 to -15.0, p = 0.003)."
    )
  }

  @Test func nothingToCompareWith() {
    let alone = EvaluationReport(
      labels: ["a", "b"], split: "test", examples: 100, runs: [run("base", .base, hits: 62)])
    #expect(alone.standing == .alone)
    #expect(
      alone.verdict
        == "The base model has 62.0 % of 100 texts right; there is nothing to compare it with.")
    let untested = EvaluationReport(
      labels: ["a", "b"], split: "test", examples: 100,
      runs: [run("base", .base, hits: 62), run("x", .adapter, hits: 70)])
    #expect(untested.standing == .unproven)
    #expect(
      untested.verdict
        == "Adapter 'x' has 70.0 % of 100 texts right against 62.0 % of the base model; whether that is more than noise was not tested."
    )
    #expect(
      EvaluationReport(labels: [], split: "test", examples: 0, runs: []).verdict
        == "Nothing was evaluated.")
  }

  @Test func theBestAdapterCounts() {
    var report = report(adapter: 80, bayes: 70, pBase: 0.001, pBayes: 0.03)
    report.runs.append(run("y", .adapter, hits: 81))
    #expect(report.subject?.name == "y")
    #expect(report.standing == .unproven)
  }

  @Test func comparisonsCanBeTurnedRound() throws {
    let report = report(adapter: 80, bayes: 70, pBase: 0.001, pBayes: 0.03)
    let turned = try #require(report.comparison("x", "majority"))
    #expect(
      turned.a == "x" && turned.difference == 0.3 && turned.interval.low == 0.25 && turned.isBetter)
    #expect(turned.swapped == report.comparisons[1])
    #expect(report.comparison("x", "nobody") == nil)
    #expect(report.comparison("x", "base", metric: RunComparison.macroF1) == nil)
  }
}
