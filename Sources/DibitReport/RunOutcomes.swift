/// The answers of a run to every example: all that its metrics follow from.
package struct RunOutcomes: Equatable, Sendable {
  /// The name of the run; unique in a report.
  package var name: String
  /// The kind of thing that made the answers.
  package var kind: ReportedRun.Kind
  /// For each example the natural logarithm of each label's probability.
  package var logProbabilities: [[Double]]
  /// True where these are probabilities, and not only which label was answered: 0 for that one and -∞ for others.
  package var hasProbabilities = true
  /// The time that the run took, in seconds.
  package var seconds: Double
  /// Times of single texts, in seconds.
  package var latencies: [Double] = []
  /// The set of labels given to each example, where a run answers with sets.
  package var tags: [Set<Int>]?
  /// For each example the probability of each label to be among its labels, where a run answers with sets.
  package var inclusion: [[Double]] = []
  /// Tokens that were read in the run.
  package var tokens: Int?
  /// The most memory that was in use, in bytes.
  package var memoryBytes: Int?
  /// The share of free answers that cannot be read, where answers were free.
  package var unparsableShare: Double?
  /// The mean loss over the tokens of labels without any guidance, in nats per token.
  package var contentLoss: Double?

  /// The examples before each text, in a few-shot prompt.
  package var shots: ReportedRun.Shots?

  /// The outcomes of the examples at `indices` alone.
  package func keeping(_ indices: [Int]) -> RunOutcomes {
    var kept = self
    kept.logProbabilities = indices.map { logProbabilities[$0] }
    kept.tags = tags.map { tags in indices.map { tags[$0] } }
    if !inclusion.isEmpty { kept.inclusion = indices.map { inclusion[$0] } }
    return kept
  }

  /// The same among `count` labels, the new ones without any probability.
  package func padded(to count: Int) -> RunOutcomes {
    func pad(_ rows: [[Double]], _ value: Double) -> [[Double]] {
      rows.map { $0.isEmpty ? $0 : $0 + [Double](repeating: value, count: max(0, count - $0.count)) }
    }
    var wider = self
    (wider.logProbabilities, wider.inclusion) = (pad(logProbabilities, -.infinity), pad(inclusion, 0))
    return wider
  }

  /// Outcomes of a finished run.
  package init(name: String, kind: ReportedRun.Kind, logProbabilities: [[Double]], seconds: Double) {
    (self.name, self.kind, self.logProbabilities, self.seconds) = (name, kind, logProbabilities, seconds)
  }
}
