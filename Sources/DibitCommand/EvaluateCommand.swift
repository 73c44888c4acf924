internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFiles
internal import DibitInference
internal import DibitJSON
internal import DibitKernels
internal import DibitReport
internal import DibitTokenizer
internal import DibitTraining

struct EvaluateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evaluate",
    abstract: "Is an adapter better than the base model and than cheap classifiers?",
    discussion: """
      Example: dibit evaluate ./model --adapter ./notes-adapter --data ./notes --report notes.html

      Every run goes through the runtime that ships. The answer must be one of the labels; the most likely one counts. The test split is used
      where there is one, otherwise the validation split, otherwise the texts that were held out in training.

      The first line says whether the best adapter beats the base model and every baseline beyond noise. Baselines learn from the training
      split: the most frequent label, naive Bayes on words, logistic regression on words, the nearest centroid of and logistic regression on
      the base model's embeddings, and the base model with a few answered examples before each text.

      Texts that an adapter was trained on, or nearly so, are refused. With --require-improvement the exit status is 3 unless an adapter is
      better than all of them.

      With --output every finished run is kept; after Ctrl-C or a crash the same command with --resume goes on behind them.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(name: .customLong("adapter"), help: "An adapter of this model or of one to compare; give the option again for more.")
  var adapters: [String] = []
  @Option(
    name: .customLong("compare"),
    help: ArgumentHelp("Another model, converted or not, beside this one; give the option again for more.", valueName: "model"))
  var others: [String] = []
  @Option(help: ArgumentHelp("The labelled texts: a folder or a file, as for 'dibit train'.", valueName: "path")) var data: String
  @OptionGroup(title: "Scoring") var scoring: ScoringArguments
  @OptionGroup(title: "Statistics") var statistics: StatisticsArguments
  @OptionGroup(title: "Results") var results: ResultArguments
  @OptionGroup var keep: KeepArguments
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    if scoring.instruction != nil, !adapters.isEmpty {
      throw ValidationError("--instruction: an adapter is asked as it was trained; expected no --adapter beside it")
    }
    if scoring.promptForm != nil, !adapters.isEmpty {
      throw ValidationError("--prompt-form: an adapter is asked as it was trained; expected no --adapter beside it")
    }
    if let runs = results.runs, runs == keep.output {
      throw ValidationError("--runs: expected another folder than that of --output, found '\(runs)' for both")
    }
  }

  func run() throws {
    Interrupt.listen()
    // What cannot be written is found before the work, not behind it.
    let inputs = JobInputs([model] + adapters + others + [data])
    try results.check(overwrite: keep.overwrite, inputs)
    let compute = try compute.makeScoringCompute()
    // Faults of models and adapters are told before any text is run.
    let models = try [OpenedModels.openConverted(model)] + others.map { try OpenedModels.open($0) }
    let line = try EvaluationLine(models, adapters: adapters, on: compute)
    let dataset = try rows.readLabelled(data)
    let options = statistics.apply(to: scoring.options)
    let job = try EvaluationJob(line, dataset, at: data, options: options) { Terminal.note($0) }
    if adapters.isEmpty { line.prompts[0].announce(job.description.task.form) }
    let identity = job.identity(activations: self.compute.activations.rawValue, cache: self.compute.cache.rawValue)
    var completed = try keep.parts(inputs, identity: identity, names: job.plan.keptNames, of: .run)
    var bar = ProgressLines()
    var title = ""
    var (report, study): (EvaluationReport, EvaluationStudy)
    do {
      (report, study) = try job.run(on: compute, keepsTexts: results.keepsTexts) { progress in
        bar.update(progress.title, progress.done, of: progress.total)
        return !Interrupt.isRequested
      } begin: {
        title = $0
      } keep: { part, labels, make in
        try completed.outcome(
          part.name, read: { [ScoredRun]($0, labels: labels, examples: job.examples.count) },
          json: { runs in JSONObject([("runs", .array(runs.map { .object($0.json) }))]) }, make) ?? []
      }
    } catch EvaluationError.interrupted {
      bar.finish()
      throw completed.interruption(title)
    }
    bar.finish()
    (report.model, report.command) = (model, CommandText.ofProcess)
    try results.write(report, predictions: study.predictionsCSV, overwrite: keep.overwrite, inputs)
    if statistics.requireImprovement, report.subject?.kind != .adapter || report.standing != .better {
      throw Failure(.unmet, "no adapter is better than the base model and every baseline beyond noise (--require-improvement)")
    }
  }
}

extension [ScoredRun] {
  /// Reads the runs that a part kept; nil for anything else.
  fileprivate init?(_ json: JSONValue, labels: Int, examples: Int) {
    guard let runs = json["runs"]?.array?.map({ ScoredRun($0, labels: labels, examples: examples) }), !runs.contains(where: { $0 == nil })
    else { return nil }
    self = runs.compactMap(\.self)
  }
}
