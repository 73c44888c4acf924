internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

/// The arguments of commands that train a recipe several times on parts of the same texts.
struct TrialArguments: ParsableArguments {
  @Argument(help: "The model: the output of 'dibit convert'.") var model: String
  @Option(help: ArgumentHelp("The labelled texts: a folder or a file, as for 'dibit train'.", valueName: "path")) var data: String
  @OptionGroup var adapter: AdapterRecipeArguments
  @OptionGroup var settings: RecipeSettings
  @OptionGroup var keep: KeepArguments
  @Option(
    help: ArgumentHelp(
      "The difference in accuracy, in percentage points, of which is said how many test texts tell it apart.", valueName: "points"))
  var difference = 2.0
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    guard difference > 0, difference <= 100 else {
      throw ValidationError("--difference: expected points above 0, and 100 at most, found \(difference)")
    }
  }

  /// The inputs that the job reads.
  var inputs: JobInputs { JobInputs([model, data, adapter.recipe]) }

  /// Reads the recipe, the model and the texts.
  func open() throws -> TrialInputs {
    if let output = keep.output { try inputs.check(folder: output) }
    let options = adapter.options(settings: settings.set)
    let recipe = try options.readRecipe()
    let model = try OpenedModels.openConverted(model)
    let dataset = try singleLabelled()
    let inputs = TrialInputs(
      recipe: recipe, asked: options,
      options: options.engineOptions(
        recipe,
        defaults: TrainingOptions(weights: model.weights.elementCount, examples: dataset.train.count, labels: dataset.labels.count)),
      training: try compute.compute.makeCompute(for: recipe?.optimization),
      inference: try compute.makeScoringCompute(), model: model, prompts: try ModelPrompts(model), dataset: dataset)
    if let changed = options.noteOfRank(in: inputs.options.adapter) { Terminal.note(changed) }
    try inputs.options.classWeights.check(labels: inputs.dataset.labels, recipe: options.recipeName)
    return inputs
  }

  /// The texts that have a label: what is asked for here is one.
  private func singleLabelled() throws -> Dataset {
    let dataset = try rows.readLabelled(data)
    let count = SplitName.allCases.reduce(0) { $0 + dataset.unlabelledCount($1) }
    if count > 0 { Terminal.note("\(counted(count)) without a label left out, because an answer is one label") }
    return dataset.leavingOutUnlabelled()
  }

  /// Returns the task in which the texts of `labels` are asked about.
  func task(_ inputs: TrialInputs, labels: [String]) throws -> TaggingTask {
    let task = try inputs.asked.task(inputs.recipe, for: inputs.model, asked: inputs.prompts, labels: labels) {
      Terminal.note($0)
    }
    inputs.prompts.announce(task.form)
    return task
  }

  /// Returns the identity of the results of the job: `texts` are the digests of all texts, `own` the values of the job's own options.
  func identity(
    _ job: String, of inputs: TrialInputs, _ task: TaggingTask, texts: String, own: [(key: String, value: JSONValue)] = []
  ) -> RunIdentity {
    let members: [(key: String, value: JSONValue)] =
      [("job", .string(job))] + own + [("activations", .string(compute.activations.rawValue)), ("cache", .string(compute.cache.rawValue))]
    return RunIdentity(
      model: inputs.model.digest ?? "", data: texts,
      options: JSONObject(
        members + inputs.options.members(inputs.training, task) + inputs.prompts.identity(of: task)))
  }
}

/// The inputs that a job of several trainings begins with.
struct TrialInputs {
  let recipe: TrainingRecipe?
  let asked: AdapterTraining.Options
  let options: TrainingOptions
  /// The compute that trains, and the one that asks: products must not depend on how many texts share a pass.
  let training: Compute
  let inference: Compute
  let model: StoredModel
  let prompts: ModelPrompts
  let dataset: Dataset

  /// A trial of `labels` on these inputs.
  func trial(_ task: TaggingTask, labels: [String], examples: [LabelledExample]) throws -> AdapterTrial {
    try AdapterTrial(
      model, prompts: prompts, task: task, labels: labels, examples: examples, training: training, inference: inference)
  }
}
