/// What a run said about every example: all that its metrics follow from.
public struct RunOutcomes: Equatable, Sendable {
  /// What the run is called; unique in a report.
  public var name: String
  /// What made the answers.
  public var kind: ReportedRun.Kind
  /// For each example the natural logarithm of each label's probability.
  public var logProbabilities: [[Double]]
  /// Whether these are probabilities, and not only which label was answered: 0 for that one and -∞ for others.
  public var hasProbabilities = true
  /// How long the run took, in seconds.
  public var seconds: Double
  /// Times of single texts, in seconds.
  public var latencies: [Double] = []
  /// The set of labels given to each example, where a run answers with sets.
  public var tags: [Set<Int>]?
  /// For each example the probability of each label to be among its labels, where a run answers with sets.
  public var inclusion: [[Double]] = []
  /// Tokens that were read in the run.
  public var tokens: Int?
  /// The most memory that was in use, in bytes.
  public var memoryBytes: Int?
  /// The share of free answers that cannot be read, where answers were free.
  public var unparsableShare: Double?
  /// The mean loss over the tokens of labels without any guidance, in nats per token.
  public var contentLoss: Double?

  /// What stood before each text, in a few-shot prompt.
  public var shots: ReportedRun.Shots?

  /// The outcomes of the examples at `indices` alone.
  public func keeping(_ indices: [Int]) -> RunOutcomes {
    var kept = self
    kept.logProbabilities = indices.map { logProbabilities[$0] }
    kept.tags = tags.map { tags in indices.map { tags[$0] } }
    if !inclusion.isEmpty { kept.inclusion = indices.map { inclusion[$0] } }
    return kept
  }

  /// The same among `count` labels, the new ones without any probability.
  public func padded(to count: Int) -> RunOutcomes {
    func pad(_ rows: [[Double]], _ value: Double) -> [[Double]] {
      rows.map { $0.isEmpty ? $0 : $0 + [Double](repeating: value, count: max(0, count - $0.count)) }
    }
    var wider = self
    (wider.logProbabilities, wider.inclusion) = (pad(logProbabilities, -.infinity), pad(inclusion, 0))
    return wider
  }

  /// Outcomes of a finished run.
  public init(name: String, kind: ReportedRun.Kind, logProbabilities: [[Double]], seconds: Double) {
    (self.name, self.kind, self.logProbabilities, self.seconds) = (name, kind, logProbabilities, seconds)
  }
}
