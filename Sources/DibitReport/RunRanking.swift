internal import DibitStatistics

/// Runs of several saved reports in one order.
///
/// Reports can be compared only if they scored the same texts under the same labels: the digest of the data (where known), the split, the
/// number of examples and the labels must agree. Runs of other reports are listed apart, by name.
package struct RunRanking: Equatable, Sendable {
  /// A run and where it is from.
  package struct Entry: Equatable, Sendable {
    /// The report, by its index in the list that was ranked.
    package let report: Int
    /// The run.
    package let run: ReportedRun
    /// The interval of the best run's accuracy overlaps this run's: the order of the two may be noise.
    package let overlapsBest: Bool
  }

  /// Runs over the same texts, from the highest accuracy to the lowest; equal ones in the order of the list.
  package let groups: [[Entry]]

  /// Ranks every run and baseline of `reports`, one group for each set of texts.
  ///
  /// The same run in two reports (same kind and name, same confusion matrix), as happens to the base model, is listed once.
  package init(_ reports: [EvaluationReport]) {
    var groups: [(first: EvaluationReport, entries: [(report: Int, run: ReportedRun)])] = []
    for (index, report) in reports.enumerated() {
      let group = groups.firstIndex { $0.first.asksTheSame(as: report) } ?? groups.count
      if group == groups.count { groups.append((report, [])) }
      for run in report.everything {
        let isKnown = groups[group].entries.contains { $0.run.kind == run.kind && $0.run.name == run.name && $0.run.metrics == run.metrics }
        if !isKnown { groups[group].entries.append((index, run)) }
      }
    }
    self.groups = groups.map { group in
      let order = group.entries.indices.sorted {
        let (a, b) = (group.entries[$0].run.metrics.accuracy, group.entries[$1].run.metrics.accuracy)
        return a > b || a == b && $0 < $1
      }
      let lower = order.first.flatMap { group.entries[$0].run.accuracyInterval?.lower }
      return order.map { index in
        let (report, run) = group.entries[index]
        let upper = run.accuracyInterval?.upper
        return Entry(report: report, run: run, overlapsBest: lower.flatMap { lower in upper.map { $0 >= lower } } ?? true)
      }
    }
  }
}

extension EvaluationReport {
  /// Checks whether both are about the same texts under the same labels, so that their runs can be compared.
  func asksTheSame(as other: EvaluationReport) -> Bool {
    labels == other.labels && isOpen == other.isOpen && split == other.split && examples == other.examples
      && digests.data == other.digests.data
  }
}
