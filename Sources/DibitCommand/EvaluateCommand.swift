internal import ArgumentParser
internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitStatistics

struct EvaluateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evaluate",
    abstract: "Compare a model and its adapters on labelled texts.",
    discussion: """
      Example: dibit evaluate ./model --adapter ./notes-adapter --data ./notes

      Every run goes through the runtime that ships. The answer must be one of the labels; the most likely one counts.
      The test split is used where there is one, otherwise the validation split, otherwise the texts that were held out in training.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(name: .customLong("adapter"), help: "An adapter of this model; give the option again for more.") var adapters: [String] = []
  @Option(help: ArgumentHelp("The labelled texts: a folder or a file, as for 'dibit train'.", valueName: "path")) var data: String
  @Flag(help: "Print the report as JSON.") var json = false
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: RuntimeOptions

  func run() throws {
    Interrupt.listen()
    let compute = try compute.makeCompute(usesBLAS: false)
    let model = try StoredModel.openConverted(model)
    var dataset = try Dataset.read(data, rows: rows.options)
    guard dataset.kind == .labelled else { throw DatasetError.notLabelled(path: data) }
    let description = try commonDescription(dataset, model)
    // Faults of an adapter are told before any text is run.
    for adapter in adapters { _ = try StoredAdapter.open(adapter, for: model) }
    let split = dataset.splitForEvaluation(seed: description.seed).name
    let examples = dataset.labelled(split)
    if split == .train, !adapters.isEmpty {
      Terminal.write("note: no text was held out, so these are the texts the adapter was trained on: the scores say little about others\n")
    }
    let task = TokenizedTask(description.task, tokenizer: model.tokenizer)
    var runs: [EvaluationRun] = []
    var truncated = 0
    for name in ["base"] + adapters {
      let adapter = try name == "base" ? nil : LoadedAdapter(StoredAdapter.open(name, for: model))
      let subject = EvaluationSubject(
        name: name, model: MeasuredModel(model.configuration, weights: model.weights, adapter: adapter), task: task)
      var line = ProgressLine("evaluating \(name)")
      let records = try Failure.context("evaluating '\(name)' on '\(data)'") {
        try Evaluator.run([subject], labels: description.labels, examples: examples, on: compute) { progress in
          line.update(progress.done, of: progress.total, "\(progress.done)/\(progress.total) texts")
          return !Interrupt.isRequested
        }[0]
      }
      line.finish()
      if let fault = records.firstFailure {
        guard records.failures < records.records.count else { throw fault }
        Terminal.write("note: \(records.failures) of \(examples.count) texts could not be scored under '\(name)', such as: \(fault)\n")
      }
      runs.append(EvaluationRun(records))
      truncated = records.truncated
    }
    let report = EvaluationReport(
      labels: description.labels, split: split.rawValue, examples: examples.count, truncated: truncated, runs: runs)
    if json { printJSON(report.json) } else { show(report) }
  }

  /// Labels and prompt of the adapters, which must agree; of the data when there is no adapter.
  private func commonDescription(_ dataset: Dataset, _ model: StoredModel) throws -> AdapterDescription {
    guard let first = adapters.first else {
      var task = TaggingTask()
      task.maximumTokens = min(task.maximumTokens, model.configuration.contextLength)
      return AdapterDescription(labels: dataset.labels, task: task, seed: 0, dataDigest: dataset.digest)
    }
    let description = try AdapterDescription(adapter: first)
    for other in adapters.dropFirst() {
      let its = try AdapterDescription(adapter: other)
      guard its.labels == description.labels, its.task == description.task else {
        throw Failure(.badData, "adapters '\(first)' and '\(other)' were trained for different labels or prompts: evaluate them one by one")
      }
    }
    let unknown = dataset.labels.filter { label in !description.labels.contains { $0.utf8.elementsEqual(label.utf8) } }
    guard unknown.isEmpty else { throw EvaluationError.unknownLabels(unknown, known: description.labels.count) }
    if dataset.digest != description.dataDigest {
      Terminal.write("note: '\(data)' is not the data that '\(first)' was trained on, or it has changed since\n")
    }
    return description
  }

  private func show(_ report: EvaluationReport) {
    print("\(report.examples) texts of the \(report.split) split, \(report.labels.count) labels")
    if report.truncated > 0 { print("\(report.truncated) texts were cut to fit") }
    print()
    var rows = [["", "accuracy", "macro F1", "log loss", "texts/s"]]
    rows.append(["always the most frequent label", percent(report.majority), "", "", ""])
    for run in report.runs {
      rows.append([
        run.name, percent(run.metrics.accuracy), decimal(run.metrics.macroF1, 3), decimal(run.logLoss, 3),
        decimal(Double(report.examples) / max(run.seconds, 1e-9), 1),
      ])
    }
    printTable(rows)
    guard let best = report.runs.max(by: { $0.metrics.accuracy < $1.metrics.accuracy }) else { return }
    print("\nPer label, \(best.name):")
    printTable(
      [["  label", "precision", "recall", "F1", "texts", "most often taken for"]]
        + report.labels.indices.map { label in
          let metrics = best.metrics.perLabel[label]
          return [
            "  " + report.labels[label], decimal(metrics.precision, 2), decimal(metrics.recall, 2), decimal(metrics.f1, 2),
            "\(metrics.support)",
            confused(best.metrics.confusion[label], label, report.labels),
          ]
        })
    for run in report.runs.dropFirst() { print("\n" + verdict(report.runs[0], run)) }
  }

  private func confused(_ row: [Int], _ label: Int, _ labels: [String]) -> String {
    let others = row.indices.filter { $0 != label && row[$0] > 0 }
    guard let worst = others.max(by: { row[$0] < row[$1] }) else { return "-" }
    return "\(labels[worst]) (\(row[worst]))"
  }

  private func verdict(_ base: EvaluationRun, _ run: EvaluationRun) -> String {
    let (before, after) = (base.metrics.accuracy, run.metrics.accuracy)
    let right = { (run: EvaluationRun) in Int((run.metrics.accuracy * Double(run.metrics.count)).rounded()) }
    if after > before {
      return "With '\(run.name)' the model tags \(right(run)) of \(run.metrics.count) texts right; without it, \(right(base))."
    }
    return "'\(run.name)' does not help: \(right(run)) of \(run.metrics.count) texts right with it, \(right(base)) without it."
  }
}
