internal import ArgumentParser
internal import DibitDataset
internal import DibitEvaluation
internal import DibitInference
internal import DibitKernels
internal import DibitReport
internal import DibitTokenizer

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
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    if scoring.instruction != nil, !adapters.isEmpty {
      throw ValidationError("--instruction: an adapter is asked as it was trained; expected no --adapter beside it")
    }
    if scoring.promptForm != nil, !adapters.isEmpty {
      throw ValidationError("--prompt-form: an adapter is asked as it was trained; expected no --adapter beside it")
    }
  }

  func run() throws {
    Interrupt.listen()
    // What cannot be written is found before the work, not behind it.
    try results.check()
    let compute = try compute.makeCompute(usesBLAS: false)
    // Faults of models and adapters are told before any text is run.
    let line = try EvaluationLine(model: model, others: others, adapters: adapters)
    var dataset = try rows.readLabelled(data)
    let description = try line.description(for: dataset, at: data, instruction: scoring.instruction, form: scoring.promptForm)
    let automatic = dataset.splitForEvaluation(seed: description.seed).name
    let split = scoring.split ?? automatic
    var examples = dataset.labelled(split)
    // What learns from texts cannot be tested on them.
    let training = split == .train ? [] : dataset.labelled(.train)
    var leakage: Leakage?
    if let leaks = line.leaks(examples, training, split) { leakage = try self.leakage(leaks, &examples, split) }
    var bar = ProgressLines()
    var study = try EvaluationStudy(
      labels: description.labels, examples: examples, training: training, options: scoring.options, seed: statistics.seed, on: compute
    ) { progress in
      bar.update(progress.title, progress.done, of: progress.total)
      return !Interrupt.isRequested
    }
    let subjects = try line.subjects(description.task)
    for subject in subjects {
      if scoring.open { try study.addOpen(subject) } else { try study.add(subject, aloneTexts: statistics.alone) }
    }
    try study.addBaselines(statistics.baselines, shots: statistics.shots, base: subjects[0].subject)
    if !scoring.open { try study.measureOrderBias(subjects, texts: statistics.orderTexts) }
    bar.finish()
    var report = study.report(split: split.rawValue, resamples: statistics.resamples, keepsTexts: results.keepsTexts)
    (report.model, report.data, report.leakage) = (model, data, leakage)
    (report.digests, report.command, report.losses) = (line.digests(data: dataset.digest), CommandText.ofProcess, line.losses)
    report.notes += line.notes(dataset, at: data, split)
    try results.write(report)
    if statistics.requireImprovement, report.subject?.kind != .adapter || report.standing != .better {
      throw Failure(.unmet, "no adapter is better than the base model and every baseline beyond noise (--require-improvement)")
    }
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
    if leaked.count > 10 { Terminal.write("note: and \(leaked.count - 10) more\n") }
    guard statistics.allowLeakage || statistics.leaveOutLeakage else {
      let what = "\(leakage.exact) of the \(examples.count) texts of the \(split.rawValue) split of '\(data)' were trained on"
      throw Failure(
        .badData, "\(what), \(leakage.near) more nearly so: --leave-out-leakage evaluates the others, --allow-leakage all the same")
    }
    if statistics.leaveOutLeakage { examples = examples.indices.filter { matches[$0] == nil }.map { examples[$0] } }
    return leakage
  }
}

/// How texts are scored.
struct ScoringArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp("The split to evaluate on: test, validation or train.", valueName: "split"), transform: { try choice($0, "--split") }
  )
  var split: SplitName?
  @Option(help: ArgumentHelp("Labels of an answer, at most; 1 gives each text one.", valueName: "n")) var tags = 1
  @Flag(help: "Let models write their tags themselves, as JSON, instead of choosing among the labels; the first tag is the answer.")
  var open = false
  @Option(
    help: ArgumentHelp("What a text loses that is too long: its tail, its head or its middle.", valueName: "part"),
    transform: { try choice($0, "--cut") })
  var cut = TextShortening.tail
  @Flag(help: "Take off what each label has without any text, so that none is preferred whatever the text says.") var calibrate = false

  @Option(
    help: ArgumentHelp(
      "What a model without an adapter is told to do; {labels} stands for the labels.", valueName: "text"))
  var instruction: String?
  @Option(
    help: ArgumentHelp("What prompts of a model without an adapter are put into: chat or plain.", valueName: "form"),
    transform: { try choice($0, "--prompt-form") })
  var promptForm: PromptChoice?

  func validate() throws {
    try checkRange("tags", tags, 1...100)
  }

  var options: TaggingOptions {
    var options = TaggingOptions()
    (options.cut, options.calibrates) = (cut, calibrate)
    options.selection = tags == 1 ? .one : .several(most: tags)
    return options
  }
}

/// What is computed beside the scores.
struct StatisticsArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Baselines, separated by commas: \(BaselineKind.allCases.map(\.rawValue).joined(separator: ", ")); all or none.", valueName: "list"),
    transform: Self.kinds)
  var baselines = BaselineKind.allCases
  @Option(help: ArgumentHelp("Examples in the few-shot prompt, as far as they fit.", valueName: "n")) var shots = 8
  @Option(
    help: ArgumentHelp("Texts that also go through each model alone: latency, free answers, loss of labels.", valueName: "n"))
  var alone = 32
  @Option(help: ArgumentHelp("Texts on which the order of the labels in the instruction is changed, if it lists them.", valueName: "n"))
  var orderTexts = 64
  @Option(help: ArgumentHelp("Samples of the bootstrap.", valueName: "n")) var resamples = 2000
  @Option(help: ArgumentHelp("The seed of everything random.", valueName: "n")) var seed: UInt64 = 0
  @Flag(help: "Evaluate texts that were trained on too.") var allowLeakage = false
  @Flag(help: "Leave texts that were trained on out, and evaluate the others.") var leaveOutLeakage = false
  @Flag(help: "Exit with status 3 unless an adapter is better than the base model and every baseline.") var requireImprovement = false

  func validate() throws {
    if allowLeakage, leaveOutLeakage { throw ValidationError("--allow-leakage: expected either it or --leave-out-leakage, found both") }
    try checkRange("shots", shots, 1...1000)
    try checkRange("alone", alone, 0...100_000)
    try checkRange("order-texts", orderTexts, 0...100_000)
    try checkRange("resamples", resamples, 100...1_000_000)
  }

  private static func kinds(_ list: String) throws -> [BaselineKind] {
    if list == "all" { return BaselineKind.allCases }
    if list == "none" { return [] }
    return try list.split(separator: ",").map { name in
      guard let kind = BaselineKind(rawValue: String(name)) else {
        let known = BaselineKind.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--baselines: expected some of \(known), or all or none, found '\(name)'")
      }
      return kind
    }
  }
}
