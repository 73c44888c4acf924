internal import DibitStatistics

extension RankedReports {
  /// The tables for a terminal: without line breaks and without control characters, whatever names hold. No line is wider than `width`, from
  /// 60 on: names are cut, then columns are left out.
  package func lines(width: Int? = nil) -> [String] {
    groups.enumerated().flatMap { number, group in (number > 0 ? [""] : []) + lines(of: group, width) }
  }

  private static let nameWidth = 40
  private static let shortestName = 12

  /// Prose, broken at spaces.
  private static func prose(_ text: String, _ width: Int?) -> [String] { width.map { TerminalText.wrap(text, $0, limit: 9) } ?? [text] }

  private func lines(of group: Group, _ width: Int?) -> [String] {
    let report = reports[group.first].report
    let data = report.data.map { TerminalText.clean($0) + ", " } ?? ""
    let what =
      "\(data)\(report.split) split: \(report.examples) \(plural(report.examples, "text")), "
      + "\(report.labelFact), \(group.count) \(plural(group.count, "report"))"
    var lines = Self.prose(what, width) + [""]
    let hasFiles = reports.count > 1
    var header = ["rank", "run", "accuracy", "95 %", "macro F1", "log loss"]
    if hasFiles { header.append("file") }
    var rows = [header]
    for entry in group.entries {
      let run = entry.run
      let mark = entry.mayBeNoise.map { $0 ? " ~" : "" } ?? " ?"
      let interval = run.accuracyInterval.map { "\(fixed(100 * $0.lower, 1))-\(fixed(100 * $0.upper, 1))" } ?? ""
      var row = ["\(entry.rank)\(mark)", run.kind == .baseline ? "· \(run.name)" : run.name, percent(run.metrics.accuracy)]
      row += [interval, fixed(run.metrics.macroF1, 3), run.logLoss.map { fixed($0, 3) } ?? ""]
      if hasFiles { row.append(reports[entry.report].file) }
      rows.append(row)
    }
    // What a terminal has no room for: the file, then what accuracy does not need.
    lines += Self.table(rows, left: [0, 1, 6], name: 1, dropping: [6, 5, 4], width)
    if group.entries.contains(where: { $0.mayBeNoise == true }) {
      lines += Self.prose("~ the order of this run and the best may be noise", width)
    }
    if group.entries.contains(where: { $0.mayBeNoise == nil }) {
      lines += Self.prose("? nothing tells whether the order of this run and the best is more than noise", width)
    }
    return lines + differenceLines(group, width) + historyLines(group, width)
  }

  private func differenceLines(_ group: Group, _ width: Int?) -> [String] {
    let compared = group.entries.compactMap { entry in entry.toBest.map { (entry.run, $0.swapped) } }
    guard let best = group.entries.first?.run, !compared.isEmpty else { return [] }
    let rows = compared.map { run, comparison in
      let interval = comparison.interval
      return [
        "  " + run.name, change(comparison.difference), "95 % interval \(change(interval.lower)) to \(change(interval.upper))",
        pText(comparison.pValue),
      ]
    }
    let unit = metric == .accuracy ? ", in points" : ""
    return [""] + Self.prose("Differences to '\(TerminalText.clean(shortened(best.name)))' in \(metric.name)\(unit):", width)
      + Self.table(rows, left: [0, 2, 3], name: 0, width)
  }

  private func historyLines(_ group: Group, _ width: Int?) -> [String] {
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
      + Self.table(rows, left: [0, 1], name: 0, width)
  }

  /// A difference of the metric, with its sign.
  private func change(_ difference: Double) -> String {
    guard metric != .accuracy else { return points(difference) }
    let text = fixed(difference, 3)
    return difference > 0 && text != "0.000" ? "+" + text : text
  }

  /// Columns with two spaces between them; those in `left` begin where the others end. Where they are wider than `width`, names in the column
  /// `name` are cut, and where that is not enough, columns of `dropping` are left out, the first one first.
  private static func table(_ rows: [[String]], left: Set<Int>, name: Int, dropping: [Int] = [], _ width: Int?) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    var widths = (0..<columns).map { column in
      let widest = rows.reduce(0) { max($0, $1.count > column ? TerminalText.width(TerminalText.clean($1[column])) : 0) }
      return column < 2 ? min(widest, nameWidth) : widest
    }
    var shown = Array(0..<columns)
    if let width, columns > name {
      func others() -> Int { shown.reduce(0) { $0 + ($1 == name ? 2 : widths[$1] + 2) } - 2 }
      for column in dropping where others() + min(widths[name], shortestName) > width { shown.removeAll { $0 == column } }
      widths[name] = min(widths[name], max(shortestName, width - others()))
    }
    return rows.map { row in
      let cells = shown.filter { $0 < row.count }.map { column in
        left.contains(column)
          ? TerminalText.fitMiddle(row[column], widths[column]) : TerminalText.fit(row[column], widths[column], alignRight: true)
      }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
