internal import DibitStatistics

extension HTMLReport {
  /// F1 of each label of the subject, the hardest first.
  var labels: String {
    guard let subject = report.subject else { return "" }
    return "<p class=\"lead\">\(of(subject)) The hardest labels come first.</p>\n" + labelTable(subject)
  }

  /// A sentence that says whose numbers follow.
  func of(_ run: ReportedRun) -> String { "Of <b><bdi>\(shortened(run.name).html)</bdi></b>." }

  /// Every label of a run; beyond thirty, those behind the first fifteen are folded away.
  func labelTable(_ run: ReportedRun) -> String {
    let metrics = run.metrics
    let order = report.labelIndices.sorted {
      let (a, b) = (metrics.perLabel[$0].f1, metrics.perLabel[$1].f1)
      return a < b || a == b && $0 < $1
    }
    guard order.count > 30 else { return labelTable(run, order) }
    let rest = labelTable(run, Array(order.dropFirst(15)))
    return labelTable(run, Array(order.prefix(15)))
      + "<details><summary>The other \(order.count - 15) labels</summary><div>\(rest)</div></details>\n"
  }

  private func labelTable(_ run: ReportedRun, _ order: [Int]) -> String {
    var text = "<div class=\"scroll\" \(region("Scores of labels"))><table><thead><tr><th scope=\"col\">Label</th>"
    text += "<td class=\"wide\"></td>" + column("F1") + column("Precision") + column("Recall") + column("Texts")
    text += column("most often taken for") + "</tr></thead><tbody>"
    for label in order {
      let scores = run.metrics.perLabel[label]
      text += rowHead(report.labels[label])
      text += "<td class=\"wide\"><div class=\"fill\" aria-hidden=\"true\"><i style=\"width:\(css(scores.f1))\"></i></div></td>"
      text +=
        "<td>\(fixed(scores.f1, 2))<span class=\"kind\">\(interval(run, label))</span></td><td>\(fixed(scores.precision, 2))</td><td>\(fixed(scores.recall, 2))</td><td>\(scores.support)</td><td>"
      text += run.metrics.takenFor(label).map { "<bdi>\(middle(report.labels[$0.label], 34).html)</bdi> <small>\($0.count)</small>" } ?? "–"
      text += "</td></tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  private func interval(_ run: ReportedRun, _ label: Int) -> String {
    guard label < run.f1Intervals.count else { return "" }
    return "\(fixed(run.f1Intervals[label].lower, 2)) – \(fixed(run.f1Intervals[label].upper, 2))"
  }

  // MARK: Confusion

  /// The subject's confusion matrix and its largest cells.
  var confusion: String {
    guard let subject = report.subject, !report.labels.isEmpty else { return "" }
    var text =
      "<p class=\"lead\">\(of(subject)) A row holds the texts of one label, a column those given it. Blue is right, orange is wrong; the"
    text += " stronger the colour, the larger the share of the row.</p>\n"
    return text + matrix(subject) + largest(subject)
  }

  /// A table with numbers up to 30 labels, a map of coloured cells beyond.
  func matrix(_ run: ReportedRun) -> String { report.labels.count <= 30 ? table(run) : map(run) }

  /// The step of colour for a cell: the root makes rare mistakes visible.
  private func shade(_ row: [Int], _ column: Int, _ isHit: Bool) -> String? {
    let total = row.reduce(0, +)
    guard row[column] > 0, total > 0 else { return nil }
    let level = (Double(row[column]) / Double(total)).squareRoot() * 10
    return (isHit ? "d" : "e") + "\(max(1, min(10, Int(level.rounded(.up)))))"
  }

  private func table(_ run: ReportedRun) -> String {
    var text =
      "<div class=\"scroll\" \(region("Confusion matrix"))><table class=\"matrix\"><thead><tr><th scope=\"col\">true ↓ given →</th>"
    for label in report.labels {
      text += "<th scope=\"col\"><span title=\"\(label.html)\"><bdi>\(middle(label, 24).html)</bdi></span></th>"
    }
    text += "</tr></thead><tbody>"
    for (truth, row) in run.metrics.confusion.enumerated() {
      text += rowHead(report.labels[truth], limit: 28)
      for (given, count) in row.enumerated() {
        text += shade(row, given, truth == given).map { "<td class=\"\($0)\">\(count)</td>" } ?? "<td>·</td>"
      }
      text += "</tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  private func map(_ run: ReportedRun) -> String {
    let n = report.labels.count
    let (cell, left, top) = (11, 150, 120)
    let (width, height) = (left + n * cell + 4, top + n * cell + 4)
    var text =
      "<div class=\"scroll\" \(region("Confusion matrix"))><svg class=\"map\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\""
    text += " role=\"img\" aria-label=\"Confusion matrix of \(n) labels; the largest mistakes are listed below.\">"
    for (index, label) in report.labels.enumerated() {
      let name = middle(label, 26).html
      let position = index * cell + cell - 2
      text += "<text x=\"\(left - 6)\" y=\"\(top + position)\" text-anchor=\"end\">\(name)</text>"
      text += "<text transform=\"translate(\(left + position) \(top - 6)) rotate(-90)\">\(middle(label, 21).html)</text>"
      text += "<path class=\"grid\" d=\"M\(left) \(top + (index + 1) * cell)h\(n * cell)\"/>"
    }
    text += "\n"
    for (truth, row) in run.metrics.confusion.enumerated() {
      for (given, count) in row.enumerated() {
        guard let shade = shade(row, given, truth == given) else { continue }
        text +=
          "<rect class=\"\(shade)\" x=\"\(left + given * cell)\" y=\"\(top + truth * cell)\" width=\"\(cell - 1)\" height=\"\(cell - 1)\"><title>"
        text += "\(report.labels[truth].html) → \(report.labels[given].html): \(count)</title></rect>"
      }
    }
    return text + "</svg></div>\n"
  }

  /// The mistakes that happen most often, as a table.
  private func largest(_ run: ReportedRun) -> String {
    var cells: [(truth: Int, given: Int, count: Int)] = []
    for (truth, row) in run.metrics.confusion.enumerated() {
      for (given, count) in row.enumerated() where given != truth && count > 0 { cells.append((truth, given, count)) }
    }
    guard !cells.isEmpty else { return "<p>Nothing was mistaken.</p>\n" }
    cells.sort { $0.count > $1.count || $0.count == $1.count && ($0.truth, $0.given) < ($1.truth, $1.given) }
    var text =
      "<h3 style=\"margin-top:28px\">Most frequent mistakes</h3><div class=\"scroll\" \(region("Most frequent mistakes"))><table style=\"max-width:680px\"><thead><tr><th scope=\"col\">True label</th>"
    text += "<th scope=\"col\" class=\"left\">given</th>" + column("Texts") + column("of the label") + "</tr></thead><tbody>"
    for cell in cells.prefix(8) {
      let support = max(1, run.metrics.perLabel[cell.truth].support)
      text += rowHead(report.labels[cell.truth]) + "<td class=\"left\"><bdi>\(middle(report.labels[cell.given], 34).html)</bdi></td>"
      text += "<td>\(cell.count)</td><td>\(percent(Double(cell.count) / Double(support), 0))</td></tr>\n"
    }
    return text + "</tbody></table></div>\n"
  }

  // MARK: Other runs

  /// Labels, confusion and calibration of the runs that the page is not about.
  var others: String {
    let others = report.everything.filter { $0.name != report.subject?.name }
    return others.enumerated().map { index, run in
      var text =
        "<details><summary><bdi>\(shortened(run.name).html)</bdi> <small>\(percent(run.metrics.accuracy)) right</small></summary><div>"
      text += "<div>\(matrix(run))</div><div>\(labelTable(run))</div>"
      let charts = calibrationCharts(run, "o\(index)")
      if !charts.isEmpty { text += "<div>\(charts)</div>" }
      return text + "</div></details>\n"
    }.joined()
  }
}
