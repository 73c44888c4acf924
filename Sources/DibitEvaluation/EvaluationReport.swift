public import DibitJSON
public import DibitStatistics

/// One model or adapter over a data set.
public struct EvaluationRun: Equatable, Sendable {
  /// "base", or the adapter's path.
  public let name: String
  /// Accuracy and confusion over all examples.
  public let metrics: ClassificationMetrics
  /// Mean negative log-likelihood of the true label, in nats, when the answer must be a label.
  public let logLoss: Double
  /// How long the run took.
  public let seconds: Double
}

/// What an evaluation found.
public struct EvaluationReport: Equatable, Sendable {
  /// The labels, in the order of every index.
  public let labels: [String]
  /// The split that was used: "test", "validation" or "train".
  public let split: String
  /// The number of examples.
  public let examples: Int
  /// Examples whose text was cut to fit.
  public let truncated: Int
  /// The runs in the order they were made; the base model comes first.
  public let runs: [EvaluationRun]

  /// A report of finished runs.
  public init(labels: [String], split: String, examples: Int, truncated: Int, runs: [EvaluationRun]) {
    self.labels = labels
    self.split = split
    self.examples = examples
    self.truncated = truncated
    self.runs = runs
  }

  /// Accuracy of always answering the most frequent label.
  public var majority: Double { runs.first?.metrics.majorityShare ?? 0 }

  /// The report for machines; `schema` changes when a key changes its meaning.
  public var json: JSONValue {
    [
      "schema": 1, "examples": .integer(examples), "split": .string(split), "truncated_examples": .integer(truncated),
      "labels": .array(labels.map { .string($0) }), "majority_accuracy": .number(majority),
      "runs": .array(
        runs.map { run in
          [
            "name": .string(run.name), "accuracy": .number(run.metrics.accuracy), "macro_f1": .number(run.metrics.macroF1),
            "log_loss": .number(run.logLoss), "seconds": .number(run.seconds),
            "per_label": .object(
              JSONObject(
                zip(labels, run.metrics.perLabel).map { label, metrics in
                  (
                    key: label,
                    value: [
                      "precision": .number(metrics.precision), "recall": .number(metrics.recall), "f1": .number(metrics.f1),
                      "support": .integer(metrics.support),
                    ]
                  )
                })),
            "confusion": .array(run.metrics.confusion.map { .array($0.map { .integer($0) }) }),
          ]
        }),
    ]
  }
}
