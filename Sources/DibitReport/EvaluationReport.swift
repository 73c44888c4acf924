internal import DibitStatistics

/// What an evaluation found, as a value: it can be made of outcomes, written and read as JSON, and shown in a terminal or a browser.
public struct EvaluationReport: Equatable, Sendable {
  /// The model that was evaluated, as a person would name it.
  public var model: String?
  /// The data, as a person would name it.
  public var data: String?
  /// The number of examples.
  public var examples: Int
  /// The split that was used: "test", "validation" or "train".
  public var split: String
  /// Examples whose text was cut to fit.
  public var truncated: Int
  /// The labels, in the order of every index.
  public var labels: [String]
  /// Models and adapters in the order in which they were run; the base model comes first.
  public var runs: [ReportedRun]
  /// Cheap classifiers that saw the same training data: what a model must beat.
  public var baselines: [ReportedRun] = []
  /// Pairs of runs over the same examples.
  public var comparisons: [RunComparison] = []
  /// Examples that training has seen, or nil when nobody looked.
  public var leakage: Leakage?
  /// What a reader should know about the data before believing the numbers.
  public var notes: [HygieneNote] = []
  /// What every random choice followed from.
  public var seed: UInt64?
  /// Which bytes were evaluated.
  public var digests = Digests()
  /// The command that makes this report again.
  public var command: String?
  /// Losses over the steps of training, by name.
  public var losses: [LossSeries] = []

  /// A report of finished runs; everything else can be set afterwards.
  public init(labels: [String], split: String, examples: Int, truncated: Int = 0, runs: [ReportedRun], baselines: [ReportedRun] = []) {
    self.labels = labels
    self.split = split
    self.examples = examples
    self.truncated = truncated
    self.runs = runs
    self.baselines = baselines
  }

  /// Accuracy of always answering the most frequent label of these examples.
  public var majority: Double { runs.first?.metrics.majorityShare ?? 0 }

  /// Runs and baselines.
  public var everything: [ReportedRun] { runs + baselines }

  /// The run or baseline called `name`; names are compared by their bytes.
  public func run(_ name: String) -> ReportedRun? { everything.first { $0.name.utf8.elementsEqual(name.utf8) } }

  /// The run that the report is about: the adapter with the highest accuracy, the first of equals; without adapters the first run.
  public var subject: ReportedRun? {
    let adapters = runs.filter { $0.kind == .adapter }
    return adapters.isEmpty ? runs.first : adapters.reduce(adapters[0]) { $1.metrics.accuracy > $0.metrics.accuracy ? $1 : $0 }
  }

  /// The comparison of `a` with `b` in `metric`, whichever way round it was made; its difference is `a` less `b`.
  public func comparison(_ a: String, _ b: String, metric: String = RunComparison.accuracy) -> RunComparison? {
    for comparison in comparisons where comparison.metric == metric {
      if comparison.a == a, comparison.b == b { return comparison }
      if comparison.a == b, comparison.b == a { return comparison.swapped }
    }
    return nil
  }
}

/// Examples of the test set that training has seen too: their scores say nothing about others.
public struct Leakage: Equatable, Sendable {
  /// Examples whose text is also in the training data.
  public var exact: Int
  /// Examples whose text is nearly that of a training example.
  public var near: Int
  /// Whether these examples were left out of the scores.
  public var leftOut: Bool

  /// Counts of what was found.
  public init(exact: Int, near: Int, leftOut: Bool = false) { (self.exact, self.near, self.leftOut) = (exact, near, leftOut) }
}

/// Something about the data that changes what the numbers mean.
public struct HygieneNote: Equatable, Sendable {
  /// What it is about.
  public enum Kind: String, Equatable, Sendable, CaseIterable {
    /// Texts that were cut to fit.
    case truncated
    /// Texts with nothing in them.
    case empty
    /// Labels that training has not seen, or that the test set lacks.
    case unseenLabels = "unseen_labels"
    /// Labels that are much more frequent than others.
    case imbalance
    /// Answers that depend on the order in which the prompt lists labels.
    case orderBias = "order_bias"
    /// Texts that occur twice.
    case duplicates
    /// Examples that could not be run.
    case failed
    /// Anything else.
    case other
  }

  /// What it is about.
  public var kind: Kind
  /// How many examples, labels or answers are concerned.
  public var count: Int
  /// One sentence for people.
  public var text: String

  /// A note.
  public init(_ kind: Kind, count: Int, _ text: String) { (self.kind, self.count, self.text) = (kind, count, text) }
}

/// Which bytes a report is about: SHA-256 digests in hexadecimal.
public struct Digests: Equatable, Sendable {
  /// Something that has a name and a digest.
  public struct Named: Equatable, Sendable {
    /// Its name, as in the report's runs.
    public var name: String
    /// Its digest.
    public var digest: String

    /// A pair of both.
    public init(name: String, digest: String) { (self.name, self.digest) = (name, digest) }
  }

  /// The model's.
  public var model: String?
  /// The data set's.
  public var data: String?
  /// The adapters'.
  public var adapters: [Named]

  /// What is known.
  public init(model: String? = nil, data: String? = nil, adapters: [Named] = []) {
    (self.model, self.data, self.adapters) = (model, data, adapters)
  }
}
