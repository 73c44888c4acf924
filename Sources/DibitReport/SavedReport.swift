internal import DibitStatistics

/// A saved report and where it lies.
public struct SavedReport: Equatable, Sendable {
  /// The path of its file.
  public var file: String
  /// The report.
  public var report: EvaluationReport
  /// When it was made, as far as the file's name tells.
  public var date: ReportDate?

  /// A report that was read from `file`.
  public init(file: String, report: EvaluationReport) {
    (self.file, self.report) = (file, report)
    date = ReportDate(fileName: file)
  }
}

/// A time in UTC, from the name of a report in a folder of runs: `20261121T174503Z-0a1b2c3d.json`.
public struct ReportDate: Equatable, Comparable, Sendable, CustomStringConvertible {
  /// Year, month, day, hour, minute and second as 14 digits.
  private let digits: [UInt8]

  /// The time in a file's name; nil where it has another form.
  public init?(fileName: String) {
    let name = Array(
      fileName.utf8.suffix(from: fileName.utf8.lastIndex(of: UInt8(ascii: "/")) ?? fileName.startIndex).drop { $0 == UInt8(ascii: "/") })
    guard name.count == 16 + 1 + 8 + 5, name[8] == UInt8(ascii: "T"), name[15] == UInt8(ascii: "Z"), name[16] == UInt8(ascii: "-"),
      name[25...].elementsEqual(".json".utf8), name[17..<25].allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 })
    else { return nil }
    let digits = Array(name[0..<8] + name[9..<15])
    guard digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    self.digits = digits
    let (month, day) = (number(4, 2), number(6, 2))
    guard 1...12 ~= month, 1...31 ~= day, number(8, 2) < 24, number(10, 2) < 60, number(12, 2) < 61 else { return nil }
  }

  /// "2026-11-21 17:45:03 UTC".
  public var description: String { "\(text(0, 4))-\(text(4, 2))-\(text(6, 2)) \(text(8, 2)):\(text(10, 2)):\(text(12, 2)) UTC" }

  /// "2026-11-21T17:45:03Z", the form of ISO 8601.
  public var iso: String { "\(text(0, 4))-\(text(4, 2))-\(text(6, 2))T\(text(8, 2)):\(text(10, 2)):\(text(12, 2))Z" }

  /// Whether the left time comes first.
  public static func < (left: ReportDate, right: ReportDate) -> Bool { left.digits.lexicographicallyPrecedes(right.digits) }

  private func text(_ start: Int, _ count: Int) -> String { String(decoding: digits[start..<start + count], as: UTF8.self) }
  private func number(_ start: Int, _ count: Int) -> Int { digits[start..<start + count].reduce(0) { 10 * $0 + Int($1) - 0x30 } }
}

/// What runs are ranked by.
public enum RankingMetric: String, Equatable, Sendable, CaseIterable {
  /// The share of right answers.
  case accuracy
  /// The mean of the labels' F1.
  case macroF1 = "macro_f1"
  /// Mean negative log-likelihood in nats; less is better.
  case logLoss = "log_loss"

  /// What a person calls it.
  public var name: String {
    switch self {
    case .accuracy: "accuracy"
    case .macroF1: "macro F1"
    case .logLoss: "log loss"
    }
  }

  /// A run's value; nil where it is unknown.
  public func value(of run: ReportedRun) -> Double? {
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
