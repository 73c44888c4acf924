internal import DibitDataset
internal import DibitEvaluation
internal import DibitJSON
internal import DibitReport
internal import DibitStatistics

/// The evaluation of models and adapters on labelled texts: its options, how far it is, and what it found. See
/// ``Model/evaluate(on:adapters:comparing:options:)``.
public enum Evaluation {
  /// The progress of an evaluation.
  public struct Progress: Equatable, Sendable {
    /// The name of the work that is going on, such as "evaluating base".
    public let title: String
    /// Texts that are done.
    public let done: Int
    /// Texts that will be.
    public let total: Int
  }

  /// A split of labelled texts.
  public enum Split: String, Equatable, Sendable, CaseIterable {
    /// The texts that are learnt from.
    case train
    /// The texts that training watches.
    case validation
    /// The texts that nobody has seen.
    case test

    var name: SplitName {
      switch self {
      case .train: .train
      case .validation: .validation
      case .test: .test
      }
    }
  }

  /// A cheap classifier that a model must beat. All learn from the training split.
  public enum Baseline: String, Equatable, Sendable, CaseIterable {
    /// The most frequent label.
    case majority
    /// Naive Bayes on words.
    case words
    /// Logistic regression on words, pairs of words and runs of letters, by TF-IDF.
    case tfidf
    /// The nearest mean of the base model's embeddings.
    case centroid
    /// Logistic regression on those embeddings.
    case logistic
    /// The base model, asked with some answered examples before each text.
    case shots
  }

  /// The treatment of texts that an adapter was trained on, or nearly so.
  public enum LeakagePolicy: Equatable, Sendable {
    /// The evaluation fails.
    case refuse
    /// They are left out.
    case leaveOut
    /// They are evaluated all the same.
    case allow
  }

  /// Options for the evaluation of models and adapters. The defaults are those of the command line.
  ///
  /// ```swift
  /// var options = Evaluation.Options()
  /// options.baselines = [.words]
  /// ```
  public struct Options: Equatable, Sendable {
    /// The split to evaluate on; nil for the test split where there is one, otherwise the validation split, otherwise the texts that were held
    /// out in training.
    public var split: Split?
    /// Labels of an answer, at most, from 1 to 100; 1 gives each text one.
    public var mostTags = 1
    /// True where models write their tags themselves, as JSON, instead of choosing among the labels.
    public var writesTags = false
    /// The part that a text loses that is too long.
    public var cut = TagOptions.Cut.tail
    /// True to take off what each label has without any text, so that none is preferred whatever the text says.
    public var calibrates = false
    /// The instruction of a model without an adapter; `{labels}` stands for the labels. Only where there is no adapter.
    public var instruction: String?
    /// The form that prompts of a model without an adapter are put into. Only where there is no adapter.
    public var promptForm: AdapterTraining.PromptForm?
    /// The classifiers that a model must beat.
    public var baselines = Baseline.allCases
    /// Examples in the few-shot prompt, as far as they fit, from 1 to 1000.
    public var shots = 8
    /// Texts that also go through each model alone, for latency and loss of labels.
    public var aloneTexts = 32
    /// Texts on which the order of the labels in the instruction is changed, if it lists them.
    public var orderTexts = 64
    /// Samples of the bootstrap, from 100 to 1,000,000.
    public var resamples = 2000
    /// The seed of everything random.
    public var seed: UInt64 = 0
    /// The treatment of texts that an adapter was trained on.
    public var leakage = LeakagePolicy.refuse
    /// The column or key of the text, in rows; nil for `text` or a name like it.
    public var textColumn: String?
    /// The column or key of the label, or of a list of labels, in rows; nil for `label` or a name like it.
    public var labelColumn: String?

    /// The defaults.
    ///
    /// ```swift
    /// let options = Evaluation.Options()
    /// ```
    public init() {}
  }

  /// The findings of an evaluation.
  public struct Report: Equatable, Sendable {
    /// The standing of the best adapter against what it must beat: the base model and every baseline.
    public enum Standing: String, Equatable, Sendable, CaseIterable {
      /// Better than all of them, beyond noise.
      case better
      /// Not shown to be better than all of them.
      case unproven
      /// Not shown to be better, by fewer texts than even a run that is always right would need.
      case tooFew
      /// Worse than one of them, beyond noise.
      case worse
      /// It answers exactly as the base does.
      case identical
      /// There is nothing to compare with.
      case alone
    }

    let report: EvaluationReport

    /// The standing of the best adapter.
    public var standing: Standing {
      switch report.standing {
      case .better: .better
      case .unproven: .unproven
      case .tooFew: .tooFew
      case .worse: .worse
      case .identical: .identical
      case .alone: .alone
      }
    }

    /// One sentence: is the best adapter better than the base and than every baseline, by how much, and how sure is that.
    public var verdict: String { report.verdict }
    /// The number of texts.
    public var texts: Int { report.examples }
    /// The labels.
    public var labels: [String] { report.labels }
    /// Models and adapters in the order in which they ran, the base model first; then baselines.
    public var runs: [Run] { report.everything.map { Run($0) } }
    /// Notes on the data that a reader should know before believing the numbers, a sentence each.
    public var notes: [String] { report.notes.map(\.text) }

    /// The whole report as JSON, as `dibit evaluate --json` prints it.
    ///
    /// - Complexity: O(texts)
    public var json: String { report.json.serialized(pretty: true) }

    /// The whole report as a page for a browser, one file without scripts.
    ///
    /// - Complexity: O(texts)
    public var html: String { HTMLReport(report).html }

    /// The whole report in lines for a terminal.
    ///
    /// ```swift
    /// for line in report.lines() { print(line) }
    /// ```
    ///
    /// - Parameters:
    ///   - width: The most characters of a line.
    /// - Returns: The lines.
    public func lines(width: Int = 100) -> [String] { TerminalReport(report, width: width, height: .max).lines }
  }

  /// A model, an adapter or a baseline in a report.
  public struct Run: Equatable, Sendable {
    /// "base", the path of an adapter or of another model, or what a baseline is called.
    public let name: String
    /// True for a cheap classifier.
    public let isBaseline: Bool
    /// The share of texts that were answered right, from 0 to 1.
    public let accuracy: Double
    /// The interval of the true accuracy, with a probability of 0.95 (Wilson).
    public let accuracyInterval: ClosedRange<Double>?
    /// The mean of F1 over labels, from 0 to 1.
    public let macroF1: Double
    /// The mean negative logarithm of the true label's probability, in nats; nil where it is not known, or infinite.
    public let logLoss: Double?
    /// The expected calibration error, from 0 to 1; nil where it is not known.
    public let calibrationError: Double?
    /// The time that the run took, in seconds.
    public let seconds: Double

    init(_ run: ReportedRun) {
      (name, isBaseline) = (run.name, run.kind == .baseline)
      (accuracy, macroF1) = (run.metrics.accuracy, run.metrics.macroF1)
      accuracyInterval = run.accuracyInterval.map { $0.lower...$0.upper }
      (logLoss, calibrationError, seconds) = (run.logLoss, run.calibrationError, run.seconds)
    }
  }
}

extension Evaluation.Options {
  func check() throws(DibitError) {
    func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(DibitError) {
      guard !range.contains(value) else { return }
      throw DibitError(.invalidArgument, option: name, "expected a number from \(range.lowerBound) to \(range.upperBound), found \(value)")
    }
    try check("mostTags", mostTags, 1...100)
    try check("shots", shots, 1...1000)
    try check("aloneTexts", aloneTexts, 0...100_000)
    try check("orderTexts", orderTexts, 0...100_000)
    try check("resamples", resamples, 100...1_000_000)
  }

  /// The options with which texts are scored.
  var tagging: TaggingOptions {
    var options = TaggingOptions()
    (options.cut, options.calibrates) = (cut.shortening, calibrates)
    options.selection = mostTags == 1 ? .one : .several(most: mostTags)
    return options
  }

  /// The baselines, in the order of the options.
  var kinds: [BaselineKind] { baselines.compactMap { BaselineKind(rawValue: $0.rawValue) } }
}
