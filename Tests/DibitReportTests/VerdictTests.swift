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
      a: a, b: b, metric: .accuracy, difference: difference,
      interval: ConfidenceInterval(lower: difference - 0.05, upper: difference + 0.05), pValue: p,
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

  @Test("texts that could not even show a run that is always right are too few, and it is said how many would do")
  func tooFew() {
    // Of six texts a rival has four right: two more is all that can be won.
    func report(of count: Int, adapter: Int, bayes: Int, kind: ReportedRun.Kind = .adapter) -> EvaluationReport {
      func outcomes(_ name: String, _ kind: ReportedRun.Kind, _ hits: Range<Int>) -> RunOutcomes {
        RunOutcomes(
          name: name, kind: kind, logProbabilities: (0..<count).map { hits.contains($0) == ($0 % 2 == 0) ? [-0.1, -3] : [-3, -0.1] },
          seconds: 0)
      }
      let builder = ReportBuilder(labels: 2, truths: (0..<count).map { [$0 % 2] }, bootstrap: Bootstrap(resamples: 100))
      return builder.report(
        names: ["a", "b"], split: "validation", runs: [outcomes("x", kind, 0..<adapter)],
        baselines: [outcomes("Bayes", .baseline, count - bayes..<count)])
    }
    let few = report(of: 6, adapter: 0, bayes: 4)
    #expect(few.standing == .tooFew && few.standing.rawValue == "too_few")
    #expect(
      few.verdict
        == "6 texts are too few to tell whether adapter 'x' beats the best baseline, 'Bayes': 0.0 % right against 66.7 % (-66.7 points, "
        + "95 % interval -97.0 to +16.7, p = 0.13). About 27 texts would show one that is always right; 'dibit crossvalidate' asks about "
        + "all texts.")
    let ahead = report(of: 12, adapter: 8, bayes: 6, kind: .base)
    #expect(
      ahead.verdict.hasPrefix("12 texts are too few to tell whether the base model beats the best baseline, 'Bayes': 66.7 % right"))
    #expect(ahead.verdict.contains("About 17 texts would show one that is always right, about "), "\(ahead.verdict)")
    #expect(ahead.verdict.hasSuffix(" a difference like this one."))
    // As many as it takes, and a rival that has all of a few right.
    #expect(report(of: 27, adapter: 14, bayes: 18).standing == .unproven)
    #expect(report(of: 26, adapter: 14, bayes: 18).standing == .tooFew)
    let perfect = report(of: 6, adapter: 5, bayes: 6)
    #expect(perfect.standing == .tooFew)
    #expect(perfect.verdict.contains("83.3 % right against 100.0 %") && perfect.verdict.contains("). About "), "\(perfect.verdict)")
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
    let reversed = try #require(report.comparison("x", "majority"))
    #expect(
      reversed.a == "x" && reversed.difference == 0.3 && reversed.interval.lower == 0.25 && reversed.isBetter)
    #expect(reversed.swapped == report.comparisons[1])
    #expect(report.comparison("x", "nobody") == nil)
    #expect(report.comparison("x", "base", metric: .macroF1) == nil)
  }
}
