internal import DibitCheckpoint
package import DibitDataset
package import DibitEvaluation
internal import DibitFailure
internal import DibitJSON
package import DibitKernels
internal import DibitModelStore
package import DibitReport
package import DibitTraining

/// An evaluation of models and adapters on labelled texts: what is asked of whom, found to fit together before any text is run.
package struct EvaluationJob {
  /// The models and adapters.
  package let line: EvaluationLine
  /// The labels and the prompt that are asked with.
  package let description: AdapterDescription
  /// The split that is evaluated.
  package let split: SplitName
  /// Its texts, those that are left out because of ``leakage`` not among them.
  package let examples: [LabelledExample]
  /// The texts that all baselines learn from.
  package let training: [LabelledExample]
  /// Texts that training has seen; nil where nobody could look.
  package let leakage: Leakage?
  /// The plan of the work, part by part.
  package let plan: EvaluationPlan
  private let options: Evaluation.Options
  private let dataset: Dataset
  private let dataPath: String

  /// The evaluation of the texts in `dataset`, which was read at `path`.
  ///
  /// - Parameters:
  ///   - note: is told of the prompt, and of texts that were trained on.
  /// - Throws: ``DibitError`` where there is nothing to evaluate, or texts were trained on that ``Evaluation/Options/leakage`` refuses.
  package init(
    _ line: EvaluationLine, _ dataset: Dataset, at path: String, options: Evaluation.Options, note: (String) -> Void
  ) throws {
    try options.check()
    (self.line, self.options, dataPath) = (line, options, path)
    description = try line.description(for: dataset, at: path, instruction: options.instruction, form: options.promptForm, note: note)
    var dataset = dataset
    let automatic = dataset.splitForEvaluation(seed: description.seed).name
    self.dataset = dataset
    let split = options.split?.name ?? automatic
    self.split = split
    // Where an answer is one label, a text without one has no right answer.
    let isSingle = options.mostTags == 1
    let whole = dataset.labelled(split)
    let examples = isSingle ? whole.filter { !$0.labels.isEmpty } : whole
    if examples.count < whole.count {
      note(
        "\(counted(whole.count - examples.count)) without a label left out, because an answer is one label; "
          + "\(optionName("tags")) 2 or more asks for sets of labels")
    }
    guard !examples.isEmpty else { throw Self.nothing(in: split, of: dataset, at: path) }
    // What learns from texts cannot be tested on them.
    training = split == .train ? [] : dataset.labelled(.train).filter { !isSingle || !$0.labels.isEmpty }
    if let matches = line.leaks(examples, training, split) {
      let leakage = try Self.leakage(matches, examples, split, path, options.leakage, note)
      self.leakage = leakage
      self.examples = leakage.leftOut ? examples.indices.filter { matches[$0] == nil }.map { examples[$0] } : examples
    } else {
      (leakage, self.examples) = (nil, examples)
    }
    plan = EvaluationPlan(
      try line.subjects(description.task), baselines: training.isEmpty ? [] : options.kinds, shots: options.shots,
      isIdentified: line.isIdentified)
  }

  /// Runs all parts and reports.
  ///
  /// - Parameters:
  ///   - progress: stops the work by returning false.
  ///   - begin: is told what a stopped job says that it was doing.
  ///   - keep: gets each part that is worth a file of its own, the labels of its runs, and what makes them; gives them, kept or made.
  /// - Throws: `EvaluationError.interrupted` when `progress` stops it.
  package func run(
    on compute: Compute, keepsTexts: Bool, progress: @escaping (EvaluationStudy.Progress) -> Bool, begin: (String) -> Void = { _ in },
    keep: (EvaluationPlan.Part, _ labels: Int, _ make: () throws -> [ScoredRun]) throws -> [ScoredRun] = { _, _, make in try make() }
  ) throws -> (report: EvaluationReport, study: EvaluationStudy) {
    var study = try EvaluationStudy(
      labels: description.labels, examples: examples, training: training, options: options.tagging, seed: options.seed, on: compute,
      progress: progress)
    for part in plan.parts {
      begin(part.title)
      func make() throws -> [ScoredRun] {
        switch part.work {
        case .baselines(let kinds): try study.scoreBaselines(kinds, shots: options.shots, base: plan.base)
        case .subject(let subject):
          options.writesTags
            ? [try study.scoreOpen(subject, aloneTexts: options.aloneTexts)] : [try study.score(subject, aloneTexts: options.aloneTexts)]
        }
      }
      let labels = study.labels.count + (options.writesTags && !part.isBaseline ? 1 : 0)
      for run in try part.isKept ? keep(part, labels, make) : make() { study.add(run) }
    }
    if !options.kinds.isEmpty { study.noteMissingBaselines() }
    begin("the order of labels")
    if !options.writesTags { try study.measureOrderBias(plan.subjects, texts: options.orderTexts) }
    var report = study.report(split: split.rawValue, resamples: options.resamples, keepsTexts: keepsTexts)
    (report.model, report.data, report.leakage) = (line.models[0].path, dataPath, leakage)
    (report.digests, report.losses) = (line.digests(data: dataset.digest), line.losses)
    report.notes += line.notes(dataset, at: dataPath, split)
    return (report, study)
  }

  /// Returns the identity that all answers depend on. Which baselines there are is in the names of their parts: other ones run no model
  /// again that is done.
  package func identity(activations: String, cache: String) -> RunIdentity {
    let texts = examples.digestOfTexts + training.digestOfTexts
    let order = (examples.orderOfTexts + training.orderOfTexts).map { JSONValue.integer($0) }
    let task = description.task
    let members = JSONObject([
      ("job", "evaluate"), ("subjects", line.identity), ("order", .array(order)),
      ("labels", .array(description.labels.map { .string($0) })), ("instruction", .string(task.instruction)),
      ("key", .string(task.key)), ("max_tokens", .integer(task.maximumTokens)),
      ("template", .string(task.template?.text ?? "")), ("form", .string(task.form?.rawValue ?? "")),
      ("tags", .integer(options.mostTags)), ("open", .bool(options.writesTags)),
      ("cut", .string(options.cut.rawValue)), ("calibrate", .bool(options.calibrates)), ("alone", .integer(options.aloneTexts)),
      ("seed", .string(String(options.seed))), ("activations", .string(activations)), ("cache", .string(cache)),
      ("chat_templates", line.templates),
    ])
    return RunIdentity(model: line.digests(data: "").model ?? "", data: texts, options: members)
  }

  /// Returns the failure of a split that has no texts.
  private static func nothing(in split: SplitName, of dataset: Dataset, at path: String) -> DibitError {
    let others = SplitName.allCases.compactMap { other -> String? in
      let count = dataset.labelled(other).count
      return count > 0 ? "\(other.rawValue) has \(counted(count, "text"))" : nil
    }
    return DibitError(
      .invalidData,
      "'\(path)' has no labelled texts in the \(split.rawValue) split"
        + (others.isEmpty ? ", nor in any other" : "; \(others.joined(separator: ", "))"), others.isEmpty ? nil : .otherSplit)
  }

  /// Lists the texts that were trained on, and refuses them, leaves them out or lets them be, as was asked.
  private static func leakage(
    _ matches: [TextSketches.Match?], _ examples: [LabelledExample], _ split: SplitName, _ path: String,
    _ policy: Evaluation.LeakagePolicy, _ note: (String) -> Void
  ) throws -> Leakage {
    let leaked = matches.indices.filter { matches[$0] != nil }
    let leakage = Leakage(
      exact: matches.count { $0 == .exact }, near: matches.count { $0 == .near }, leftOut: policy == .leaveOut && !leaked.isEmpty)
    for index in leaked.prefix(10) {
      let how = matches[index] == .exact ? "was trained on" : "is nearly the same as a text that was trained on"
      note("'\(DatasetExample.labelled(examples[index]).location)' \(how)")
    }
    if leaked.count > 10 { note("and \(grouped(leaked.count - 10)) more") }
    let leavesNone = leaked.count == examples.count
    guard leaked.isEmpty || policy == .allow || policy == .leaveOut && !leavesNone else {
      throw DibitError(
        .invalidData,
        "\(grouped(leakage.exact)) of the \(counted(examples.count)) of the \(split.rawValue) split of '\(path)' were trained on, "
          + "\(grouped(leakage.near)) more nearly so", leavesNone ? .nothingHeldOut : .leaveOutLeakage)
    }
    return leakage
  }
}
