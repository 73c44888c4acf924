/// The settings of the training of an adapter, as written in a recipe; nil leaves the command's default. Key names follow mlx-lm where it
/// has one.
package struct TrainingRecipe: Equatable, Sendable {
  /// The settings that do not depend on adapters.
  package var optimization: OptimizationRecipe
  /// Passes over the texts.
  package var epochs: Int?
  /// Texts that go through the model together, `batch_size`.
  package var batchSize: Int?
  /// Batches of a step, `grad_accumulation_steps`.
  package var accumulation: Int?
  /// Steps between two validations, `steps_per_eval`; otherwise they come after each pass.
  package var validationInterval: Int?
  /// The weights of texts by their labels, `class_weights`.
  package var classWeights: ClassWeights?
  /// The share in answers of a classifier of words that learns from the same texts, `word_share`.
  package var wordShare: Double?
  /// The most tokens of a text with its prompt and answer, `max_seq_length`.
  package var maximumTokens: Int?
  /// The adapter's rank, `lora_parameters.rank`.
  package var rank: Int?
  /// The update is scaled by alpha over rank, `lora_parameters.alpha`.
  package var alpha: Double?
  /// The update is multiplied by it, `lora_parameters.scale`, in place of alpha.
  package var scale: Double?
  /// True to divide alpha by the root of the rank, `lora_parameters.use_rslora`.
  package var stabilizesRank: Bool?
  /// True to give each output of an adapted layer a trained magnitude, `lora_parameters.use_dora`.
  package var decomposesWeights: Bool?
  /// The share of inputs that the adapter does not see in a step, `lora_parameters.dropout`.
  package var dropout: Double?
  /// Names of the adapted linear layers, `lora_parameters.keys`.
  package var targets: [String]?
  /// The instruction that the model is given, `prompt.instruction`.
  package var instruction: String?
  /// The key of the answer's JSON, `prompt.key`.
  package var key: String?
  /// The form that the prompt is put into, `prompt.form`: `chat` or `plain`.
  package var form: String?
  /// The template of the prompt, with `{instruction}` and `{text}`, `prompt.template`.
  package var template: String?
  /// The weight of a token of the answer's JSON, where one of a label counts 1, `prompt.scaffolding_weight`.
  package var scaffoldingWeight: Double?

  /// The shares that a classifier of words can have.
  package static let wordShares = 0...0.9

  /// The weights of texts by their labels.
  package enum ClassWeights: Equatable, Sendable {
    /// All alike.
    case equal
    /// Texts of rare labels more.
    case balanced
    /// As much as is said for each label, in the order of the recipe.
    case given([LabelWeight])
  }

  /// The weight of the texts of a label.
  package struct LabelWeight: Equatable, Sendable {
    /// The label.
    package let label: String
    /// The weight: 1 where nothing is said.
    package let weight: Double

    /// A label and its weight.
    package init(label: String, weight: Double) { (self.label, self.weight) = (label, weight) }
  }

  /// Decodes a recipe; `targets` are the names of linear layers that exist.
  ///
  /// `settings` are pairs `key=value` that win over the text, which may be nil: the key is a path with dots, the value YAML.
  package init(yaml: String?, file: String, settings: [String] = [], targets allowed: [String]) throws(RecipeError) {
    var root = try RecipeReader(yaml: yaml, file: file, settings: settings)
    optimization = try OptimizationRecipe(&root)
    epochs = try root.int("epochs", 1...10_000)
    batchSize = try root.int("batch_size", 1...4096)
    accumulation = try root.int("grad_accumulation_steps", 1...4096)
    validationInterval = try root.int("steps_per_eval", 1...1_000_000)
    switch try root.numbers("class_weights", 1e-6...1e6, or: ["balanced", "none"]) {
    case .word(let word)?: classWeights = word == "none" ? .equal : .balanced
    case .numbers(let weights)?: classWeights = .given(weights.map { LabelWeight(label: $0.key, weight: $0.value) })
    case nil: break
    }
    wordShare = try root.number("word_share", Self.wordShares)
    maximumTokens = try root.int("max_seq_length", 8...(1 << 20))
    if var lora = try root.section("lora_parameters") {
      rank = try lora.int("rank", 1...4096)
      alpha = try lora.number("alpha", 1e-6...1e6)
      scale = try lora.number("scale", 1e-6...1e6)
      stabilizesRank = try lora.bool("use_rslora")
      decomposesWeights = try lora.bool("use_dora")
      dropout = try lora.number("dropout", 0...0.9)
      targets = try lora.strings("keys", oneOf: allowed)
      try lora.refuseUnknownKeys()
      if alpha != nil, scale != nil { throw .conflictingKeys(file: file, first: "lora_parameters.alpha", second: "lora_parameters.scale") }
    }
    if var prompt = try root.section("prompt") {
      instruction = try prompt.string("instruction")
      key = try prompt.string("key")
      form = try prompt.string("form", oneOf: ["chat", "plain"])
      template = try prompt.string("template")
      if form != nil, template != nil { throw .conflictingKeys(file: file, first: "prompt.form", second: "prompt.template") }
      scaffoldingWeight = try prompt.number("scaffolding_weight", 0...1)
      try prompt.refuseUnknownKeys()
    }
    try root.refuseUnknownKeys()
  }
}
