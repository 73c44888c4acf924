/// What one subject said about one example.
public struct ExampleRecord: Equatable, Sendable {
  /// The example's place in the data.
  public let example: Int
  /// The example's labels, as places among the labels of the run; several where it carries several.
  public let truths: [Int]
  /// What the model said, or why it said nothing.
  public let outcome: Result<TextScores, EvaluationError>

  /// A record.
  public init(example: Int, truths: [Int], outcome: Result<TextScores, EvaluationError>) {
    (self.example, self.truths, self.outcome) = (example, truths, outcome)
  }

  /// What the model said; nil where it failed.
  public var scores: TextScores? { if case .success(let scores) = outcome { scores } else { nil } }
}

/// Everything that one subject said about the examples of a data set: what a report is computed from.
public struct RunRecords: Equatable, Sendable {
  /// The subject's name.
  public let name: String
  /// The labels, in the order of every index.
  public let labels: [String]
  /// One for each example, in the order of the data.
  public let records: [ExampleRecord]
  /// Log-probabilities of the labels behind an empty text, where scores are calibrated with them.
  public let prior: [Double]?
  /// How long the run took.
  public let seconds: Double
  /// Tokens of all prompts.
  public let promptTokens: Int
  /// Rows that the model ran for them, and for what tells labels apart.
  public let rows: Int
  /// Seconds that each of some texts takes alone; empty unless measured.
  public let latencies: [Double]

  /// Examples that have no scores.
  public var failures: Int { records.count { $0.scores == nil } }
  /// Why the first of them has none.
  public var firstFailure: EvaluationError? {
    for record in records { if case .failure(let error) = record.outcome { return error } }
    return nil
  }
  /// Examples whose text was cut to fit.
  public var truncated: Int { records.count { $0.scores?.truncatedTokens ?? 0 > 0 } }
  /// Examples without any text.
  public var empty: Int { records.count { $0.scores?.isEmpty == true } }
  /// Scored texts per second.
  public var textsPerSecond: Double { Double(records.count) / max(seconds, 1e-9) }
  /// Tokens of prompts per second.
  public var tokensPerSecond: Double { Double(promptTokens) / max(seconds, 1e-9) }

  /// The smallest measured latency that a share of all does not exceed, such as 0.5 or 0.95; nil where none was measured.
  public func latency(_ share: Double) -> Double? {
    guard !latencies.isEmpty else { return nil }
    let rank = Int((share * Double(latencies.count)).rounded(.up))
    return latencies.sorted()[min(max(rank, 1), latencies.count) - 1]
  }
}
