internal import DibitStatistics

extension HTMLReport {
  /// Pairs of runs over the same texts, a table for each metric.
  var comparisons: String {
    guard !report.comparisons.isEmpty else { return "" }
    var text =
      "<p class=\"lead\">Both runs saw the same texts. A difference counts when its corrected p-value is below 0.05, which is where its"
    text +=
      " interval, of the same test and corrected as much, leaves out 0. “Could show” is the smallest difference that so many texts would"
    text += " have shown with a chance of 80 %: smaller ones stay unseen.</p>\n"
    for (metric, name) in [(RunMetric.accuracy, "Accuracy, in percentage points"), (.macroF1, "Macro F1, times 100")] {
      let rows = report.comparisons.filter { $0.metric == metric }
      guard !rows.isEmpty else { continue }
      let isAccuracy = metric == .accuracy
      text += "<div class=\"scroll below\" \(region(name))><table><caption>\(name)</caption><thead><tr><th scope=\"col\">Run</th>"
      text += column("Difference") + column("95 % interval, corrected") + column("p, corrected") + column("p, alone", less: true)
      if isAccuracy { text += column("Cohen’s h", less: true) + column("Could show", less: true) }
      text += column("Finding") + "</tr></thead><tbody>" + rows.map { row($0, isAccuracy) }.joined() + "</tbody></table></div>\n"
    }
    return text
  }

  private func row(_ found: RunComparison, _ isAccuracy: Bool) -> String {
    var text = "<tr><th scope=\"row\"><bdi>\(middle(found.a, 34).html)</bdi>"
    text += "<span class=\"kind\">against <bdi>\(middle(found.b, 34).html)</bdi></span></th><td>\(points(found.difference).minus)</td>"
    text += "<td>\(points(found.interval.lower).minus) to \(points(found.interval.upper).minus)</td>"
    text += "<td>\(bare(found.pValue))</td><td class=\"less\">\(bare(found.rawPValue))</td>"
    if isAccuracy {
      text += "<td class=\"less\">\(found.effectSize.map { fixed($0, 2).minus } ?? "–")</td>"
      text += "<td class=\"less\">\(found.smallestDetectable.map { fixed(100 * $0, 1) } ?? "–")</td>"
    }
    let finding =
      found.isIdentical
      ? "<td>identical</td>"
      : found.isBetter ? "<td class=\"yes\">better</td>" : found.isWorse ? "<td class=\"no\">worse</td>" : "<td>not shown</td>"
    return text + finding + "</tr>\n"
  }

  private func bare(_ p: Double) -> String { pText(p).replacing("p = ", with: "").replacing("p < ", with: "< ").html }

  /// The notes that a reader should know about the data.
  var hygiene: String {
    var text = ""
    if let leakage = report.leakage {
      let found = leakage.exact + leakage.near
      let what =
        "\(leakage.exact) of the texts \(leakage.exact == 1 ? "is" : "are") in the training data too, \(leakage.near) more nearly so"
      text += "<p class=\"note\(found == 0 || leakage.leftOut ? " plain" : "")\">"
      text +=
        found == 0
        ? "No text is also in the training data."
        : "\(what); \(leakage.leftOut ? "they were left out." : "their scores say nothing about new texts.")"
      text += "</p>\n"
    }
    if report.split == "train" {
      text += "<p class=\"note\">These are the texts of the training split: the scores say little about others.</p>\n"
    }
    if report.truncated > 0, !report.notes.contains(where: { $0.kind == .truncated }) {
      text += "<p class=\"note plain\">\(report.truncated) \(plural(report.truncated, "text")) cut to fit the prompt.</p>\n"
    }
    for note in report.notes { text += "<p class=\"note\"><bdi>\(note.text.html)</bdi></p>\n" }
    return text
  }
}
