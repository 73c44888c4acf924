/// The settings of a training on windows of text; nil leaves the default.
package struct WindowTrainingRecipe: Equatable, Sendable {
  /// The settings that all trainings have.
  package var optimization: OptimizationRecipe
  /// Training steps.
  package var steps: Int?
  /// Sequences of a step, `batch_size`.
  package var batchSize: Int?
  /// Tokens of a sequence, `max_seq_length`.
  package var sequenceLength: Int?
  /// Steps between two looks at the held-out text, `validation_interval`.
  package var validationInterval: Int?

  init(_ root: inout RecipeReader) throws(RecipeError) {
    optimization = try OptimizationRecipe(&root)
    steps = try root.int("steps", 1...10_000_000)
    batchSize = try root.int("batch_size", 1...4096)
    sequenceLength = try root.int("max_seq_length", 8...(1 << 20))
    validationInterval = try root.int("validation_interval", 1...1_000_000)
  }
}

/// The settings of a training of a converted model's weights and scales towards its float checkpoint; nil leaves the default.
package struct GridTrainingRecipe: Equatable, Sendable {
  /// Steps, windows and all that trainings have in common.
  package var training: WindowTrainingRecipe
  /// The peak learning rate of the logarithms of scales, `scale_learning_rate`.
  package var scaleLearningRate: Double?
  /// The peak learning rate of norms and biases, `norm_learning_rate`.
  package var normLearningRate: Double?
  /// The peak learning rate of the embedding in units of its scales, `embedding_learning_rate`.
  package var embeddingLearningRate: Double?
  /// True when scales, norms and biases are trained and weights keep their codes.
  package var trainsScalesAlone = false

  /// Decodes pairs `key=value`.
  package init(settings: [String]) throws(RecipeError) {
    var root = try RecipeReader(yaml: nil, file: "--set", settings: settings)
    training = try WindowTrainingRecipe(&root)
    scaleLearningRate = try root.number("scale_learning_rate", 0...10)
    normLearningRate = try root.number("norm_learning_rate", 0...10)
    embeddingLearningRate = try root.number("embedding_learning_rate", 0...10)
    try root.refuseUnknownKeys()
  }
}

/// The settings of a training of an adapter that brings a converted model nearer to its float checkpoint; nil leaves the default.
package struct RecoveryRecipe: Equatable, Sendable {
  /// Steps, windows and all that trainings have in common.
  package var training: WindowTrainingRecipe
  /// The rank, `rank`.
  package var rank: Int?
  /// The numerator of the scale, `alpha`.
  package var alpha: Double?

  /// Decodes pairs `key=value`.
  package init(settings: [String]) throws(RecipeError) {
    var root = try RecipeReader(yaml: nil, file: "--set", settings: settings)
    training = try WindowTrainingRecipe(&root)
    rank = try root.int("rank", 1...4096)
    alpha = try root.number("alpha", 1e-6...1e6)
    try root.refuseUnknownKeys()
  }
}
