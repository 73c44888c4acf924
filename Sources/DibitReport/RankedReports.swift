internal import DibitStatistics

/// Saved reports beside each other: runs over the same texts from the best to the worst, and each run over time.
package struct RankedReports: Equatable, Sendable {
  /// A run in its group.
  package struct Entry: Equatable, Sendable {
    /// Its rank, from 1.
    package let rank: Int
    /// The run.
    package let run: ReportedRun
    /// Its report, by its index among ``RankedReports/reports``.
    package let report: Int
    /// True where the order of this run and the best may be noise: by the comparison of both if a report holds one, otherwise by whether
    /// their intervals overlap; nil where nothing tells.
    package let mayBeNoise: Bool?
    /// The best run less this one, where a report holds that comparison.
    package let toBest: RunComparison?
  }

  /// Runs over the same texts under the same labels.
  package struct Group: Equatable, Sendable {
    /// A report of these texts, by its index: it says what they are.
    package let first: Int
    /// The number of reports about these texts.
    package let count: Int
    /// From the best to the worst.
    package let entries: [Entry]
    /// Runs that several dated reports have, in the order of their first.
    package let histories: [RunHistory]
  }

  /// The reports that were ranked.
  package let reports: [SavedReport]
  /// The metric that runs are ranked by.
  package let metric: RunMetric
  /// One for each set of texts, in the order of their first reports.
  package let groups: [Group]

  /// Ranks the runs and baselines of all reports, with ``RunRanking``'s rule for what can be compared.
  package init(_ reports: [SavedReport], by metric: RunMetric = .accuracy) {
    self.reports = reports
    self.metric = metric
    groups = RunRanking(reports.map(\.report)).groups.compactMap { runs in
      guard let first = runs.map(\.report).min() else { return nil }
      let members = reports.indices.filter { reports[first].report.asksTheSame(as: reports[$0].report) }
      return Group(
        first: first, count: members.count, entries: Self.entries(runs, metric, members.map { reports[$0].report }),
        histories: RunHistory.histories(members.map { ($0, reports[$0]) }, metric))
    }
  }

  private static func entries(_ runs: [RunRanking.Entry], _ metric: RunMetric, _ reports: [EvaluationReport]) -> [Entry] {
    let order = runs.indices.sorted {
      let (a, b) = (metric.merit(of: runs[$0].run), metric.merit(of: runs[$1].run))
      return a > b || a == b && $0 < $1
    }
    guard let best = order.first.map({ runs[$0].run }) else { return [] }
    return order.enumerated().map { position, index in
      let entry = runs[index]
      let comparison = position == 0 ? nil : comparison(best, entry.run, metric, reports)
      return Entry(
        rank: position + 1, run: entry.run, report: entry.report,
        mayBeNoise: position == 0 ? false : comparison.map { !$0.isBetter } ?? overlap(best, entry.run, metric), toBest: comparison)
    }
  }

  /// The comparison of two runs in a report that holds both as they are here.
  private static func comparison(
    _ best: ReportedRun, _ run: ReportedRun, _ metric: RunMetric, _ reports: [EvaluationReport]
  ) -> RunComparison? {
    for report in reports where holds(report, best) && holds(report, run) {
      if let comparison = report.comparison(best.name, run.name, metric: metric) { return comparison }
    }
    return nil
  }

  private static func holds(_ report: EvaluationReport, _ run: ReportedRun) -> Bool {
    report.run(run.name).map { $0.kind == run.kind && $0.metrics == run.metrics } ?? false
  }

  private static func overlap(_ best: ReportedRun, _ run: ReportedRun, _ metric: RunMetric) -> Bool? {
    let interval: (ReportedRun) -> ConfidenceInterval?
    switch metric {
    case .accuracy: interval = \.accuracyInterval
    case .macroF1: interval = \.macroF1Interval
    case .logLoss: return nil
    }
    guard let upper = interval(run)?.upper, let lower = interval(best)?.lower else { return nil }
    return upper >= lower
  }
}

/// A run of the same name on the same texts in several reports.
package struct RunHistory: Equatable, Sendable {
  /// The run in one report.
  package struct Point: Equatable, Sendable {
    /// The report, by its index among ``RankedReports/reports``.
    package let report: Int
    /// The time at which it was made.
    package let date: ReportDate
    /// The metric; nil where it is unknown.
    package let value: Double?
    /// The metric less that of the report before.
    package let change: Double?
  }

  /// The run's name.
  package let name: String
  /// The kind of thing that made its answers.
  package let kind: ReportedRun.Kind
  /// In the order of time.
  package let points: [Point]

  /// The histories of runs, baselines left out, that at least two of the dated reports have.
  static func histories(_ reports: [(index: Int, saved: SavedReport)], _ metric: RunMetric) -> [RunHistory] {
    var dated: [(index: Int, date: ReportDate, report: EvaluationReport)] = []
    for (index, saved) in reports {
      if let date = saved.date { dated.append((index, date, saved.report)) }
    }
    dated.sort { $0.date < $1.date || $0.date == $1.date && $0.index < $1.index }
    var found: [(name: String, kind: ReportedRun.Kind, points: [Point])] = []
    for (index, date, report) in dated {
      for run in report.runs {
        let value = metric.value(of: run)
        guard let known = found.firstIndex(where: { $0.kind == run.kind && $0.name.utf8.elementsEqual(run.name.utf8) }) else {
          found.append((run.name, run.kind, [Point(report: index, date: date, value: value, change: nil)]))
          continue
        }
        var change: Double?
        if let value, let before = found[known].points.last?.value { change = value - before }
        found[known].points.append(Point(report: index, date: date, value: value, change: change))
      }
    }
    return found.filter { $0.points.count > 1 }.map { RunHistory(name: $0.name, kind: $0.kind, points: $0.points) }
  }
}
