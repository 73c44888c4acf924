package import DibitDataset
internal import DibitFiles
internal import DibitInference
internal import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitReport
internal import DibitStatistics
internal import DibitTokenizer
internal import Glibc

/// Runs models, adapters and baselines over the same labelled texts and turns what they said into one report.
package struct EvaluationStudy {
  /// A model, with or without an adapter, in a study.
  package struct Subject: Sendable {
    /// The kind of run that a report takes it for.
    package let kind: ReportedRun.Kind
    /// The model and how it is asked.
    package let subject: EvaluationSubject

    /// A subject; its name is unique in a study.
    package init(_ kind: ReportedRun.Kind, _ subject: EvaluationSubject) { (self.kind, self.subject) = (kind, subject) }
  }

  /// The progress of the work that is going on.
  package struct Progress: Equatable, Sendable {
    /// The work that is going on: "evaluating base".
    package let title: String
    /// Texts that are done.
    package let done: Int
    /// Texts that will be.
    package let total: Int
  }

  /// The labels that are chosen among.
  package let labels: [String]
  /// The texts that every subject is asked about.
  package let examples: [LabelledExample]
  private let training: [LabelledExample]
  private let options: TaggingOptions
  private let seed: UInt64
  private let compute: Compute
  private let progress: (Progress) -> Bool
  private var runs: [ScoredRun] = []
  private var baselines: [ScoredRun] = []
  private var notes: [HygieneNote]

  /// A study of `examples` under `labels`; baselines learn from `training`. `progress` stops the work by returning false.
  ///
  /// - Throws: ``EvaluationError/noExamples``, ``EvaluationError/unknownLabels``.
  package init(
    labels: [String], examples: [LabelledExample], training: [LabelledExample], options: TaggingOptions, seed: UInt64,
    on compute: Compute, progress: @escaping (Progress) -> Bool
  ) throws(EvaluationError) {
    guard !examples.isEmpty else { throw .noExamples }
    _ = try Truths(labels).indices(of: examples)
    (self.labels, self.examples, self.training, self.options, self.seed) = (labels, examples, training, options, seed)
    (self.compute, self.progress) = (compute, progress)
    notes = DataHygiene.notes(examples: examples, training: training, labels: labels)
  }

  /// Runs a subject over all texts, and some of them alone: see ``SingleTextMeasures``.
  ///
  /// A text that cannot be scored is left out of the report, with a note; only where none can be is that an error.
  package func score(_ subject: Subject, aloneTexts: Int) throws(EvaluationError) -> ScoredRun {
    let title = "evaluating \(subject.subject.name)"
    ProcessMemory.resetPeak()
    let records = try Evaluator.run(
      [subject.subject], labels: labels, examples: examples, options: options, latencyTexts: aloneTexts, on: compute
    ) { [progress] report in progress(Progress(title: title, done: report.done, total: report.total)) }[0]
    if let fault = records.firstFailure, records.failures == examples.count { throw fault }
    let memory = ProcessMemory.peak
    let measures = try SingleTextMeasures.measure(
      subject.subject, labels: labels, examples: examples, count: aloneTexts, on: compute
    ) { [progress] done, total in progress(Progress(title: "\(title), free answers", done: done, total: total)) }
    var outcomes = records.outcomes(subject.kind, answersSets: options.selection != .one)
    (outcomes.memoryBytes, outcomes.unparsableShare, outcomes.contentLoss) = (memory, measures?.unparsableShare, measures?.contentLoss)
    let failures = records.records.compactMap { record in
      if case .failure(let fault) = record.outcome { (record.example, "\(fault)") } else { nil }
    }
    return ScoredRun(outcomes, failures: Dictionary(failures, uniquingKeysWith: { first, _ in first }), truncated: records.truncated)
  }

  /// The name in a report of an answer that is none of the labels.
  package static let otherTag = "(another tag)"

  /// Lets a subject write its tags itself, as JSON of the task's form, up to as many as an answer may have: the first is its answer, all of
  /// them its set. A tag that is no label counts as ``otherTag``, behind the labels. Of `aloneTexts` the time that each takes alone is measured
  /// too.
  package func scoreOpen(_ subject: Subject, aloneTexts: Int) throws(EvaluationError) -> ScoredRun {
    let title = "evaluating \(subject.subject.name)"
    var openOptions = OpenTagger.Options()
    (openOptions.mostTags, openOptions.cut) = (options.selection.most, options.cut)
    var tagger = try OpenTagger(subject.subject, options: openOptions, on: compute)
    var answers = [Result<OpenAnswer, EvaluationError>](repeating: .failure(.interrupted), count: examples.count)
    var (done, continues) = (0, true)
    let clock = ContinuousClock()
    ProcessMemory.resetPeak()
    let start = clock.now
    tagger.predict(examples.lazy.map(\.text)) { index, answer in
      answers[index] = answer
      done += 1
      continues = progress(Progress(title: title, done: done, total: examples.count))
      return continues
    }
    guard continues else { throw .interrupted }
    let truths = Truths(labels)
    var outcomes = RunOutcomes(
      name: subject.subject.name, kind: subject.kind, logProbabilities: [], seconds: start.duration(to: clock.now) / .seconds(1))
    outcomes.memoryBytes = ProcessMemory.peak
    outcomes.hasProbabilities = false
    var (tags, failures, written): ([Set<Int>], [Int: EvaluationError], [OpenAnswer]) = ([], [:], [])
    for (index, result) in answers.enumerated() {
      var row = [Double](repeating: -.infinity, count: labels.count + 1)
      switch result {
      case .success(let answer):
        let indices = (answer.tags ?? []).map { truths.index(of: $0) ?? labels.count }
        row[indices.first ?? labels.count] = 0
        tags.append(Set(answer.tags == nil ? [labels.count] : indices))
        written.append(answer)
      case .failure(let error):
        failures[index] = error
        tags.append([])
        row = []
      }
      outcomes.logProbabilities.append(row)
    }
    if let fault = failures.values.first, failures.count == examples.count { throw fault }
    outcomes.latencies = tagger.latencies(Evaluator.spread(examples, aloneTexts).map(\.text))
    (outcomes.tags, outcomes.unparsableShare) = (tags, written.unparsableShare)
    return ScoredRun(outcomes, failures: failures.mapValues { "\($0)" }, truncated: written.count { $0.truncatedTokens > 0 })
  }

  /// Runs baselines beside `base`, the model without an adapter; without training texts there are none.
  package func scoreBaselines(_ kinds: [BaselineKind], shots: Int, base: EvaluationSubject) throws(EvaluationError) -> [ScoredRun] {
    guard !kinds.isEmpty, !training.isEmpty else { return [] }
    let suite = BaselineSuite(labels: labels, base: base, options: options, shots: shots, seed: seed)
    return try suite.run(kinds, training: training, examples: examples, on: compute) { [progress] report in
      progress(Progress(title: "baselines, \(report.name)", done: report.done, total: report.total))
    }.map { ScoredRun($0) }
  }

  /// Takes a run into the report, one that was made now or kept by an earlier study of the same examples.
  package mutating func add(_ run: ScoredRun) {
    if run.outcomes.kind == .baseline { baselines.append(run) } else { runs.append(run) }
  }

  /// Says in the report that there is nothing for baselines to learn from, where that is so.
  package mutating func noteMissingBaselines() {
    guard training.isEmpty else { return }
    notes.append(HygieneNote(.other, count: 0, "There are no training texts beside those evaluated, so there are no baselines."))
  }

  /// Measures on up to `count` texts how much each subject's answers depend on the order in which the instruction lists the labels; nothing
  /// where it does not list them.
  package mutating func measureOrderBias(_ subjects: [Subject], texts count: Int) throws(EvaluationError) {
    let texts = Evaluator.spread(examples, count).map(\.text)
    guard !texts.isEmpty else { return }
    for item in subjects {
      let subject = item.subject
      guard let task = subject.task.task.unlisting(labels) else { continue }
      guard progress(Progress(title: "order of labels, \(subject.name)", done: 0, total: texts.count)) else { throw .interrupted }
      let bias = try LabelOrderBias.measure(
        texts, labels: labels, task: subject.task.replacing(task), model: subject.model, seed: seed, options: options,
        on: compute)
      let share = Int((100 * bias.agreement).rounded())
      notes.append(
        HygieneNote(
          .orderBias, count: bias.texts,
          "Under '\(subject.name)' two orders of the labels in the instruction agree on \(share) % of \(bias.texts) texts; probabilities move by "
            + "\(Int((100 * bias.variation).rounded())) points on average."))
    }
  }

  /// The examples that all runs are reported on: texts that one of them could not score are left out of all.
  private var kept: [Int] { examples.indices.filter { index in runs.allSatisfy { $0.failures[index] == nil } } }

  /// The names of the labels in the report.
  private var names: [String] { runs.contains { !$0.outcomes.hasProbabilities } ? labels + [Self.otherTag] : labels }

  /// The report of everything that has run. Texts that one of the runs could not score are left out of all.
  package func report(split: String, resamples: Int, keepsTexts: Bool) -> EvaluationReport {
    let (kept, names, truths) = (kept, names, Truths(labels))
    var builder = ReportBuilder(
      labels: names.count, truths: kept.map { truths.known(examples[$0]) }, bootstrap: Bootstrap(resamples: resamples, seed: seed))
    if keepsTexts { builder.texts = kept.map { examples[$0].text } }
    func outcomes(_ run: ScoredRun) -> RunOutcomes { run.outcomes.keeping(kept).padded(to: names.count) }
    var report = builder.report(
      names: names, split: split, truncated: runs.map(\.truncated).max() ?? 0, runs: runs.map(outcomes), baselines: baselines.map(outcomes))
    report.isOpen = names.count > labels.count
    let unlabelled = kept.count { examples[$0].labels.isEmpty }
    let unlabelledNotes =
      unlabelled == 0
      ? []
      : [
        HygieneNote(
          .other, count: unlabelled,
          "\(unlabelled) of the texts \(unlabelled == 1 ? "has" : "have") no label: measures of sets count \(unlabelled == 1 ? "it" : "them"), "
            + "those of one label do not.")
      ]
    report.notes = notes + unlabelledNotes + failures + baselines.flatMap { $0.outcomes.shots?.notes ?? [] }
    if report.truncated > 0 {
      let part =
        switch options.cut {
        case .tail: "its end"
        case .head: "its beginning"
        case .middle: "its middle"
        }
      report.notes.append(
        HygieneNote(
          .truncated, count: report.truncated,
          "\(report.truncated) of the texts \(report.truncated == 1 ? "is" : "are") too long for the prompt: each lost \(part)."))
    }
    for found in report.comparisons where found.isIdentical && found.metric == .accuracy {
      report.notes.append(
        HygieneNote(.other, count: report.examples, "'\(found.a)' and '\(found.b)' gave every label of every text the same probability."))
    }
    return report
  }

  /// The header of ``predictionsCSV``.
  package static let predictionColumns = ["run", "kind", "text", "truth", "prediction", "probability", "correct"]

  /// Every answer of every run and baseline as CSV, in the order of the report: which text, its labels and those of the answer (several
  /// joined by semicolons), the probability of the likeliest, and whether that is right.
  ///
  /// With sets of labels a column holds the whole answer; where answers are open there are no probabilities.
  package var predictionsCSV: String {
    let (kept, names, truths) = (kept, names, Truths(labels))
    let hasSets = (runs + baselines).contains { $0.outcomes.tags != nil }
    var text = CSV.record(Self.predictionColumns + (hasSets ? ["tags"] : []))
    for run in runs + baselines {
      let outcomes = run.outcomes
      for index in kept {
        let row = outcomes.logProbabilities[index]
        let best = LabelScores.best(row)
        let known = truths.known(examples[index])
        let probability = outcomes.hasProbabilities ? JSONValue.number(exp(row[best])).serialized() : ""
        let tags = outcomes.tags.map { $0[index].sorted().map { names[$0] }.joined(separator: ";") } ?? ""
        text += CSV.record(
          [
            outcomes.name, outcomes.kind.rawValue, DatasetExample.labelled(examples[index]).location,
            known.map { labels[$0] }.joined(separator: ";"), names[best], probability, "\(known.contains(best))",
          ] + (hasSets ? [tags] : []))
      }
    }
    return text
  }

  private var failures: [HygieneNote] {
    runs.compactMap { run in
      guard let fault = run.failures.min(by: { $0.key < $1.key })?.value else { return nil }
      let count = run.failures.count
      return HygieneNote(
        .failed, count: count,
        "\(count) of \(examples.count) texts could not be scored under '\(run.outcomes.name)' and \(count == 1 ? "is" : "are") left out, such "
          + "as: \(fault)")
    }
  }
}
