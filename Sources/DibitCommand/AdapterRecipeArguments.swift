internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitFiles
internal import DibitModel
internal import DibitModelStore
internal import DibitRecipe
internal import DibitTraining

/// The training of an adapter: a recipe and the options that win over it. For every command that trains adapters.
struct AdapterRecipeArguments: ParsableArguments {
  @Option(help: ArgumentHelp("A recipe; options on the command line win over it.", valueName: "file")) var recipe: String?
  @Option(help: "Passes over the texts.") var epochs: Int?
  @Option(help: "Texts of a step.") var batchSize: Int?
  @Option(help: "The peak learning rate.") var learningRate: Double?
  @Option(help: "The adapter's rank.") var rank: Int?
  @Option(help: "The adapter's scale is alpha / rank.") var alpha: Double?
  @Option(help: "The most tokens of a text with its prompt and answer.") var maxTokens: Int?
  @Option(
    help: ArgumentHelp(
      "What prompts are put into: chat (what the model knows of chats, such as its chat template) or plain (lines); by default chat, if it can.",
      valueName: "form"), transform: { try choice($0, "--prompt-form") })
  var promptForm: AdapterTraining.PromptForm?
  @Option(
    help: ArgumentHelp("How much a text counts: balanced (texts of rare labels more) or none.", valueName: "weights"),
    transform: { try choice($0, "--class-weights") })
  var classWeights: AdapterTraining.ClassWeights?
  @Option(
    help: ArgumentHelp(
      "The share in each answer of a classifier of words that learns from the same texts: 0 to 0.9, by default none.", valueName: "share"))
  var wordShare: Double?
  @Option(help: "The seed of everything random.") var seed: UInt64?

  func validate() throws { try checkOptions(options(settings: []).check) }

  /// The same for the library.
  func options(settings: [String], from start: String? = nil) -> AdapterTraining.Options {
    var options = AdapterTraining.Options(recipe: recipe)
    (options.settings, options.settingsName, options.start) = (settings, "--set", start)
    (options.epochs, options.batchSize, options.learningRate, options.rank) = (epochs, batchSize, learningRate, rank)
    (options.alpha, options.maximumTokens, options.promptForm) = (alpha, maxTokens, promptForm)
    (options.classWeights, options.wordShare, options.seed) = (classWeights, wordShare, seed)
    return options
  }
}
