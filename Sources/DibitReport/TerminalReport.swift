internal import DibitStatistics

/// A report on one screen of a terminal: the verdict, the runs, and every label if there are no more than 24.
package struct TerminalReport: Sendable {
  private let report: EvaluationReport
  private let width: Int
  private let height: Int

  /// A summary of at most `width` cells and `height - 1` lines: the last line of the screen is the prompt's.
  package init(_ report: EvaluationReport, width: Int = 80, height: Int = 24) {
    (self.report, self.width, self.height) = (report, max(width, 40), max(height, 12))
  }

  /// The lines, without line breaks and without control characters, whatever names and labels hold.
  package var lines: [String] {
    let verdict = TerminalText.wrap(report.verdict, width, limit: max(4, min((320 + width - 1) / width, height - 12)))
    let facts = TerminalText.wrap(facts, width, limit: 2)
    let lineLimit = height - 1 - verdict.count - facts.count
    // Labels take what the runs leave, but as much as 24 labels need; then runs make do with fewer lines.
    let runs = report.everything.count + 1
    let columns = width < 72 ? 1 : (report.labels.count + 1) / 2 + 1 <= lineLimit - runs ? 2 : width / 26
    let wanted = (report.labels.count + columns - 1) / columns + 1
    let labels = labelLines(columns: columns, lineLimit: max(0, min(wanted, max(lineLimit - runs, min(9, lineLimit - 3)))))
    return verdict + facts + runLines(lineLimit: lineLimit - labels.count) + labels
  }

  private var facts: String {
    var parts = ["\(report.examples) \(plural(report.examples, "text")) of the \(report.split) split, \(report.labelFact)"]
    // Of texts with several labels the true one is that which a run finds likeliest: no share of it says anything.
    if !hasSets { parts.append("most frequent label \(percent(report.majority))") }
    if report.truncated > 0 { parts.append("\(report.truncated) cut to fit") }
    if let leakage = report.leakage, leakage.exact + leakage.near > 0, !leakage.leftOut {
      parts.append("\(leakage.exact + leakage.near) also in the training data")
    }
    let warnings = report.notes.count { $0.kind != .truncated }
    if warnings > 0 { parts.append("\(warnings) \(plural(warnings, "note")) in the full report") }
    return parts.joined(separator: "; ")
  }

  // MARK: Runs

  /// The columns of the table. Where answers are sets, F1 over all decisions about them is what counts besides accuracy.
  private var columns: [(title: String, width: Int)] {
    let last = hasSets ? ("sets' F1", 9) : ("ECE", 7)
    return [("accuracy", 9), ("95 %", 13), ("macro F1", 9), ("log loss", 9), last, ("texts/s", 8)]
  }

  private var hasSets: Bool { report.everything.contains { $0.tags != nil } }

  private func runLines(lineLimit: Int) -> [String] {
    // The widest columns that fit; the name takes what is left.
    var columns = columns
    while width - columns.reduce(0, { $0 + $1.width }) < 20, columns.count > 1 { columns.removeLast() }
    let name = min(40, width - columns.reduce(0) { $0 + $1.width })
    func line(_ first: String, _ cells: [String]) -> String {
      let rest = zip(cells, columns).map { TerminalText.fit($0, $1.width, alignRight: true) }
      return TerminalText.fit(first, name) + rest.joined()
    }
    let ordered = report.runs + report.baselines.sorted { $0.metrics.accuracy > $1.metrics.accuracy }
    let shown = ordered.count <= lineLimit - 1 ? ordered.count : max(1, lineLimit - 2)
    var lines = [line("run", columns.map(\.title))]
    for run in ordered.prefix(shown) {
      lines.append(
        line(
          (run.kind == .baseline ? "· " : "") + shortened(run.name),
          [
            percent(run.metrics.accuracy),
            run.accuracyInterval.map { "\(fixed(100 * $0.lower, 1))-\(fixed(100 * $0.upper, 1))" } ?? "",
            fixed(run.metrics.macroF1, 3), run.logLoss.map { fixed($0, 3) } ?? "",
            (hasSets ? run.tags?.micro.f1 : run.calibrationError).map { fixed($0, 3) } ?? "",
            run.seconds > 0 ? rate(Double(report.examples) / run.seconds) : "",
          ]))
    }
    if shown < ordered.count { lines.append(TerminalText.fit("… and \(ordered.count - shown) more", width)) }
    return lines.map { $0.trimmingEnd() }
  }

  // MARK: Labels

  private func labelLines(columns: Int, lineLimit: Int) -> [String] {
    guard lineLimit > 1, let subject = report.subject else { return [] }
    let metrics = subject.metrics
    // The hardest labels first: they are what a reader can act on, and what is shown if not all fit.
    let order = report.labelIndices.filter { metrics.perLabel[$0].support + metrics.predicted[$0] > 0 }.sorted {
      let (a, b) = (metrics.perLabel[$0].f1, metrics.perLabel[$1].f1)
      return a < b || a == b && $0 < $1
    }
    let rows = min(lineLimit - 1, (order.count + columns - 1) / columns)
    let shown = Array(order.prefix(rows * columns))
    let cell = (width - 2 * (columns - 1)) / columns
    // Where names are short there is room for what a label is taken for.
    let longest = report.labels.reduce(0) { max($0, TerminalText.width(TerminalText.clean($1))) }
    let taken = columns < 3 && longest <= cell - 9 - 14 ? 14 : 0
    let name = cell - 9 - taken
    func join(_ cells: [String]) -> String { cells.joined(separator: "  ").trimmingEnd() }
    func line(_ label: String, _ f1: String, _ support: String, _ other: String) -> String {
      TerminalText.fitMiddle(label, name) + TerminalText.fit(f1, 5, alignRight: true) + TerminalText.fit(support, 4, alignRight: true)
        + (taken > 0 ? "  " + TerminalText.fitMiddle(other, taken - 2) : "")
    }
    let title = shown.count < order.count ? "hardest \(shown.count) of \(order.count)" : "label"
    let header = line(title, "F1", "n", "taken for")
    let used = (shown.count + rows - 1) / max(rows, 1)
    var lines = [join([header] + [String](repeating: line("label", "F1", "n", "taken for"), count: max(0, used - 1)))]
    for row in 0..<rows {
      let cells = stride(from: row, to: shown.count, by: rows).map { index in
        let label = shown[index]
        return line(
          report.labels[label], fixed(metrics.perLabel[label].f1, 2), "\(metrics.perLabel[label].support)",
          metrics.takenFor(label).map { report.labels[$0.label] } ?? "")
      }
      lines.append(join(cells))
    }
    return lines
  }
}

extension String {
  fileprivate func trimmingEnd() -> String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}

extension ClassificationMetrics {
  /// The label that examples of `label` are most often mistaken for, and how many are; nil when none is.
  func takenFor(_ label: Int) -> (label: Int, count: Int)? {
    var best: (label: Int, count: Int)?
    for (other, count) in confusion[label].enumerated() where other != label && count > best?.count ?? 0 { best = (other, count) }
    return best
  }
}
