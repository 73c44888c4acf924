internal import ArgumentParser
internal import Dibit
internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

struct TrainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "train",
    abstract: "Train an adapter on labelled texts or conversations.",
    discussion: """
      Example: dibit train ./model --data ./notes --output ./notes-adapter --epochs 4

      PATH is a folder with one folder for each label, or with train, validation and test and such folders in them; or a file of rows in
      CSV, TSV or JSONL, or a folder with such files called train, validation and test. A row is a text with its label or labels,
      a list of messages, or a prompt and its completion. 'dibit dataset PATH' says what is in it. Without a validation split
      a stratified part is held out: none below 50, a tenth below 200, a twentieth above.
      The model's weights stay as they are; the adapter directory opens in PEFT. Its recipe.yaml holds every setting and repeats the run.
      Labelled texts are put into the model's chat template, if it has one; evaluate and predict ask in the same way.

      While it trains, checkpoints and the event log are kept in OUTPUT.checkpoints. Ctrl-C writes a checkpoint and stops; after that, or
      after a crash or a power cut, the same command with --resume goes on, and the adapter has the same bytes as without the stop.

      Few texts, and a model at two bits? Its floats may teach it: --teacher ./floats --written-texts 1000 has them write a thousand \
      texts like yours and train an adapter of their own, which labels them, and the new adapter learns from both.
      """)

  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: ArgumentHelp("The data: a folder or a file.", valueName: "path")) var data: String
  @Option(name: .shortAndLong, help: "The adapter directory to create; only --plan can do without.") var output: String?
  @Option(
    help: ArgumentHelp(
      "Go on from this adapter of the same model, which gives the start and the shape; its labels may be others.", valueName: "adapter"))
  var from: String?
  @OptionGroup var teaching: TeacherArguments
  @OptionGroup var adapter: AdapterRecipeArguments
  @Option(
    help: ArgumentHelp(
      "Find the learning rate and the epochs on texts held out for it, and train with the best, in about this time, such as 90s, 10m or 1h; "
        + "beside --teacher, of its adapter, whose share of words the new one has, too.",
      valueName: "time"))
  var budget: String?
  @Flag(help: "Replace an existing adapter, and begin anew where a stopped run left checkpoints.") var overwrite = false
  @Flag(help: "Print the result as JSON.") var json = false
  @Flag(help: "Only say how much memory the run would take, for what, and how long: that is measured for three seconds.") var plan = false
  @OptionGroup var training: RunOptions
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: ComputeOptions

  func validate() throws {
    guard output != nil || plan else { throw ValidationError("--output: the adapter directory to create is missing") }
    guard budget == nil || !plan else { throw ValidationError("--budget: expected without --plan, which measures a single training") }
    _ = try budget.map { try TimeSpan(option: "--budget", $0) }
    if plan, let lacking = lacking(of: options.teacher) {
      throw ValidationError("--plan: expected \(lacking) beside --teacher, found none: what is not there yet cannot be measured")
    }
    try checkOptions(options.check)
  }

  private var options: AdapterTraining.Options {
    var options = adapter.options(settings: training.settings.set, from: from)
    options.teacher = teaching.options
    (options.textColumn, options.labelColumn) = (rows.textColumn, rows.labelColumn)
    // What cannot be read is refused in validate().
    options.budget = budget.flatMap { try? TimeSpan(option: "--budget", $0).duration }
    return options
  }

  /// The option that a teacher needs instead of what it lacks; nil where it lacks nothing.
  private func lacking(of teacher: AdapterTraining.Teacher?) -> String? {
    guard let teacher else { return nil }
    return teacher.adapter == nil ? "--teacher-adapter" : teacher.writtenTexts == nil ? nil : "--unlabelled-texts"
  }

  func run() throws {
    Interrupt.listen()
    var options = options
    options.memoryLimit = try training.memoryLimitBytes()
    // Without an output there is only a plan: see validate().
    let output = output ?? ""
    (options.overwrites, options.resumes) = (overwrite, training.resume)
    guard let preparation = TeacherPreparation(for: options, recipe: try options.readRecipe(), output: output) else {
      return try train(model, options, into: output)
    }
    try prepare(preparation, for: output)
    try train(model, preparation.training(note: Terminal.note), into: output)
  }

  /// Makes what the teacher lacks.
  private func prepare(_ preparation: TeacherPreparation, for output: String) throws {
    try preparation.check(output, inputs: preparation.options.inputs(of: model, data), beside: rows.read(data))
    let teacher = try OpenedModels.openConverted(preparation.model)
    try teacher.checkTokenizer(against: OpenedModels.openConverted(model), as: "a teacher")
    if let texts = preparation.texts {
      let writing = TextWriting(
        model: preparation.model, data: data, options: texts.options, output: texts.path, resumes: training.resume, overwrites: overwrite,
        inputs: JobInputs([model, output]))
      try writing.run(like: rows.readLabelled(data), on: compute.makeScoringCompute())
    }
    guard let adapter = preparation.adapter else { return }
    Terminal.write("the teacher learns first\n")
    try train(preparation.model, adapter.options, into: adapter.path, isTeacher: true)
  }

  /// Trains an adapter by a teacher that lacks nothing, or none.
  private func train(_ modelPath: String, _ options: AdapterTraining.Options, into path: String, isTeacher: Bool = false) throws {
    let recipe = try options.readRecipe()
    let trained = try compute.makeCompute(for: recipe?.optimization)
    let model = try OpenedModels.openConverted(modelPath)
    let asked = try answering(
      AdapterTrainingJob(options, recipe: recipe, model: model, dataset: rows.read(data), at: data, on: trained, note: Terminal.note))
    asked.prompts.announce(asked.task.form)
    var output = AdapterTrainingJob.Output(path, inputs: options.inputs(of: modelPath, data))
    (output.overwrites, output.resumes, output.interval) = (overwrite, training.resume, training.interval(recipe?.optimization))
    if !plan {
      try training.checkOutputs(output.path, output.inputs)
      if training.resume, let manifest = try asked.completed(output) {
        if isTeacher { return Terminal.note("'\(path)' is the finished adapter of the teacher") }
        return json ? printJSON(manifest) : Output.print("'\(path)' is the finished adapter of this run")
      }
      try output.check()
    }
    for finding in asked.dataset.report.summary { Terminal.note(finding) }
    let job = try search(asked, options, output)
    var trainer = try job.makeTrainer(note: Terminal.note)
    Terminal.write(
      "\(grouped(job.split.train)) training and \(grouped(job.split.validation)) validation "
        + (job.dataset.kind == .labelled ? "texts, \(counted(job.dataset.labels.count, "label")); " : "conversations; ")
        + "\(grouped(trainer.parameterCount)) adapter parameters over \(grouped(model.weights.elementCount)) frozen ones\n")
    if plan {
      let estimate = trainer.estimate()
      return show(trainer.plan, trainer.totalSteps, estimate)
    }
    var run = try AdapterTrainingJob.Run(job, trainer, into: output, note: Terminal.note)
    // Nothing is learnt from damaged weights.
    try OpenedModels.waitForChecks()
    var view = try RunView("training", tensorboard: isTeacher ? nil : training.tensorboard, inputs: output.inputs)
    let result = try Failure.context("training on '\(data)'") {
      try run.train { event in
        view.show(event)
        return !Interrupt.isRequested
      }
    }
    view.finish()
    guard !result.wasInterrupted else { throw training.interruption(result, run.checkpoints) }
    let manifest = try run.write(result, note: Terminal.note)
    if isTeacher { return Terminal.wrote(path) }
    if json { printJSON(.object(manifest)) } else { show(result, view) }
    Terminal.wrote(path)
    if adapter.recipe == nil { describeDefaults(job.options, result, path) }
  }

  /// The job with the texts that its teacher labels, before a person's eyes; itself without such texts.
  private func answering(_ job: AdapterTrainingJob) throws -> AdapterTrainingJob {
    var line = ProgressLine("the teacher labels texts")
    let answered = try job.answering(scoring: compute.makeScoringCompute(), note: Terminal.note) { done, total in
      line.update(done, of: total, counted(done))
      return !Interrupt.isRequested
    }
    line.finish()
    guard let answered else { throw Failure(.interrupted, "interrupted while the teacher labelled texts; nothing was trained") }
    if !answered.answered.isEmpty { Terminal.note("\(counted(answered.answered.count)) that the teacher labelled are learnt from, too") }
    return answered
  }

  /// The job with the settings that a search within the budget finds, before a person's eyes; itself without a budget.
  private func search(
    _ job: AdapterTrainingJob, _ options: AdapterTraining.Options, _ output: AdapterTrainingJob.Output
  ) throws -> AdapterTrainingJob {
    guard options.budget != nil else { return job }
    // Nothing is learnt from damaged weights.
    try OpenedModels.waitForChecks()
    var view = SearchView()
    let found = try Failure.context("searching on '\(data)'") {
      try job.searching(options, into: output, scoring: compute.makeScoringCompute(), note: Terminal.note) { view.show($0) }
    }
    guard let found else { throw Failure(.interrupted, "interrupted") }
    return found
  }

  /// Says what was chosen where nobody chose, and where to change it.
  private func describeDefaults(_ options: TrainingOptions, _ result: TrainingResult, _ output: String) {
    let values = [
      "epochs \(options.epochs)", "batch_size \(options.batchSize) (steps in all: \(result.totalSteps))",
      "learning_rate \(options.optimization.learningRate)", "rank \(options.adapter.rank)",
      "alpha \(JSONValue.number(Double(options.adapter.alpha)).serialized())",
    ]
    Terminal.note(
      "no recipe was given: \(values.joined(separator: ", ")); all values are in '\(join(output, StoreFile.recipe))', to be changed and "
        + "given to --recipe")
  }

  private func show(_ plan: MemoryPlan, _ steps: Int, _ estimate: RunEstimate) {
    if json {
      var object = JSONObject([(key: "memory", value: plan.json)])
      object["steps"] = .integer(steps)
      object["estimate"] = estimate.json
      return printJSON(.object(object))
    }
    printTable([
      ["weights", size(plan.weights)], ["adapter and optimiser", size(plan.trained)],
      ["activations, \(plan.keptLayers) of \(plan.layers) layers kept", size(plan.activations)],
      ["keys and values", size(plan.cache)], ["backward pass", size(plan.backward)], ["loss", size(plan.loss)],
      ["together", size(plan.total)],
    ])
    Output.print("at most \(counted(plan.rows, "token")) at once; layers that are not kept are computed twice, with the same result")
    Output.print(
      "\(counted(steps, "step")) over \(counted(estimate.trainingTokens, "token")): about \(duration(estimate.seconds)) at "
        + "\(decimal(estimate.trainingRate, 0)) tokens/s on this machine")
  }

  private func show(_ result: TrainingResult, _ view: borrowing RunView) {
    if result.truncatedExamples > 0 {
      Output.print("\(counted(result.truncatedExamples)) cut to fit, losing \(counted(result.truncatedTokens, "token")) in all")
    }
    Output.print("\(counted(result.steps, "step")), \(counted(result.tokens, "token"))\(view.summary(result))")
  }
}
