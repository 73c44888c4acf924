internal import DibitBaselines
package import DibitDataset
package import DibitEvaluation
internal import DibitInference
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitReport
package import DibitTraining

/// Trains adapters on some texts and asks them, the base model and cheap baselines about others: the folds of a cross-validation, the
/// points of a learning curve.
package struct AdapterTrial: Sendable {
  /// An event in a trial.
  package enum Event: Sendable {
    /// While an adapter is trained.
    case training(TrainingEvent)
    /// So many texts have been asked about, under this name.
    case evaluating(String, done: Int, total: Int)
  }

  private let model: StoredModel
  private let labels: [String]
  private let encoder: ExampleEncoder
  private let training: Compute
  private let inference: Compute

  /// The run of the adapter.
  package static let adapter = "adapter"
  /// The run of the model alone.
  package static let base = "base"
  /// The baseline that counts words.
  package static let naiveBayes = BaselineKind.words.name
  /// The baseline that fits a regression to words.
  package static let regression = BaselineKind.tfidf.name
  /// The baseline that answers the most frequent label.
  package static let majority = BaselineKind.majority.name

  /// A trial of `labels` on `examples`, of which the longest answer decides how much of a long text is kept.
  ///
  /// - Parameters:
  ///   - training: what trains.
  ///   - inference: what asks; its products must not depend on how many texts share a pass.
  package init(
    _ model: StoredModel, prompts: ModelPrompts, task: TaggingTask, labels: [String], examples: [LabelledExample],
    training: Compute, inference: Compute
  ) throws {
    (self.model, self.training, self.inference, self.labels) = (model, training, inference, labels)
    encoder = try prompts.encoder(task, for: examples.map { .labelled($0) })
  }

  /// Trains on `texts`, while it watches `validation`, and asks about `heldOut`, beside `baselines`; nil when `report` stops it by returning
  /// false.
  ///
  /// The adapter goes from the trainer to the evaluation in memory, and the trainer is gone before the evaluation begins.
  package func run(
    training texts: [LabelledExample], validation: [LabelledExample], heldOut: [LabelledExample], options: TrainingOptions,
    includesBase: Bool, baselines: [BaselineKind] = [.words, .tfidf, .majority], report: (Event) -> Bool
  ) throws -> TrialOutcome? {
    guard let (adapter, result) = try train(texts, validation, options, report) else { return nil }
    let words =
      options.wordShare > 0
      ? WordHead(learning: texts, labels: labels, share: options.wordShare, threads: training.threads) : nil
    var outcome = TrialOutcome(training: texts.count, validation: validation.count, heldOut: heldOut.count, result)
    for (name, adapter) in (includesBase ? [(Self.base, nil as LoadedAdapter?)] : []) + [(Self.adapter, adapter)] {
      guard let records = try evaluate(subject(name, adapter, words: adapter == nil ? nil : words), heldOut, report) else { return nil }
      outcome.truths = records.records.map(\.truths)
      outcome.truncated = records.truncated
      outcome.runs.append(records.outcomes(name == Self.base ? .base : .adapter))
    }
    let suite = BaselineSuite(labels: labels, base: subject(Self.base, nil), options: TaggingOptions(), shots: 0, seed: 0)
    outcome.runs += try suite.run(baselines, training: texts + validation, examples: heldOut, on: inference)
    return outcome
  }

  /// Asks a classifier of words that learns from `texts` about those that are held out: log-probabilities of the labels.
  package func words(training texts: [LabelledExample], heldOut: [LabelledExample]) -> [[Double]] {
    let words = WordHead(learning: texts, labels: labels, share: 0, threads: training.threads).classifier
    return heldOut.map { words.logProbabilities($0.text) }
  }

  private func train(
    _ texts: [LabelledExample], _ validation: [LabelledExample], _ options: TrainingOptions, _ report: (Event) -> Bool
  ) throws -> (LoadedAdapter, TrainingResult)? {
    let examples = try encoder.encode(texts.map { .labelled($0) }, weighing: options.classWeights)
    let watched = try encoder.encode(validation.map { .labelled($0) })
    var trainer = try AdapterTrainer(model.makeDecoder(), examples: examples, validation: watched, options: options, on: training)
    let result = try trainer.run { report(.training($0)) }
    return result.wasInterrupted ? nil : (LoadedAdapter(trainer.trainedAdapter()), result)
  }

  private func evaluate(
    _ subject: EvaluationSubject, _ heldOut: [LabelledExample], _ report: (Event) -> Bool
  ) throws -> RunRecords? {
    let records: RunRecords
    do {
      records = try Evaluator.run([subject], labels: labels, examples: heldOut, on: inference) { progress in
        report(.evaluating(subject.name, done: progress.done, total: progress.total))
      }[0]
    } catch EvaluationError.interrupted { return nil }
    if let fault = records.firstFailure { throw DibitError(.invalidData, "a text cannot be scored: \(fault)") }
    return records
  }

  private func subject(_ name: String, _ adapter: LoadedAdapter?, words: WordHead? = nil) -> EvaluationSubject {
    EvaluationSubject(
      name: name, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter), task: encoder.task, words: words)
  }
}
