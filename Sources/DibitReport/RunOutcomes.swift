/// What a run said about every example: all that its metrics follow from.
public struct RunOutcomes: Equatable, Sendable {
  /// What the run is called; unique in a report.
  public var name: String
  /// What made the answers.
  public var kind: ReportedRun.Kind
  /// For each example the natural logarithm of each label's probability.
  public var logProbabilities: [[Double]]
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

  /// Outcomes of a finished run.
  public init(name: String, kind: ReportedRun.Kind, logProbabilities: [[Double]], seconds: Double) {
    (self.name, self.kind, self.logProbabilities, self.seconds) = (name, kind, logProbabilities, seconds)
  }
}
