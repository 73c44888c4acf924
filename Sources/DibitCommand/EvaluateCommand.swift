internal import ArgumentParser
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFailure
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
      split: the most frequent label, naive Bayes on words, the nearest centroid of and logistic regression on the base model's embeddings,
      and the base model with a few answered examples before each text.

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
    let compute = try compute.makeCompute(usesBLAS: false)
    // Faults of models and adapters are told before any text is run.
    let line = try EvaluationLine(model: model, others: others, adapters: adapters, on: compute)
    var dataset = try rows.readLabelled(data)
    let description = try line.description(for: dataset, at: data, instruction: scoring.instruction, form: scoring.promptForm)
    let automatic = dataset.splitForEvaluation(seed: description.seed).name
    let split = scoring.split ?? automatic
    var examples = dataset.labelled(split)
    guard !examples.isEmpty else { throw Self.nothing(in: split, of: dataset, at: data) }
    // What learns from texts cannot be tested on them.
    let training = split == .train ? [] : dataset.labelled(.train)
    var leakage: Leakage?
    if let leaks = line.leaks(examples, training, split) { leakage = try self.leakage(leaks, &examples, split) }
    let plan = EvaluationPlan(
      try line.subjects(description.task), baselines: training.isEmpty ? [] : statistics.baselines, shots: statistics.shots,
      isIdentified: line.isIdentified)
    var finished = try FinishedParts(
      keep, inputs: inputs, identity: identity(line, description, examples, training), names: plan.keptNames, of: .run)
    var bar = ProgressLines()
    var study = try EvaluationStudy(
      labels: description.labels, examples: examples, training: training, options: scoring.options, seed: statistics.seed, on: compute
    ) { progress in
      bar.update(progress.title, progress.done, of: progress.total)
      return !Interrupt.isRequested
    }
    var job = ""
    do {
      for part in plan.parts {
        job = part.title
        for run in try runs(of: part, in: study, plan, &finished) { study.add(run) }
      }
      if !statistics.baselines.isEmpty { study.noteMissingBaselines() }
      job = "the order of labels"
      if !scoring.open { try study.measureOrderBias(plan.subjects, texts: statistics.orderTexts) }
    } catch EvaluationError.interrupted {
      bar.finish()
      throw finished.interruption(job)
    }
    bar.finish()
    var report = study.report(split: split.rawValue, resamples: statistics.resamples, keepsTexts: results.keepsTexts)
    (report.model, report.data, report.leakage) = (model, data, leakage)
    (report.digests, report.command, report.losses) = (line.digests(data: dataset.digest), CommandText.ofProcess, line.losses)
    report.notes += line.notes(dataset, at: data, split)
    try results.write(report, predictions: study.predictionsCSV, overwrite: keep.overwrite, inputs)
    if statistics.requireImprovement, report.subject?.kind != .adapter || report.standing != .better {
      throw Failure(.unmet, "no adapter is better than the base model and every baseline beyond noise (--require-improvement)")
    }
  }

  /// The runs of a part: those that are kept, or what the study makes now.
  ///
  /// - Throws: `EvaluationError.interrupted` when the user stops it.
  private func runs(
    of part: EvaluationPlan.Part, in study: EvaluationStudy, _ plan: EvaluationPlan, _ finished: inout FinishedParts
  ) throws -> [ScoredRun] {
    func make() throws -> [ScoredRun] {
      switch part.work {
      case .baselines(let kinds): try study.scoreBaselines(kinds, shots: statistics.shots, base: plan.base)
      case .subject(let subject):
        scoring.open ? [try study.scoreOpen(subject)] : [try study.score(subject, aloneTexts: statistics.alone)]
      }
    }
    guard part.isKept else { return try make() }
    let labels = study.labels.count + (scoring.open && !part.isBaseline ? 1 : 0)
    let found = try finished.outcome(
      part.name,
      read: { json in
        let runs = json["runs"]?.array?.map { ScoredRun($0, labels: labels, examples: study.examples.count) }
        return runs.flatMap { runs in runs.contains { $0 == nil } ? nil : runs.compactMap(\.self) }
      }, json: { runs in JSONObject([("runs", .array(runs.map { .object($0.json) }))]) }, make)
    return found ?? []
  }

  /// What all answers depend on. Which baselines there are is in the names of their parts: other ones run no model again that is done.
  private func identity(
    _ line: EvaluationLine, _ description: AdapterDescription, _ examples: [LabelledExample], _ training: [LabelledExample]
  ) -> RunIdentity {
    let texts = examples.digestOfTexts + training.digestOfTexts
    let order = (examples.orderOfTexts + training.orderOfTexts).map { JSONValue.integer($0) }
    let options = JSONObject([
      ("job", "evaluate"), ("subjects", line.identity), ("order", .array(order)),
      ("labels", .array(description.labels.map { .string($0) })), ("instruction", .string(description.task.instruction)),
      ("key", .string(description.task.key)), ("max_tokens", .integer(description.task.maximumTokens)),
      ("template", .string(description.task.template?.text ?? "")), ("form", .string(description.task.form?.rawValue ?? "")),
      ("tags", .integer(scoring.tags)), ("open", .bool(scoring.open)),
      ("cut", .string(scoring.cut.rawValue)), ("calibrate", .bool(scoring.calibrate)), ("alone", .integer(statistics.alone)),
      ("seed", .string(String(statistics.seed))), ("activations", .string(compute.activations.rawValue)),
      ("cache", .string(compute.cache.rawValue)),
      ("chat_templates", line.templates),
    ])
    return RunIdentity(model: line.digests(data: "").model ?? "", data: texts, options: options)
  }

  /// What is said of a split that has no texts.
  private static func nothing(in split: SplitName, of dataset: Dataset, at path: String) -> Failure {
    let others = SplitName.allCases.compactMap { other -> String? in
      let count = dataset.labelled(other).count
      return count > 0 ? "\(other.rawValue) has \(counted(count, "text"))" : nil
    }
    return Failure(
      .badData,
      "'\(path)' has no labelled texts in the \(split.rawValue) split"
        + (others.isEmpty ? ", nor in any other" : "; \(others.joined(separator: ", ")): name another one with --split, or leave it out"))
  }

  /// Lists the texts that were trained on, and refuses them, leaves them out or lets them be, as was asked.
  private func leakage(_ matches: [TextSketches.Match?], _ examples: inout [LabelledExample], _ split: SplitName) throws -> Leakage {
    let leaked = matches.indices.filter { matches[$0] != nil }
    let leakage = Leakage(
      exact: matches.count { $0 == .exact }, near: matches.count { $0 == .near }, leftOut: statistics.leaveOutLeakage && !leaked.isEmpty)
    guard !leaked.isEmpty else { return leakage }
    for place in leaked.prefix(10) {
      let how = matches[place] == .exact ? "was trained on" : "is nearly the same as a text that was trained on"
      Terminal.write("note: '\(DatasetExample.labelled(examples[place]).place)' \(how)\n")
    }
    if leaked.count > 10 { Terminal.write("note: and \(grouped(leaked.count - 10)) more\n") }
    let leavesNone = leaked.count == examples.count
    guard statistics.allowLeakage || statistics.leaveOutLeakage && !leavesNone else {
      let what = "\(grouped(leakage.exact)) of the \(counted(examples.count)) of the \(split.rawValue) split of '\(data)' were trained on"
      let advice =
        leavesNone
        ? "none is left to evaluate: give texts that were held out, or ask 'dibit crossvalidate'; --allow-leakage evaluates these all the same"
        : "--leave-out-leakage evaluates the others, --allow-leakage all the same"
      throw Failure(.badData, "\(what), \(grouped(leakage.near)) more nearly so\(leavesNone ? "; " : ": ")\(advice)")
    }
    if statistics.leaveOutLeakage { examples = examples.indices.filter { matches[$0] == nil }.map { examples[$0] } }
    return leakage
  }
}
