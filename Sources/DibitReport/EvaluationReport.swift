internal import DibitStatistics

/// The findings of an evaluation, as a value: it can be made of outcomes, written and read as JSON, and shown in a terminal or a browser.
package struct EvaluationReport: Equatable, Sendable {
  /// The model that was evaluated, as a person would name it.
  package var model: String?
  /// The data, as a person would name it.
  package var data: String?
  /// The number of examples.
  package var examples: Int
  /// The split that was used: "test", "validation" or "train".
  package var split: String
  /// Examples whose text was cut to fit.
  package var truncated: Int
  /// The labels, in the order of every index.
  package var labels: [String]
  /// True where runs wrote their answers themselves: the last of ``labels`` is none then, but stands for every answer that is none of the
  /// others.
  package var isOpen = false
  /// Models and adapters in the order in which they were run; the base model comes first.
  package var runs: [ReportedRun]
  /// Cheap classifiers that saw the same training data: what a model must beat.
  package var baselines: [ReportedRun] = []
  /// Pairs of runs over the same examples.
  package var comparisons: [RunComparison] = []
  /// Examples that training has seen, or nil when nobody looked.
  package var leakage: Leakage?
  /// Notes on the data that a reader should know before believing the numbers.
  package var notes: [HygieneNote] = []
  /// The seed that every random choice followed from.
  package var seed: UInt64?
  /// The digests of the bytes that were evaluated.
  package var digests = Digests()
  /// The command that makes this report again.
  package var command: String?
  /// Losses over the steps of training, by name.
  package var losses: [LossSeries] = []

  /// A report of finished runs; everything else can be set afterwards.
  package init(labels: [String], split: String, examples: Int, truncated: Int = 0, runs: [ReportedRun], baselines: [ReportedRun] = []) {
    self.labels = labels
    self.split = split
    self.examples = examples
    self.truncated = truncated
    self.runs = runs
    self.baselines = baselines
  }

  /// The indices of what texts can be labelled with.
  package var labelIndices: Range<Int> { 0..<(isOpen ? max(0, labels.count - 1) : labels.count) }

  /// "24 labels", and whether they were chosen among.
  package var labelFact: String { "\(labelIndices.count) \(plural(labelIndices.count, "label"))" + (isOpen ? ", open answers" : "") }

  /// Accuracy of always answering the most frequent label of these examples.
  package var majority: Double { runs.first?.metrics.majorityShare ?? 0 }

  /// Runs and baselines.
  package var everything: [ReportedRun] { runs + baselines }

  /// The run or baseline called `name`; names are compared by their bytes.
  package func run(_ name: String) -> ReportedRun? { everything.first { $0.name.utf8.elementsEqual(name.utf8) } }

  /// The run that the report is about: the adapter with the highest accuracy, the first of equals; without adapters the first run.
  package var subject: ReportedRun? {
    let adapters = runs.filter { $0.kind == .adapter }
    return adapters.isEmpty ? runs.first : adapters.reduce(adapters[0]) { $1.metrics.accuracy > $0.metrics.accuracy ? $1 : $0 }
  }

  /// The comparison of `a` with `b` in `metric`, whichever way round it was made; its difference is `a` less `b`.
  package func comparison(_ a: String, _ b: String, metric: RunMetric = .accuracy) -> RunComparison? {
    for comparison in comparisons where comparison.metric == metric {
      if comparison.a == a, comparison.b == b { return comparison }
      if comparison.a == b, comparison.b == a { return comparison.swapped }
    }
    return nil
  }
}

/// Examples of the test set that training has seen too: their scores say nothing about others.
package struct Leakage: Equatable, Sendable {
  /// Examples whose text is also in the training data.
  package var exact: Int
  /// Examples whose text is nearly that of a training example.
  package var near: Int
  /// True where these examples were left out of the scores.
  package var leftOut: Bool

  /// Counts of what was found.
  package init(exact: Int, near: Int, leftOut: Bool = false) { (self.exact, self.near, self.leftOut) = (exact, near, leftOut) }
}

/// Something about the data that changes what the numbers mean.
package struct HygieneNote: Equatable, Sendable {
  /// The subject of a note.
  package enum Kind: String, Equatable, Sendable, CaseIterable {
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

  /// The subject of the note.
  package var kind: Kind
  /// The number of examples, labels or answers that are concerned.
  package var count: Int
  /// One sentence for people.
  package var text: String

  /// A note.
  package init(_ kind: Kind, count: Int, _ text: String) { (self.kind, self.count, self.text) = (kind, count, text) }
}

/// The bytes that a report is about: SHA-256 digests in hexadecimal.
package struct Digests: Equatable, Sendable {
  /// Something that has a name and a digest.
  package struct Named: Equatable, Sendable {
    /// Its name, as in the report's runs.
    package var name: String
    /// Its digest.
    package var digest: String

    /// A pair of both.
    package init(name: String, digest: String) { (self.name, self.digest) = (name, digest) }
  }

  /// The model's.
  package var model: String?
  /// The data set's.
  package var data: String?
  /// The adapters'.
  package var adapters: [Named]

  /// Makes digests of those that are known.
  package init(model: String? = nil, data: String? = nil, adapters: [Named] = []) {
    (self.model, self.data, self.adapters) = (model, data, adapters)
  }
}
