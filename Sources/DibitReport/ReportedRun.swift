public import DibitStatistics

/// One model, adapter or baseline over all examples.
public struct ReportedRun: Equatable, Sendable {
  /// What made the answers.
  public enum Kind: String, Equatable, Sendable, CaseIterable {
    /// The model without an adapter.
    case base
    /// The model with an adapter.
    case adapter
    /// A model in floats.
    case float
    /// Another model of packed weights.
    case model
    /// A cheap classifier.
    case baseline
  }

  /// What the run is called; unique in a report.
  public var name: String
  /// What made the answers.
  public var kind: Kind
  /// Accuracy, F1 and confusion over all examples.
  public var metrics: ClassificationMetrics
  /// Where the true accuracy is (Wilson).
  public var accuracyInterval: ConfidenceInterval?
  /// Where the true macro F1 is (bootstrap).
  public var macroF1Interval: ConfidenceInterval?
  /// Where the true values of other metrics are (bootstrap).
  public var intervals: [Metric: ConfidenceInterval] = [:]
  /// Where each label's true F1 is (bootstrap); empty when unknown.
  public var f1Intervals: [ConfidenceInterval] = []
  /// Mean negative log-likelihood of the true label in nats; nil when unknown, or infinite because one was given probability zero.
  public var logLoss: Double?
  /// Brier score over all labels, 0 to 2.
  public var brier: Double?
  /// Mean over labels of the area under the ROC curve.
  public var macroAUROC: Double?
  /// Expected calibration error over ``calibration``.
  public var calibrationError: Double?
  /// Expected calibration error over ten bins of equal mass.
  public var equalMassCalibrationError: Double?
  /// Largest calibration error of a bin of ``calibration``.
  public var maximumCalibrationError: Double?
  /// Ten bins of equal width: the reliability diagram and the histogram of confidences.
  public var calibration: [CalibrationBin] = []
  /// Error among the answers, by the share of examples answered when the least sure ones are left out.
  public var abstention: [RiskCoverage.Point] = []
  /// The area under the whole curve of which ``abstention`` has some points.
  public var abstentionArea: Double?
  /// How long the run took, in seconds.
  public var seconds: Double = 0
  /// What one text alone takes.
  public var latency: Latency?
  /// Tokens read per second of the run.
  public var tokensPerSecond: Double?
  /// The most memory that was in use, in bytes.
  public var memoryBytes: Int?
  /// The share of free answers that are none of the labels, where answers were free.
  public var unparsableShare: Double?
  /// Mean loss over the tokens of labels, in nats per token.
  public var contentLoss: Double?
  /// The exponential of ``contentLoss``.
  public var perplexity: Double?
  /// How far the labels' probabilities are from the base model's: the mean over texts of `Σ p ln(p / q)` in nats, q the base's.
  public var divergence: Double?
  /// Scores of sets of labels, where examples have several.
  public var tags: ReportedTags?
  /// What stood before each text, in a few-shot prompt.
  public var shots: Shots?
  /// Examples with their text, where the caller asked for them.
  public var samples: [ReportedSample] = []

  /// A run of known metrics; everything else can be set afterwards.
  public init(name: String, kind: Kind, metrics: ClassificationMetrics) {
    (self.name, self.kind, self.metrics) = (name, kind, metrics)
  }

  /// A metric that has an interval of its own among ``intervals``.
  public enum Metric: String, Equatable, Sendable, CaseIterable {
    /// Mean F1 weighted by the labels' examples.
    case weightedF1 = "weighted_f1"
    /// Mean negative logarithm of the truth's probability.
    case logLoss = "log_loss"
    /// Brier's score.
    case brier
    /// Expected calibration error.
    case calibrationError = "ece"
    /// F1 over all decisions about sets of labels.
    case microTagF1 = "tags_micro_f1"
    /// The mean over texts of the Jaccard index of sets of labels.
    case jaccard = "tags_jaccard"
  }

  /// What one text alone takes, in seconds.
  public struct Latency: Equatable, Sendable {
    /// Half of the texts take no longer.
    public var median: Double
    /// 95 % of the texts take no longer.
    public var p95: Double

    /// Known values.
    public init(median: Double, p95: Double) { (self.median, self.p95) = (median, p95) }

    /// Of measured times: the smallest that at least half, or 95 %, of them do not exceed; nil without any.
    public init?(_ seconds: [Double]) {
      guard !seconds.isEmpty else { return nil }
      let sorted = seconds.sorted()
      func rank(_ share: Double) -> Double { sorted[min(sorted.count - 1, max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1))] }
      (median, p95) = (rank(0.5), rank(0.95))
    }
  }
}

/// Scores of sets of labels.
public struct ReportedTags: Equatable, Sendable {
  /// Over all decisions, over labels, over examples.
  public var micro, macro, samples: TagMetrics.Scores
  /// The share of examples whose set is exactly right.
  public var subsetAccuracy: Double
  /// The share of decisions that are wrong.
  public var hammingLoss: Double
  /// Precision and recall of the likeliest labels, by their number.
  public var atK: [AtK] = []

  /// What the k likeliest labels are worth.
  public struct AtK: Equatable, Sendable {
    /// How many labels are looked at.
    public var k: Int
    /// The share of them that are true.
    public var precision: Double
    /// The share of the true labels that is among them.
    public var recall: Double

    /// Known values.
    public init(k: Int, precision: Double, recall: Double) { (self.k, self.precision, self.recall) = (k, precision, recall) }
  }

  /// What `metrics` say.
  public init(_ metrics: TagMetrics) {
    (micro, macro, samples) = (metrics.micro, metrics.macro, metrics.samples)
    (subsetAccuracy, hammingLoss) = (metrics.subsetAccuracy, metrics.hammingLoss)
  }

  init(micro: TagMetrics.Scores, macro: TagMetrics.Scores, samples: TagMetrics.Scores, subsetAccuracy: Double, hammingLoss: Double) {
    (self.micro, self.macro, self.samples) = (micro, macro, samples)
    (self.subsetAccuracy, self.hammingLoss) = (subsetAccuracy, hammingLoss)
  }
}

/// An example with its text and what a run made of it.
public struct ReportedSample: Equatable, Sendable {
  /// A label with its probability.
  public struct Guess: Equatable, Sendable {
    /// The label's index.
    public var label: Int
    /// Its probability.
    public var probability: Double

    /// A pair of both.
    public init(label: Int, probability: Double) { (self.label, self.probability) = (label, probability) }
  }

  /// The beginning of the text.
  public var text: String
  /// The true label's index.
  public var truth: Int
  /// The predicted label's index.
  public var prediction: Int
  /// The most likely labels, and the true one.
  public var probabilities: [Guess]

  /// An example of known outcome.
  public init(text: String, truth: Int, prediction: Int, probabilities: [Guess]) {
    (self.text, self.truth, self.prediction, self.probabilities) = (text, truth, prediction, probabilities)
  }

  /// The probability of `label`, 0 where it is not listed.
  public func probability(of label: Int) -> Double { probabilities.first { $0.label == label }?.probability ?? 0 }
}
