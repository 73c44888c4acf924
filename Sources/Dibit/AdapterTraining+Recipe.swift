internal import DibitCheckpoint
package import DibitDataset
internal import DibitFailure
package import DibitFiles
internal import DibitJSON
package import DibitModel
package import DibitModelStore
package import DibitRecipe
package import DibitTraining

extension AdapterTraining.Options {
  /// The name of what a recipe's values come from.
  package var recipeName: String { recipe ?? settingsName }

  /// Reads the recipe, and the settings that win over it; nil where there is neither.
  package func readRecipe() throws -> TrainingRecipe? {
    guard recipe != nil || !settings.isEmpty else { return nil }
    let text = try recipe.map { String(decoding: try readFile($0, limit: 1 << 20), as: UTF8.self) }
    return try TrainingRecipe(yaml: text, file: recipeName, settings: settings, targets: LinearKind.allCases.map(\.targetName))
  }

  /// The most tokens of a text that can be asked for.
  static let textLengths = 8...(1 << 20)

  /// The shares that a classifier of words can have.
  static let wordShares = TrainingRecipe.wordShares

  /// Refuses what no run can be made with.
  package func check() throws(DibitError) {
    try DibitError.check("epochs", epochs, 1...10_000)
    try DibitError.check("batchSize", batchSize, 1...4096)
    try DibitError.check("learningRate", learningRate, 0...10)
    try DibitError.check("rank", rank, 1...4096)
    try DibitError.check("alpha", alpha, 1e-6...1e6)
    try DibitError.check("maximumTokens", maximumTokens, Self.textLengths)
    try DibitError.check("wordShare", wordShare, Self.wordShares)
    try DibitError.check("labelShare", teacher?.labelShare, 0...0.99)
    try DibitError.check("unlabelledLimit", teacher?.unlabelledLimit, 1...10_000_000)
    try DibitError.check("writtenTexts", teacher?.writtenTexts, 1...1_000_000)
    guard teacher?.writtenTexts == nil || teacher?.unlabelledTexts == nil else {
      throw DibitError(.invalidArgument, option: "writtenTexts", "expected either it or \(optionName("unlabelledTexts")), found both")
    }
    try DibitError.check(overwrites: overwrites, resumes: resumes)
    guard let budget else { return }
    guard budget >= .seconds(1), budget <= .seconds(1_000_000) else {
      throw DibitError(.invalidArgument, option: "budget", "expected a time from 1 s to 11 days, found \(budget / .seconds(1)) s")
    }
    guard start == nil else {
      throw DibitError(.invalidArgument, option: "budget", "expected either it or \(optionName("start")), found both")
    }
    if let adapter = teacher?.adapter {
      throw DibitError(
        .invalidArgument, option: "budget", "beside a teacher it is for the training of its adapter; expected none, found '\(adapter)'")
    }
    guard variation.learningRate || variation.epochs else {
      throw DibitError(.invalidArgument, option: "budget", "expected learning rate or epochs to be open, found both chosen")
    }
  }

  /// The inputs of a training, which no output may destroy.
  package func inputs(of model: String, _ data: String) -> JobInputs {
    JobInputs([model, data, recipe, start, teacher?.model, teacher?.adapter, teacher?.unlabelledTexts])
  }

  /// Returns the options of an engine: the recipe over the defaults, these options over both; an adapter's own shape is the default of a
  /// run that goes on from it.
  ///
  /// - Parameter defaults: What nobody says.
  package func engineOptions(
    _ recipe: TrainingRecipe?, from start: AdapterConfiguration? = nil, defaults: TrainingOptions = TrainingOptions()
  ) -> TrainingOptions {
    var options = defaults
    if let start { options.adapter = start }
    if let recipe { options.optimization.apply(recipe.optimization) }
    options.epochs = epochs ?? recipe?.epochs ?? options.epochs
    options.batchSize = batchSize ?? recipe?.batchSize ?? options.batchSize
    options.accumulation = recipe?.accumulation ?? options.accumulation
    options.validationInterval = recipe?.validationInterval
    options.classWeights =
      classWeights.map { $0 == .balanced ? .balanced : .equal } ?? recipe?.classWeights.map { ClassWeights($0) } ?? .equal
    options.wordShare = wordShare ?? recipe?.wordShare ?? options.wordShare
    options.optimization.learningRate = learningRate.map { Float($0) } ?? options.optimization.learningRate
    options.optimization.seed = seed ?? options.optimization.seed
    options.optimization.memoryLimit = memoryLimit
    options.adapter.rank = rank ?? recipe?.rank ?? options.adapter.rank
    options.adapter.dropout = recipe?.dropout.map { Float($0) } ?? options.adapter.dropout
    options.adapter.decomposesWeights = recipe?.decomposesWeights ?? options.adapter.decomposesWeights
    options.adapter.stabilizesRank = recipe?.stabilizesRank ?? options.adapter.stabilizesRank
    if alpha == nil, let scale = recipe?.scale {
      options.adapter.alpha =
        Float(scale) * (options.adapter.stabilizesRank ? Float(options.adapter.rank).squareRoot() : Float(options.adapter.rank))
    } else if let alpha = alpha ?? recipe?.alpha {
      options.adapter.alpha = Float(alpha)
    } else if start == nil {
      // Another rank is no other scale.
      options.adapter.alpha = defaults.adapter.alpha / Float(defaults.adapter.rank) * Float(options.adapter.rank)
    }
    if let targets = recipe?.targets { options.adapter.targets = LinearKind.allCases.filter { targets.contains($0.targetName) } }
    return options
  }

  /// A line on what a rank beside a recipe does to the adapter's scale; nil where the scale stays as it is, or was asked for.
  ///
  /// - Parameter adapter: the shape in effect.
  package func noteOfRank(in adapter: AdapterConfiguration) -> String? {
    let own = ["lora_parameters=", "lora_parameters.alpha=", "lora_parameters.scale="]
    guard recipe != nil, start == nil, alpha == nil, !settings.contains(where: { own.contains(where: $0.hasPrefix) }) else { return nil }
    var plain = self
    (plain.rank, plain.settings) = (nil, [])
    // Without an alpha in the recipe either, the scale stays.
    guard let said = try? plain.readRecipe(), said.alpha != nil else { return nil }
    var before = plain.engineOptions(said).adapter
    before.stabilizesRank = adapter.stabilizesRank
    guard before.rank != adapter.rank, before.scale != adapter.scale else { return nil }
    func shown(_ value: Float) -> String { JSONValue.number(Double("\(value)") ?? 0).serialized() }
    let kept = before.scale * (adapter.scale == 0 ? 1 : adapter.alpha / adapter.scale)
    let what = adapter.stabilizesRank ? "alpha / √rank" : "alpha / rank"
    return "rank \(adapter.rank) in place of \(before.rank) beside alpha \(shown(adapter.alpha)) changes the scale \(what) from "
      + "\(shown(before.scale)) to \(shown(adapter.scale)); \(optionName("alpha")) \(shown(kept)) keeps it"
  }

  /// The prompt, kept to what the model can read, with the labels where its instruction names them; no labels for conversations.
  ///
  /// - Parameter note: is told what a user should know of the prompt.
  package func task(
    _ recipe: TrainingRecipe?, for model: StoredModel, asked prompts: ModelPrompts, labels: [String], note: (String) -> Void
  ) throws -> TaggingTask {
    var task = TaggingTask()
    let choice = promptForm ?? recipe?.form.flatMap(AdapterTraining.PromptForm.init)
    guard !labels.isEmpty || choice == nil else {
      throw DibitError(
        .invalidArgument, option: "promptForm", "is for labelled texts; conversations are written in the model's own turns")
    }
    task.instruction = recipe?.instruction ?? task.instruction
    task.key = recipe?.key ?? task.key
    if promptForm == nil { task.template = try recipe?.template.map { try PromptTemplate($0) } }
    if task.template == nil, !labels.isEmpty { task.form = try prompts.form(choice) }
    task.scaffoldingWeight = recipe?.scaffoldingWeight.map { Float($0) } ?? task.scaffoldingWeight
    task.maximumTokens = min(maximumTokens ?? recipe?.maximumTokens ?? task.maximumTokens, model.configuration.contextLength)
    return task.listing(labels, note: note)
  }
}

extension TaggingTask {
  /// The task with the labels named where its instruction says so; what looks like that placeholder and is none is told.
  package func listing(_ labels: [String], note: (String) -> Void) -> TaggingTask {
    let names = instruction.split(separator: "{", omittingEmptySubsequences: false).dropFirst().compactMap { part in
      part.firstIndex(of: "}").map { "{\(part[..<$0])}" }
    }
    for name in names where name != Self.labelsPlaceholder && name.lowercased().contains("label") {
      note("\(quoted(name)) in the instruction stands for nothing; '\(Self.labelsPlaceholder)' names the labels")
    }
    return listing(labels)
  }
}
