internal import DibitStatistics

extension HTMLReport {
  /// Reliability and confidence of the subject.
  var calibration: String {
    guard let subject = report.subject else { return "" }
    let charts = calibrationCharts(subject, "c")
    guard !charts.isEmpty else { return "" }
    var text = "<p class=\"lead\">\(of(subject)) Does it know when it knows?"
    if let error = subject.calibrationError {
      text += " On average its confidence is \(fixed(100 * error, 1)) points away from the share of right answers"
      text += subject.maximumCalibrationError.map { ", at worst \(fixed(100 * $0, 1)) points." } ?? "."
    }
    return text + "</p>\n" + charts
  }

  func calibrationCharts(_ run: ReportedRun, _ id: String) -> String {
    let bins = run.calibration
    guard bins.contains(where: { $0.count > 0 }) else { return "" }
    let filled = bins.filter { $0.count > 0 }
    let said = filled.map { "\(percent($0.confidence, 0)) said, \(percent($0.accuracy, 0)) right, \($0.count) \(plural($0.count, "text"))" }
    var reliability = Chart(
      title: "Reliability diagram", detail: said.joined(separator: "; "), x: .share("confidence, %"), y: .share("right, %"))
    for (bin, note) in zip(filled, said) { reliability.bar(x: (bin.lower, bin.upper), y: (0, bin.accuracy), "a", note) }
    reliability.line([(0, 0), (1, 1)], "ideal")
    reliability.dots(filled.map { ($0.confidence, $0.accuracy) }, "s0", radius: 3.5)
    let most = Double(bins.map(\.count).max() ?? 1)
    var histogram = Chart(
      title: "Histogram of confidence", detail: said.joined(separator: "; "), x: .share("confidence, %"),
      y: .upTo(most, "texts", whole: true))
    for bin in filled {
      let hits = (bin.accuracy * Double(bin.count)).rounded()
      if hits > 0 { histogram.bar(x: (bin.lower, bin.upper), y: (0, hits), "hit", "\(Int(hits)) right") }
      if Double(bin.count) > hits {
        histogram.bar(x: (bin.lower, bin.upper), y: (hits, Double(bin.count)), "miss", "\(bin.count - Int(hits)) wrong")
      }
    }
    var text = "<div class=\"pair\"><figure><h3>Reliability</h3>" + reliability.svg(id + "r")
    text +=
      "<figcaption>Bars that end on the dashed line mean what they say. Below it the run is too sure, above it not sure enough. Dots are at the mean confidence of the bar.</figcaption></figure>\n"
    text += "<figure><h3>How sure it is</h3>" + histogram.svg(id + "h")
    text += "<ul class=\"key\"><li>\(swatch("hit"))right</li><li>\(swatch("miss"))wrong</li></ul></figure></div>\n"
    return text
  }

  /// Error by the share of texts that are answered: the subject, the base and the best baseline.
  var abstention: String {
    guard let subject = report.subject, !subject.abstention.isEmpty else { return "" }
    let base = report.runs.first { $0.kind == .base && $0.name != subject.name }
    let cheap = report.baselines.filter { !$0.abstention.isEmpty }.max { $0.metrics.accuracy < $1.metrics.accuracy }
    let lines = [(subject, "s0"), (base, "s1"), (cheap, "s2")].compactMap { run, style in run.map { ($0, style) } }.filter {
      !$0.0.abstention.isEmpty
    }
    let largest = lines.flatMap { $0.0.abstention.map(\.risk) }.max() ?? 1
    let detail = lines.map { run, _ in "\(run.name): " + Self.coverages(run).joined(separator: ", ") }.joined(separator: "; ")
    var chart = Chart(
      title: "Error by share answered", detail: detail, x: .share("answered, %"),
      y: .upTo(largest, "wrong among the answers, %", factor: 100))
    for (run, style) in lines.reversed() {
      chart.line(run.abstention.map { ($0.coverage, $0.risk) }, style)
      if run.abstention.count == 1 { chart.dots(run.abstention.map { ($0.coverage, $0.risk) }, style) }
    }
    var text =
      "<p class=\"lead\">What happens when the least sure answers are left to a person. The further left, the fewer texts are answered.</p>\n"
    text += "<div class=\"pair\"><figure>\(chart.svg("ab"))<ul class=\"key\">"
    text += lines.map { "<li>\(lineSwatch($0.1))<bdi>\(shortened($0.0.name).html)</bdi></li>" }.joined() + "</ul></figure>\n"
    text +=
      "<div class=\"scroll\" \(region("Error by share answered"))><table><caption>\(of(subject))</caption><thead><tr><th scope=\"col\">Answer when sure of</th>"
    text += column("Answered") + column("Wrong") + "</tr></thead><tbody>"
    for point in Self.table(subject) {
      text +=
        "<tr><th scope=\"row\">\(percent(point.threshold)) or more</th><td>\(percent(point.coverage, 0))</td><td>\(percent(point.risk))</td></tr>\n"
    }
    return text + "</tbody></table></div></div>\n"
  }

  /// The points nearest to answering 20, 40, … 100 percent.
  private static func table(_ run: ReportedRun) -> [RiskCoverage.Point] {
    var chosen: [RiskCoverage.Point] = []
    for share in [0.2, 0.4, 0.6, 0.8, 0.9, 1] {
      guard let point = run.abstention.min(by: { abs($0.coverage - share) < abs($1.coverage - share) }), chosen.last != point else {
        continue
      }
      chosen.append(point)
    }
    return chosen
  }

  private static func coverages(_ run: ReportedRun) -> [String] {
    table(run).map { "\(percent($0.coverage, 0)) answered, \(percent($0.risk)) wrong" }
  }

  /// Losses over the steps of training.
  var training: String {
    let series = report.losses.filter { !$0.points.isEmpty }.prefix(4)
    guard !series.isEmpty else { return "" }
    let all = series.flatMap(\.points)
    let steps = all.map(\.step).max() ?? 1
    let detail = series.map { line in
      "\(line.name): from \(fixed(line.points.first?.loss ?? 0, 3)) to \(fixed(line.points.last?.loss ?? 0, 3))"
    }.joined(separator: "; ")
    var chart = Chart(
      title: "Losses in training", detail: detail, x: .upTo(Double(steps), "step", whole: true),
      y: .upTo(all.map(\.loss).max() ?? 1, "nats per token"))
    // What comes first is drawn last and in the page's colour when it is the validation, which is what counts.
    let ordered = series.sorted { $0.name.hasPrefix("validation") && !$1.name.hasPrefix("validation") }
    for (index, line) in ordered.enumerated().reversed() {
      let style = ["s0", "s1", "s2", "s3"][ordered.count == 2 && index == 1 ? 2 : index]
      chart.line(line.points.map { (Double($0.step), $0.loss) }, style)
      if line.points.count <= 40 { chart.dots(line.points.map { (Double($0.step), $0.loss) }, style, radius: 2.4) }
    }
    var text = "<figure>\(chart.svg("tr"))<ul class=\"key\">"
    for (index, line) in ordered.enumerated() {
      text += "<li>\(lineSwatch(["s0", "s1", "s2", "s3"][ordered.count == 2 && index == 1 ? 2 : index]))<bdi>\(line.name.html)</bdi>"
      text += " <small>\(fixed(line.points.first?.loss ?? 0, 2)) → \(fixed(line.points.last?.loss ?? 0, 2))</small></li>"
    }
    return text + "</ul></figure>\n"
  }

  private func swatch(_ name: String) -> String {
    "<svg viewBox=\"0 0 24 10\" aria-hidden=\"true\"><rect class=\"\(name)\" width=\"24\" height=\"10\"/></svg>"
  }
  private func lineSwatch(_ name: String) -> String {
    "<svg viewBox=\"0 0 24 10\" aria-hidden=\"true\"><path class=\"\(name)\" d=\"M0 5H24\"/></svg>"
  }
}
