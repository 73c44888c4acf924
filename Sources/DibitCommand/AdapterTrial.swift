internal import DibitDataset
internal import DibitEvaluation
internal import DibitFiles
internal import DibitFailure
internal import DibitInference
internal import DibitModel
internal import DibitKernels
internal import DibitModelStore
internal import DibitReport
internal import DibitTraining

/// Trains adapters on some texts and asks them, the base model and cheap baselines about others: the folds of a cross-validation, the
/// points of a learning curve.
struct AdapterTrial {
  let model: StoredModel
  /// What is chosen among.
  let labels: [String]
  let task: TaggingTask
  let encoder: ExampleEncoder
  let training: Compute
  let inference: Compute

  /// The names of runs.
  static let adapter = "adapter"
  static let base = "base"
  static let naiveBayes = BaselineKind.words.name
  static let majority = BaselineKind.majority.name

  /// A trial of `labels` on `examples`, of which the longest answer decides how much of a long text is kept.
  init(_ inputs: TrialInputs, task: TaggingTask, labels: [String], examples: [LabelledExample]) throws {
    (model, training, inference) = (inputs.model, inputs.training, inputs.inference)
    (self.labels, self.task) = (labels, task)
    encoder = try inputs.prompts.encoder(task, for: examples.map { .labelled($0) })
  }

  /// Trains on `texts`, of which `validation` are those that training watches, and asks about `heldOut`; nil when the user stops it.
  ///
  /// The adapter goes from the trainer to the evaluation in memory, and the trainer is gone before the evaluation begins.
  func run(
    _ title: String, training texts: [LabelledExample], validation: [LabelledExample], heldOut: [LabelledExample],
    options: TrainingOptions, includesBase: Bool
  ) throws -> TrialOutcome? {
    guard let (adapter, result) = try train(title, texts, validation, options) else { return nil }
    let subjects =
      (includesBase ? [(Self.base, nil as LoadedAdapter?)] : []) + [(Self.adapter, adapter)]
    var outcome = TrialOutcome(training: texts.count, validation: validation.count, heldOut: heldOut.count, result)
    for (name, adapter) in subjects {
      guard let records = try evaluate(title, name, adapter, heldOut) else { return nil }
      outcome.truths = records.records.map(\.truths)
      outcome.truncated = records.truncated
      outcome.runs.append(records.outcomes(name == Self.base ? .base : .adapter))
    }
    let suite = BaselineSuite(labels: labels, base: subject(Self.base, nil), options: TaggingOptions(), shots: 0, seed: 0)
    outcome.runs += try suite.run([.words, .majority], training: texts + validation, examples: heldOut, on: inference)
    return outcome
  }

  private func train(
    _ title: String, _ texts: [LabelledExample], _ validation: [LabelledExample], _ options: TrainingOptions
  ) throws -> (LoadedAdapter, TrainingResult)? {
    let examples = try encoder.encode(texts.map { .labelled($0) }, weighing: options.classWeights)
    let watched = try encoder.encode(validation.map { .labelled($0) })
    var trainer = try AdapterTrainer(model.makeDecoder(), examples: examples, validation: watched, options: options, on: training)
    var view = try RunView("\(title), training", tensorboard: nil, inputs: .none)
    let result = try Failure.context(title) {
      try trainer.run { event in
        view.show(event)
        return !Interrupt.isRequested
      }
    }
    view.finish()
    return result.wasInterrupted ? nil : (LoadedAdapter(trainer.finish()), result)
  }

  private func evaluate(_ title: String, _ name: String, _ adapter: LoadedAdapter?, _ heldOut: [LabelledExample]) throws -> RunRecords? {
    let subject = subject(name, adapter)
    var line = ProgressLine("\(title), evaluating \(name)")
    let records: RunRecords?
    do {
      records = try Evaluator.run([subject], labels: labels, examples: heldOut, on: inference) { progress in
        line.update(progress.done, of: progress.total, "\(grouped(progress.done))/\(counted(progress.total))")
        return !Interrupt.isRequested
      }[0]
    } catch EvaluationError.interrupted { records = nil }
    line.finish()
    if let fault = records?.firstFailure { throw Failure(.badData, "\(title): a text cannot be scored: \(fault)") }
    return records
  }

  private func subject(_ name: String, _ adapter: LoadedAdapter?) -> EvaluationSubject {
    EvaluationSubject(
      name: name, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter), task: encoder.task)
  }
}
