internal import DibitStatistics

/// A saved report and where it lies.
package struct SavedReport: Equatable, Sendable {
  /// The path of its file.
  package var file: String
  /// The report.
  package var report: EvaluationReport
  /// The time at which it was made, as far as the file's name tells.
  package var date: ReportDate?

  /// A report that was read from `file`.
  package init(file: String, report: EvaluationReport) {
    (self.file, self.report) = (file, report)
    date = ReportDate(fileName: file)
  }
}

/// A number that runs are ranked and compared by.
package enum RunMetric: String, Equatable, Sendable, CaseIterable {
  /// The share of right answers.
  case accuracy
  /// The mean of the labels' F1.
  case macroF1 = "macro_f1"
  /// Mean negative log-likelihood in nats; less is better.
  case logLoss = "log_loss"

  /// The name that a person calls it by.
  package var name: String {
    switch self {
    case .accuracy: "accuracy"
    case .macroF1: "macro F1"
    case .logLoss: "log loss"
    }
  }

  /// A run's value; nil where it is unknown.
  package func value(of run: ReportedRun) -> Double? {
    switch self {
    case .accuracy: run.metrics.accuracy
    case .macroF1: run.metrics.macroF1
    case .logLoss: run.logLoss
    }
  }

  /// The value so that more is better; unknown values come last.
  func merit(of run: ReportedRun) -> Double {
    guard let value = value(of: run) else { return -.infinity }
    return self == .logLoss ? -value : value
  }
}
