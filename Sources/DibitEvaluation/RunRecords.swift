/// The answer of one subject to one example.
package struct ExampleRecord: Equatable, Sendable {
  /// The example's index in the data.
  package let example: Int
  /// The example's labels, as indices among the labels of the run; several where it carries several.
  package let truths: [Int]
  /// The scores of the model, or the reason for which it gave none.
  package let outcome: Result<TextScores, EvaluationError>

  /// A record.
  package init(example: Int, truths: [Int], outcome: Result<TextScores, EvaluationError>) {
    (self.example, self.truths, self.outcome) = (example, truths, outcome)
  }

  /// The scores of the model; nil where it failed.
  package var scores: TextScores? { if case .success(let scores) = outcome { scores } else { nil } }
}

/// Everything that one subject said about the examples of a data set: what a report is computed from.
package struct RunRecords: Equatable, Sendable {
  /// The subject's name.
  package let name: String
  /// The labels, in the order of every index.
  package let labels: [String]
  /// One for each example, in the order of the data.
  package let records: [ExampleRecord]
  /// Log-probabilities of the labels behind an empty text, where scores are calibrated with them.
  package let prior: [Double]?
  /// The time that the run took.
  package let seconds: Double
  /// Tokens of all prompts.
  package let promptTokens: Int
  /// Rows that the model ran for them, and for what tells labels apart.
  package let rows: Int
  /// Seconds that each of some texts takes alone; empty unless measured.
  package let latencies: [Double]

  /// Examples that have no scores.
  package var failures: Int { records.count { $0.scores == nil } }
  /// The reason for which the first of them has none.
  package var firstFailure: EvaluationError? {
    for record in records { if case .failure(let error) = record.outcome { return error } }
    return nil
  }
  /// Examples whose text was cut to fit.
  package var truncated: Int { records.count { $0.scores?.truncatedTokens ?? 0 > 0 } }
  /// Examples without any text.
  package var empty: Int { records.count { $0.scores?.isEmpty == true } }
  /// Scored texts per second.
  package var textsPerSecond: Double { Double(records.count) / max(seconds, 1e-9) }
  /// Tokens of prompts per second.
  package var tokensPerSecond: Double { Double(promptTokens) / max(seconds, 1e-9) }

  /// The smallest measured latency that a share of all does not exceed, such as 0.5 or 0.95; nil where none was measured.
  package func latency(_ share: Double) -> Double? {
    guard !latencies.isEmpty else { return nil }
    let rank = Int((share * Double(latencies.count)).rounded(.up))
    return latencies.sorted()[min(max(rank, 1), latencies.count) - 1]
  }
}
