internal import DibitStatistics

/// A report as a page for a browser. Every text of the report is escaped.
package struct HTMLReport: Sendable {
  let report: EvaluationReport

  /// A page that shows `report`.
  package init(_ report: EvaluationReport) { self.report = report }

  /// The page; equal reports give equal bytes.
  package var html: String {
    let sections: [(id: String, title: String, body: String)] = [
      ("scores", "Scores", scores), ("comparisons", "Comparisons", comparisons), ("data", "The data", hygiene),
      ("labels", "Labels", labels),
      ("confusion", "Confusion", confusion), ("calibration", "Calibration", calibration), ("abstention", "Answering less", abstention),
      ("speed", "Speed", speed), ("mistakes", "Mistakes", mistakes), ("others", "Other runs", others), ("training", "Training", training),
      ("again", "Once more", provenance), ("reading", "How to read this page", HTMLReport.reading),
    ].filter { !$0.body.isEmpty }
    let header =
      "<h1>\(headline.html)</h1>\n<p class=\"verdict\">\(report.verdict.html.signed.replacing("p = ", with: "p&nbsp;= "))</p>\n"
      + caution + facts
    return HTMLPage(command: Self.command, title: title, style: report.standing.rawValue, header: header, sections: sections).html
  }

  private static let command = "evaluate"
  /// The mark that tells these pages from others.
  package static let generator = HTMLPage.generator(command)

  private var title: String {
    ["Evaluation", report.model.map { "of " + $0 }, report.data.map { "on " + $0 }].compactMap(\.self).joined(separator: " ")
  }

  private var headline: String {
    let name = report.subject?.name ?? ""
    let rivals = (report.runs.filter { $0.kind == .base && $0.name != name } + report.baselines)
    func simplest(_ isMeant: (RunComparison?) -> Bool) -> String {
      rivals.contains { $0.kind == .baseline && isMeant(report.comparison(name, $0.name)) } ? "a simple baseline" : "the base model"
    }
    switch report.standing {
    case .better:
      let hasBase = rivals.contains { $0.kind == .base }
      return "Better than "
        + (report.baselines.isEmpty ? "the base model" : hasBase ? "the base model and every baseline" : "every baseline")
    case .unproven: return "Not shown to beat " + simplest { $0?.isBetter != true }
    case .tooFew: return "Too few texts to tell"
    case .worse: return "Worse than " + simplest { $0?.isWorse == true }
    case .identical: return "The same as the base model"
    case .alone: return "Nothing to compare with"
    }
  }

  /// The notes that take the ground from under the verdict: they belong beside it.
  private var caution: String {
    var cautions: [String] = []
    if report.split == "train" { cautions.append("these are the texts of the training split") }
    if let leakage = report.leakage, !leakage.leftOut, leakage.exact + leakage.near > 0 {
      cautions.append("\(leakage.exact + leakage.near) of the \(report.examples) texts are, or nearly are, in the training data")
    }
    return cautions.isEmpty ? "" : "<p class=\"note\">With care: \(cautions.joined(separator: "; ")).</p>\n"
  }

  private var facts: String {
    var facts = [("Texts", "\(report.examples)"), ("Split", report.split), ("Labels", "\(report.labelIndices.count)")]
    if report.isOpen { facts.append(("Answers", "open")) }
    facts.append(("Most frequent label", percent(report.majority)))
    if let seed = report.seed { facts.append(("Seed", "\(seed)")) }
    return "<dl class=\"facts\">" + facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1.html)</dd></div>" }.joined() + "</dl>"
  }

  // MARK: Scores

  private var scores: String {
    let level = fixed(100 * (report.subject?.accuracyInterval?.level ?? 0.95), 0)
    var text =
      "<p class=\"lead\">The dot is the share of right answers, the bar around it the \(level) % interval: where the true share is."
    text += " The thin line is what always answering the most frequent label scores.</p>\n<div class=\"scroll\" \(region("Scores"))><table>"
    text +=
      "<thead><tr><th scope=\"col\">Run</th><th scope=\"col\" class=\"wide\"><span class=\"ends\"><span>0</span><span>accuracy</span><span>100 %</span></span></th>"
    text += column("Accuracy") + column("Macro F1") + column("Log loss", less: true) + column("ECE", less: true) + "</tr></thead><tbody>"
    for run in report.runs + report.baselines.sorted(by: { $0.metrics.accuracy > $1.metrics.accuracy }) {
      let accuracy = run.metrics.accuracy
      let name = run.name == report.subject?.name ? " class=\"subject\"" : ""
      text +=
        "<tr\(name)><th scope=\"row\"><bdi>\(shortened(run.name).html)</bdi><span class=\"kind\">\(Self.kinds[run.kind] ?? "")</span></th>"
      text +=
        "<td class=\"wide\">\(track(run))</td><td>\(percent(accuracy))<span class=\"kind\">\(range(run.accuracyInterval, percent: true))</span></td>"
      text += "<td>\(fixed(run.metrics.macroF1, 3))<span class=\"kind\">\(range(run.macroF1Interval, percent: false))</span></td>"
      for (value, metric) in [(run.logLoss, ReportedRun.Metric.logLoss), (run.calibrationError, .calibrationError)] {
        let interval = value == nil ? nil : run.intervals[metric]
        text += "<td class=\"less\">\(value.map { fixed($0, 3) } ?? "–")<span class=\"kind\">\(range(interval, percent: false))</span></td>"
      }
      text += "</tr>\n"
    }
    return text + "</tbody></table></div>\n" + tags
  }

  private static let kinds: [ReportedRun.Kind: String] = [
    .base: "base model", .adapter: "adapter", .float: "model in floats", .model: "another model", .baseline: "baseline",
  ]

  private func track(_ run: ReportedRun) -> String {
    let accuracy = run.metrics.accuracy
    var text = "<div class=\"track\(run.kind == .baseline ? " cheap" : "")\" role=\"img\" aria-label=\"accuracy \(percent(accuracy))"
    if let interval = run.accuracyInterval { text += ", interval \(percent(interval.lower)) to \(percent(interval.upper))" }
    text += "\"><i class=\"mark\" style=\"left:\(css(report.majority))\"></i>"
    if let interval = run.accuracyInterval {
      text += "<i class=\"range\" style=\"left:\(css(interval.lower));width:\(css(interval.upper - interval.lower))\"></i>"
    }
    return text + "<i class=\"dot\" style=\"left:\(css(accuracy))\"></i></div>"
  }

  /// Scores of sets of labels, where examples have several.
  private var tags: String {
    let tagged = report.everything.filter { $0.tags != nil }
    guard !tagged.isEmpty else { return "" }
    var text =
      "<h3 style=\"margin-top:36px\">Sets of labels</h3><div class=\"scroll\" \(region("Scores of sets"))><table><thead><tr><th scope=\"col\">Run</th>"
    let ranks = tagged.compactMap(\.tags?.atK).max { $0.count < $1.count } ?? []
    text += ["Micro F1", "Macro F1", "F1 per text", "Jaccard per text", "Exact sets", "Wrong decisions"].map { column($0) }.joined()
    text += ranks.map { column("Precision, recall at \($0.k)", less: true) }.joined() + "</tr></thead><tbody>"
    for run in tagged {
      guard let tags = run.tags else { continue }
      text += rowHead(run.name)
      for value in [tags.micro.f1, tags.macro.f1, tags.samples.f1, tags.samples.jaccard] { text += "<td>\(fixed(value, 3))</td>" }
      text += "<td>\(percent(tags.subsetAccuracy))</td><td>\(percent(tags.hammingLoss))</td>"
      for rank in ranks {
        let own = tags.atK.first { $0.k == rank.k }
        text += "<td class=\"less\">\(own.map { fixed($0.precision, 3) + ", " + fixed($0.recall, 3) } ?? "–")</td>"
      }
      text += "</tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  // MARK: Pieces

  func column(_ name: String, less: Bool = false) -> String { "<th scope=\"col\"\(less ? " class=\"less\"" : "")>\(name.html)</th>" }
  func rowHead(_ name: String, limit: Int = 34) -> String {
    "<tr><th scope=\"row\" title=\"\(name.html)\"><bdi>\(middle(name, limit).html)</bdi></th>"
  }

  /// A part that scrolls by itself can be reached by the keyboard and has a name.
  func region(_ name: String) -> String { "role=\"region\" aria-label=\"\(name.html)\" tabindex=\"0\"" }

  private func range(_ interval: ConfidenceInterval?, percent: Bool) -> String {
    guard let interval else { return "" }
    return percent
      ? "\(fixed(100 * interval.lower, 1)) – \(fixed(100 * interval.upper, 1))"
      : "\(fixed(interval.lower, 3)) – \(fixed(interval.upper, 3))"
  }
}
