package import DibitStatistics

/// One model, adapter or baseline over all examples.
package struct ReportedRun: Equatable, Sendable {
  /// The kinds of things that make answers.
  package enum Kind: String, Equatable, Sendable, CaseIterable {
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

  /// The name of the run; unique in a report.
  package var name: String
  /// The kind of thing that made the answers.
  package var kind: Kind
  /// Accuracy, F1 and confusion over all examples.
  package var metrics: ClassificationMetrics
  /// The interval of the true accuracy (Wilson).
  package var accuracyInterval: ConfidenceInterval?
  /// The interval of the true macro F1 (bootstrap).
  package var macroF1Interval: ConfidenceInterval?
  /// The intervals of the true values of other metrics (bootstrap).
  package var intervals: [Metric: ConfidenceInterval] = [:]
  /// The interval of each label's true F1 (bootstrap); empty when unknown.
  package var f1Intervals: [ConfidenceInterval] = []
  /// Mean negative log-likelihood of the true label in nats; nil when unknown, or infinite because one was given probability zero.
  package var logLoss: Double?
  /// Brier score over all labels, 0 to 2.
  package var brier: Double?
  /// Mean over labels of the area under the ROC curve.
  package var macroAUROC: Double?
  /// Expected calibration error over ``calibration``.
  package var calibrationError: Double?
  /// Expected calibration error over ten bins of equal mass.
  package var equalMassCalibrationError: Double?
  /// Largest calibration error of a bin of ``calibration``.
  package var maximumCalibrationError: Double?
  /// Ten bins of equal width: the reliability diagram and the histogram of confidences.
  package var calibration: [CalibrationBin] = []
  /// Error among the answers, by the share of examples answered when the least sure ones are left out.
  package var abstention: [RiskCoverage.Point] = []
  /// The area under the whole curve of which ``abstention`` has some points.
  package var abstentionArea: Double?
  /// The time that the run took, in seconds.
  package var seconds: Double = 0
  /// The time that one text alone takes.
  package var latency: Latency?
  /// Tokens read per second of the run.
  package var tokensPerSecond: Double?
  /// The most memory that was in use, in bytes.
  package var memoryBytes: Int?
  /// The share of free answers that are none of the labels, where answers were free.
  package var unparsableShare: Double?
  /// Mean loss over the tokens of labels, in nats per token.
  package var contentLoss: Double?
  /// The exponential of ``contentLoss``.
  package var perplexity: Double?
  /// The distance of the labels' probabilities from the base model's: the mean over texts of `Σ p ln(p / q)` in nats, q the base's.
  package var divergence: Double?
  /// Scores of sets of labels, where examples have several.
  package var tags: ReportedTags?
  /// The examples before each text, in a few-shot prompt.
  package var shots: Shots?
  /// Examples with their text, where the caller asked for them.
  package var samples: [ReportedSample] = []

  /// A run of known metrics; everything else can be set afterwards.
  package init(name: String, kind: Kind, metrics: ClassificationMetrics) {
    (self.name, self.kind, self.metrics) = (name, kind, metrics)
  }

  /// A metric that has an interval of its own among ``intervals``.
  package enum Metric: String, Equatable, Sendable, CaseIterable {
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

  /// The time that one text alone takes, in seconds.
  package struct Latency: Equatable, Sendable {
    /// Half of the texts take no longer.
    package var median: Double
    /// 95 % of the texts take no longer.
    package var p95: Double

    /// Known values.
    package init(median: Double, p95: Double) { (self.median, self.p95) = (median, p95) }

    /// Of measured times: the smallest that at least half, or 95 %, of them do not exceed; nil without any.
    package init?(_ seconds: [Double]) {
      guard !seconds.isEmpty else { return nil }
      let sorted = seconds.sorted()
      func rank(_ share: Double) -> Double { sorted[min(sorted.count - 1, max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1))] }
      (median, p95) = (rank(0.5), rank(0.95))
    }
  }
}

/// Scores of sets of labels.
package struct ReportedTags: Equatable, Sendable {
  /// Over all decisions, over labels, over examples.
  package var micro, macro, samples: TagMetrics.Scores
  /// The share of examples whose set is exactly right.
  package var subsetAccuracy: Double
  /// The share of decisions that are wrong.
  package var hammingLoss: Double
  /// Precision and recall of the likeliest labels, by their number.
  package var atK: [AtK] = []

  /// The worth of the k likeliest labels.
  package struct AtK: Equatable, Sendable {
    /// The number of labels that are looked at.
    package var k: Int
    /// The share of them that are true.
    package var precision: Double
    /// The share of the true labels that is among them.
    package var recall: Double

    /// Known values.
    package init(k: Int, precision: Double, recall: Double) { (self.k, self.precision, self.recall) = (k, precision, recall) }
  }

  /// Takes the numbers of `metrics`.
  package init(_ metrics: TagMetrics) {
    (micro, macro, samples) = (metrics.micro, metrics.macro, metrics.samples)
    (subsetAccuracy, hammingLoss) = (metrics.subsetAccuracy, metrics.hammingLoss)
  }

  init(micro: TagMetrics.Scores, macro: TagMetrics.Scores, samples: TagMetrics.Scores, subsetAccuracy: Double, hammingLoss: Double) {
    (self.micro, self.macro, self.samples) = (micro, macro, samples)
    (self.subsetAccuracy, self.hammingLoss) = (subsetAccuracy, hammingLoss)
  }
}

/// An example with its text and what a run made of it.
package struct ReportedSample: Equatable, Sendable {
  /// A label with its probability.
  package struct Guess: Equatable, Sendable {
    /// The label's index.
    package var label: Int
    /// Its probability.
    package var probability: Double

    /// A pair of both.
    package init(label: Int, probability: Double) { (self.label, self.probability) = (label, probability) }
  }

  /// The beginning of the text.
  package var text: String
  /// The true label's index.
  package var truth: Int
  /// The predicted label's index.
  package var prediction: Int
  /// The most likely labels, and the true one.
  package var probabilities: [Guess]

  /// An example of known outcome.
  package init(text: String, truth: Int, prediction: Int, probabilities: [Guess]) {
    (self.text, self.truth, self.prediction, self.probabilities) = (text, truth, prediction, probabilities)
  }

  /// The probability of `label`, 0 where it is not listed.
  package func probability(of label: Int) -> Double { probabilities.first { $0.label == label }?.probability ?? 0 }
}
