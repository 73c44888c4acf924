package import DibitDataset
package import DibitJSON
package import DibitKernels
internal import DibitModel
internal import DibitModelStore
package import DibitRecipe
package import DibitTraining

extension OptimizationOptions {
  /// Lets a recipe win over the values so far.
  package mutating func apply(_ recipe: OptimizationRecipe) {
    func set<Value>(_ path: WritableKeyPath<Self, Value>, _ value: Value?) { if let value { self[keyPath: path] = value } }
    set(\.seed, recipe.seed)
    set(\.learningRate, recipe.learningRate.map { Float($0) })
    set(\.warmUp, recipe.warmUp.map { .share(Float($0)) })
    set(\.warmUp, recipe.warmUpSteps.map { .steps($0) })
    set(\.schedule, recipe.schedule.flatMap(Schedule.Shape.init(recipeName:)))
    set(\.finalLearningRate, recipe.finalLearningRate.map { Float($0) })
    if let steps = recipe.fallingSteps { fallingSteps = steps }
    set(\.initialLearningRate, recipe.initialLearningRate.map { Float($0) })
    set(\.optimizer.weightDecay, recipe.weightDecay.map { Float($0) })
    set(\.optimizer.beta1, recipe.meanDecay.map { Float($0) })
    set(\.optimizer.beta2, recipe.squareDecay.map { Float($0) })
    set(\.clipNorm, recipe.clipNorm.map { Float($0) })
    set(\.averageDecay, recipe.averageDecay.map { Float($0) })
    set(\.microBatchTokens, recipe.microBatchTokens)
    set(\.patience, recipe.patience)
    // Waiting for a better validation makes sense only where the best one is kept.
    set(\.keepsBest, recipe.keepsBest ?? (recipe.patience ?? 0 > 0 ? true : nil))
    set(\.watchdog.factor, recipe.watchdogFactor.map { Float($0) })
    set(\.watchdog.steps, recipe.watchdogSteps)
  }

  /// The values in effect under the names of recipes: for manifests, and to tell runs apart.
  package var members: [(key: String, value: JSONValue)] {
    func number(_ value: Float) -> JSONValue { .number(Double("\(value)") ?? 0) }
    let warmUpMember: (key: String, value: JSONValue) =
      switch warmUp {
      case .share(let share): ("warmup", number(share))
      case .steps(let steps): ("warmup_steps", .integer(steps))
      }
    var members: [(key: String, value: JSONValue)] = [
      ("seed", .string(String(seed))), ("learning_rate", number(learningRate)), ("lr_schedule", .string(schedule.recipeName)),
      ("lr_end", number(finalLearningRate)), warmUpMember, ("weight_decay", number(optimizer.weightDecay)),
      ("adam_beta1", number(optimizer.beta1)), ("adam_beta2", number(optimizer.beta2)),
      ("grad_clip", number(clipNorm)), ("ema_decay", number(averageDecay)), ("micro_batch_tokens", .integer(microBatchTokens)),
      ("patience", .integer(patience)), ("keep", keepsBest ? "best" : "last"), ("watchdog_factor", number(watchdog.factor)),
      ("watchdog_steps", .integer(watchdog.steps)),
    ]
    if let fallingSteps { members.append(("lr_steps", .integer(fallingSteps))) }
    if initialLearningRate > 0 { members.append(("lr_warmup_init", number(initialLearningRate))) }
    if let normLearningRate { members.append(("norm_learning_rate", number(normLearningRate))) }
    if ratesAreInScales { members.append(("rates_in_scales", true)) }
    if let embeddingLearningRate { members.append(("embedding_learning_rate", number(embeddingLearningRate))) }
    if let scaleLearningRate { members.append(("scale_learning_rate", number(scaleLearningRate))) }
    guard let rounding else { return members }
    members.append(("quantization", rounding.scheme.json))
    if rounding.codes != .floats { members.append(("codes", .string(rounding.codes.rawValue))) }
    if rounding.movesScales { members.append(("moves_scales", true)) }
    return members
  }
}

extension Schedule.Shape {
  init?(recipeName name: String) {
    guard let shape = Self.allCases.first(where: { $0.recipeName == name }) else { return nil }
    self = shape
  }

  /// The name in recipes.
  package var recipeName: String {
    switch self {
    case .cosine: "cosine_decay"
    case .linear: "linear_schedule"
    case .constant: "constant"
    }
  }
}

extension TrainingOptions {
  /// All values that the result depends on, under the names of recipes; with `task`, those of the prompt too.
  package func members(_ compute: Compute, _ task: TaggingTask? = nil) -> [(key: String, value: JSONValue)] {
    var members: [(key: String, value: JSONValue)] = [
      ("epochs", .integer(epochs)), ("batch_size", .integer(batchSize)),
      ("grad_accumulation_steps", .integer(accumulation)),
      ("steps_per_eval", validationInterval.map { .integer($0) } ?? .null), ("class_weights", classWeights.json),
    ]
    if wordShare > 0 { members.append(("word_share", .number(wordShare))) }
    members += optimization.members + [("compute_dtype", .string(compute.gradients.recipeName))]
    members += [
      ("rank", .integer(adapter.rank)), ("alpha", .number(Double(adapter.alpha))),
      ("dropout", .number(Double("\(adapter.dropout)") ?? 0)), ("use_rslora", .bool(adapter.stabilizesRank)),
      ("use_dora", .bool(adapter.decomposesWeights)),
      ("keys", .array(adapter.targets.map { .string($0.targetName) })),
    ]
    guard let task else { return members }
    return members + [
      ("instruction", .string(task.instruction)), ("key", .string(task.key)), ("max_seq_length", .integer(task.maximumTokens)),
      ("template", task.template.map { .string($0.text) } ?? .null), ("form", task.form.map { .string($0.rawValue) } ?? .null),
      ("scaffolding_weight", .number(Double("\(task.scaffoldingWeight)") ?? 1)),
    ]
  }
}

extension ProductPrecision {
  /// Takes the type that a recipe asks for; BF16 where it says nothing.
  package init(recipe: OptimizationRecipe?) { self = Self.allCases.first { $0.recipeName == recipe?.computeType } ?? .bfloat16 }

  /// The name in recipes and manifests.
  package var recipeName: String {
    switch self {
    case .bfloat16: "bfloat16"
    case .float: "float32"
    }
  }
}

extension ClassWeights {
  init(_ recipe: TrainingRecipe.ClassWeights) {
    self =
      switch recipe {
      case .equal: .equal
      case .balanced: .balanced
      case .given(let weights): .given(weights.map { (label: $0.label, weight: $0.weight) })
      }
  }

  /// The value under `class_weights` in a recipe.
  package var json: JSONValue {
    switch self {
    case .equal: "none"
    case .balanced: "balanced"
    case .given(let weights): .object(JSONObject(weights.map { (key: $0.label, value: .number($0.weight)) }))
    }
  }

  /// Refuses weights of labels that no text has.
  package func check(labels: [String], recipe: String) throws {
    guard self != .equal else { return }
    guard !labels.isEmpty else { throw DibitError(.invalidArgument, "class weights are for labelled texts; conversations have no labels") }
    guard case .given(let weights) = self else { return }
    for entry in weights where !labels.contains(where: { $0.utf8.elementsEqual(entry.label.utf8) }) {
      throw DibitError(
        .invalidData,
        "\(recipe): 'class_weights': expected labels of the data (\(labels.prefix(5).joined(separator: ", "))"
          + "\(labels.count > 5 ? ", …" : "")), found '\(entry.label)'")
    }
  }
}
