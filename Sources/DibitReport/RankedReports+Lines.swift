internal import DibitStatistics

extension RankedReports {
  /// The tables for a terminal: without line breaks and without control characters, whatever names hold.
  public var lines: [String] {
    groups.enumerated().flatMap { number, group in (number > 0 ? [""] : []) + lines(of: group) }
  }

  private static let nameWidth = 40

  private func lines(of group: Group) -> [String] {
    let report = reports[group.first].report
    let data = report.data.map { TerminalText.clean($0) + ", " } ?? ""
    var lines = [
      "\(data)\(report.split) split: \(report.examples) \(plural(report.examples, "text")), "
        + "\(report.labels.count) \(plural(report.labels.count, "label")), \(group.count) \(plural(group.count, "report"))",
      "",
    ]
    let hasFiles = reports.count > 1
    var rows = [["rank", "run", "accuracy", "95 %", "macro F1", "log loss"] + (hasFiles ? ["file"] : [])]
    for entry in group.entries {
      let run = entry.run
      rows.append(
        [
          "\(entry.rank)\(entry.mayBeNoise == true ? " ~" : entry.mayBeNoise == nil ? " ?" : "")",
          (run.kind == .baseline ? "· " : "") + run.name, percent(run.metrics.accuracy),
          run.accuracyInterval.map { "\(fixed(100 * $0.low, 1))-\(fixed(100 * $0.high, 1))" } ?? "", fixed(run.metrics.macroF1, 3),
          run.logLoss.map { fixed($0, 3) } ?? "",
        ] + (hasFiles ? [reports[entry.report].file] : []))
    }
    lines += Self.table(rows, left: [0, 1, 6])
    if group.entries.contains(where: { $0.mayBeNoise == true }) {
      lines.append("~ the order of this run and the best may be noise")
    }
    if group.entries.contains(where: { $0.mayBeNoise == nil }) {
      lines.append("? nothing tells whether the order of this run and the best is more than noise")
    }
    return lines + differenceLines(group) + historyLines(group)
  }

  private func differenceLines(_ group: Group) -> [String] {
    let compared = group.entries.compactMap { entry in entry.toBest.map { (entry.run, $0.swapped) } }
    guard let best = group.entries.first?.run, !compared.isEmpty else { return [] }
    let rows = compared.map { run, comparison in
      let interval = comparison.interval
      return [
        "  " + run.name, change(comparison.difference), "95 % interval \(change(interval.low)) to \(change(interval.high))",
        pText(comparison.pValue),
      ]
    }
    let unit = metric == .accuracy ? ", in points" : ""
    return ["", "Differences to '\(TerminalText.clean(shortened(best.name)))' in \(metric.name)\(unit):"]
      + Self.table(rows, left: [0, 2, 3])
  }

  private func historyLines(_ group: Group) -> [String] {
    guard !group.histories.isEmpty else { return [] }
    var rows: [[String]] = []
    for history in group.histories {
      for (index, point) in history.points.enumerated() {
        rows.append([
          index == 0 ? "  " + history.name : "", point.date.description,
          point.value.map { metric == .accuracy ? percent($0) : fixed($0, 3) } ?? "-", point.change.map(change) ?? "",
        ])
      }
    }
    return ["", "Over time, \(metric.name)\(metric == .accuracy ? ", and the change in points" : ", and the change"):"]
      + Self.table(rows, left: [0, 1])
  }

  /// A difference of the metric, with its sign.
  private func change(_ difference: Double) -> String {
    guard metric != .accuracy else { return points(difference) }
    let text = fixed(difference, 3)
    return difference > 0 && text != "0.000" ? "+" + text : text
  }

  /// Columns with two spaces between them; those in `left` begin where the others end.
  private static func table(_ rows: [[String]], left: Set<Int>) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      let widest = rows.reduce(0) { max($0, $1.count > column ? TerminalText.width(TerminalText.clean($1[column])) : 0) }
      return column < 2 ? min(widest, nameWidth) : widest
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        left.contains(column) ? TerminalText.fitMiddle(cell, widths[column]) : TerminalText.fit(cell, widths[column], alignRight: true)
      }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
