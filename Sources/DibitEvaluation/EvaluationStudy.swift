public import DibitDataset
public import DibitKernels
public import DibitReport
internal import DibitCheckpoint
internal import DibitStatistics

/// Runs models, adapters and baselines over the same labelled texts and turns what they said into one report.
public struct EvaluationStudy {
  /// A model, with or without an adapter, in a study.
  public struct Subject: Sendable {
    /// What a report takes it for.
    public let kind: ReportedRun.Kind
    /// The model and how it is asked.
    public let subject: EvaluationSubject

    /// A subject; its name is unique in a study.
    public init(_ kind: ReportedRun.Kind, _ subject: EvaluationSubject) { (self.kind, self.subject) = (kind, subject) }
  }

  /// How far the work is that is going on.
  public struct Progress: Equatable, Sendable {
    /// What is going on: "evaluating base".
    public let title: String
    /// Texts that are done.
    public let done: Int
    /// Texts that will be.
    public let total: Int
  }

  /// A finished run.
  private struct Run {
    let kind: ReportedRun.Kind
    let records: RunRecords
    let memory: Int?
    let measures: SingleTextMeasures?
  }

  private let labels: [String]
  private let examples: [LabelledExample]
  private let training: [LabelledExample]
  private let options: TaggingOptions
  private let seed: UInt64
  private let compute: Compute
  private let progress: (Progress) -> Bool
  private var runs: [Run] = []
  private var baselines: [RunOutcomes] = []
  private var notes: [HygieneNote]

  /// A study of `examples` under `labels`; baselines learn from `training`. `progress` stops the work by returning false.
  ///
  /// - Throws: ``EvaluationError/noExamples``, ``EvaluationError/unknownLabels``.
  public init(
    labels: [String], examples: [LabelledExample], training: [LabelledExample], options: TaggingOptions, seed: UInt64,
    on compute: Compute, progress: @escaping (Progress) -> Bool
  ) throws(EvaluationError) {
    guard !examples.isEmpty else { throw .noExamples }
    _ = try Truths(labels).places(of: examples)
    (self.labels, self.examples, self.training, self.options, self.seed) = (labels, examples, training, options, seed)
    (self.compute, self.progress) = (compute, progress)
    notes = DataHygiene.notes(examples: examples, training: training, labels: labels)
  }

  /// Runs a subject over all texts, and some of them alone: see ``SingleTextMeasures``.
  ///
  /// A text that cannot be scored is left out of the report, with a note; only where none can be is that an error.
  public mutating func add(_ subject: Subject, aloneTexts: Int) throws(EvaluationError) {
    let title = "evaluating \(subject.subject.name)"
    ProcessMemory.resetPeak()
    let records = try Evaluator.run(
      [subject.subject], labels: labels, examples: examples, options: options, latencyTexts: aloneTexts, on: compute
    ) { [progress] report in progress(Progress(title: title, done: report.done, total: report.total)) }[0]
    if let fault = records.firstFailure, records.failures == examples.count { throw fault }
    let memory = ProcessMemory.peak
    let measures = try SingleTextMeasures.measure(
      subject.subject, labels: labels, examples: examples, count: aloneTexts, on: compute
    ) { [progress] done, total in progress(Progress(title: "\(title), one text at a time", done: done, total: total)) }
    runs.append(Run(kind: subject.kind, records: records, memory: memory, measures: measures))
  }

  /// Runs baselines beside `base`, the model without an adapter; without training texts there are none.
  public mutating func addBaselines(_ kinds: [BaselineKind], shots: Int, base: EvaluationSubject) throws(EvaluationError) {
    guard !kinds.isEmpty else { return }
    guard !training.isEmpty else {
      notes.append(HygieneNote(.other, count: 0, "There are no training texts beside those evaluated, so there are no baselines."))
      return
    }
    let suite = BaselineSuite(labels: labels, base: base, options: options, shots: shots, seed: seed)
    baselines += try suite.run(kinds, training: training, examples: examples, on: compute) { [progress] report in
      progress(Progress(title: "baselines, \(report.name)", done: report.done, total: report.total))
    }
  }

  /// Measures on up to `count` texts how much each subject's answers depend on the order in which the instruction lists the labels; nothing
  /// where it does not list them.
  public mutating func measureOrderBias(_ subjects: [Subject], texts count: Int) throws(EvaluationError) {
    let texts = Evaluator.spread(examples, count).map(\.text)
    guard !texts.isEmpty else { return }
    for item in subjects {
      let subject = item.subject
      guard let task = subject.task.task.unlisting(labels) else { continue }
      guard progress(Progress(title: "order of labels, \(subject.name)", done: 0, total: texts.count)) else { throw .interrupted }
      let bias = try LabelOrderBias.measure(
        texts, labels: labels, task: task, tokenizer: subject.task.tokenizer, model: subject.model, seed: seed, options: options,
        on: compute)
      let share = Int((100 * bias.agreement).rounded())
      notes.append(
        HygieneNote(
          .orderBias, count: bias.texts,
          "Under '\(subject.name)' two orders of the labels in the instruction agree on \(share) % of \(bias.texts) texts; probabilities move by "
            + "\(Int((100 * bias.variation).rounded())) points on average."))
    }
  }

  /// The report of everything that has run. Texts that one of the runs could not score are left out of all.
  public func report(split: String, resamples: Int, keepsTexts: Bool) -> EvaluationReport {
    let kept = examples.indices.filter { index in runs.allSatisfy { $0.records.records[index].scores != nil } }
    let truths = Truths(labels)
    var builder = ReportBuilder(
      labels: labels.count, truths: kept.map { truths.known(examples[$0]) }, bootstrap: Bootstrap(resamples: resamples, seed: seed))
    if keepsTexts { builder.texts = kept.map { examples[$0].text } }
    let outcomes = runs.map { run in
      var outcomes = run.records.outcomes(run.kind, at: kept, answersSets: options.selection != .one)
      (outcomes.memoryBytes, outcomes.unparsableShare, outcomes.contentLoss) = (
        run.memory, run.measures?.unparsableShare, run.measures?.contentLoss
      )
      return outcomes
    }
    var report = builder.report(
      names: labels, split: split, truncated: runs.map(\.records.truncated).max() ?? 0, runs: outcomes,
      baselines: baselines.map { $0.keeping(kept) })
    report.notes = notes + failures
    for found in report.comparisons where found.isIdentical && found.metric == RunComparison.accuracy {
      report.notes.append(
        HygieneNote(.other, count: report.examples, "'\(found.a)' and '\(found.b)' gave every label of every text the same probability."))
    }
    return report
  }

  private var failures: [HygieneNote] {
    runs.compactMap { run in
      guard let fault = run.records.firstFailure else { return nil }
      let count = run.records.failures
      return HygieneNote(
        .failed, count: count,
        "\(count) of \(examples.count) texts could not be scored under '\(run.records.name)' and \(count == 1 ? "is" : "are") left out, such as: "
          + "\(fault)")
    }
  }
}

extension RunOutcomes {
  /// The outcomes of the examples at `indices` alone.
  fileprivate func keeping(_ indices: [Int]) -> RunOutcomes {
    var kept = self
    kept.logProbabilities = indices.map { logProbabilities[$0] }
    kept.tags = tags.map { tags in indices.map { tags[$0] } }
    if !inclusion.isEmpty { kept.inclusion = indices.map { inclusion[$0] } }
    return kept
  }
}
