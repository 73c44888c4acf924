internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
package import DibitRecipe
internal import DibitTraining

/// The training of a converted model on its grid, towards the float checkpoint that it was made from: its options and what comes of it. See
/// ``Model/trainOnGrid(_:from:texts:to:options:)``.
public enum GridTraining {
  /// Options for training on a grid.
  ///
  /// ```swift
  /// var options = GridTraining.Options()
  /// options.steps = 500
  /// options.settings = ["batch_size=8"]
  /// ```
  public struct Options: Equatable, Sendable {
    /// Steps in all; nil for as many as read a million tokens.
    public var steps: Int?
    /// Tokens of text that the float model writes itself, to train on beside any that is given; nil for as many as the steps read, up to a
    /// million, where none is given.
    public var ownText: Int?
    /// Trains scales, norms and biases alone: weights keep their codes, and the embedding stays. It takes a fraction of the memory.
    public var scalesOnly = false
    /// Values in the words of a recipe, such as `learning_rate=0.002`.
    public var settings: [String] = []
    /// Replaces a model that is there, and begins anew where a stopped run left checkpoints.
    public var overwrites = false
    /// Goes on with the run that was stopped, from its newest whole checkpoint: the model has the same bytes as without the stop.
    public var resumes = false
    /// The most bytes that the run may hold; nil for no limit. Less of it makes a step slower and changes no result.
    public var memoryLimit: Int?
    /// Threads to use; nil for one for each core.
    public var threads: Int?

    /// The defaults.
    ///
    /// ```swift
    /// let options = GridTraining.Options()
    /// ```
    public init() {}

    /// Refuses what no run can be made with.
    package func check() throws(DibitError) {
      try DibitError.check("ownText", ownText, DistillationInputs.ownTokenCounts)
      try DibitError.check(steps: steps)
      try DibitError.check(overwrites: overwrites, resumes: resumes)
    }

    /// Reads the settings, after refusing what no run can be made with.
    package func recipe() throws -> GridTrainingRecipe {
      try check()
      var recipe = try GridTrainingRecipe(settings: settings)
      recipe.training.steps = steps ?? recipe.training.steps
      recipe.trainsScalesAlone = scalesOnly
      if scalesOnly { try Self.checkScalesAlone(recipe) }
      return recipe
    }

    /// Refuses rates of what stays as it is.
    private static func checkScalesAlone(_ recipe: GridTrainingRecipe) throws(DibitError) {
      let rates = [("learning_rate", recipe.training.optimization.learningRate), ("embedding_learning_rate", recipe.embeddingLearningRate)]
      for (key, rate) in rates where rate != nil {
        throw DibitError(
          .invalidData,
          "'\(key)' is a rate of weights, which stay with \(optionName("scalesOnly")): set 'scale_learning_rate' or 'norm_learning_rate'")
      }
    }
  }

  /// The result of a training.
  public struct Report: Equatable, Sendable {
    /// The directory of the model, or of the adapter.
    public let path: String
    /// Steps that were done.
    public let steps: Int
    /// Tokens that went through the model in training steps.
    public let tokens: Int
    /// Mean divergence from the float model over the last steps, in nats per token.
    public let trainingDivergence: Double
    /// The divergence on the text that was held out, in nats per token; nil where there was too little text to hold any out.
    public let validationDivergence: Double?
  }
}

extension Model {
  /// Trains all weights and scales of a converted model, on its grid, towards the predictions of the float checkpoint that it was made from.
  ///
  /// While it trains, checkpoints are kept in `output` with `.checkpoints` behind it. A job that is cancelled writes one more before it ends, and the
  /// same call with ``GridTraining/Options/resumes`` goes on; the model then has the same bytes as without the stop.
  ///
  /// ```swift
  /// let job = Model.trainOnGrid("llama", from: "llama-2bit", texts: ["texts"], to: "llama-2bit-qat")
  /// for try await case .training(.step(let step)) in job { print(step.step, "of", step.totalSteps, step.loss) }
  /// let model = try await Model(at: job.value.path)
  /// ```
  ///
  /// - Parameters:
  ///   - checkpoint: The float checkpoint: the teacher, and the floats that are rounded.
  ///   - model: The model that was converted from it, as which training begins.
  ///   - texts: Files and folders of plain text, and `.jsonl` files of conversations; none for text that the float model writes itself.
  ///   - output: The directory of the trained model, which appears when it is whole.
  ///   - options: Steps and settings.
  /// - Returns: The job. It fails with ``DibitError`` for models that do not belong together, text that is missing or too short, an output that
  ///   is in the way, and a divergence that is no number any more.
  public static func trainOnGrid(
    _ checkpoint: String, from model: String, texts: [String] = [], to output: String, options: GridTraining.Options = .init()
  ) -> Job<Pretraining.Event, GridTraining.Report> {
    Job(on: Worker("training on the grid")) { report in
      let recipe = try options.recipe()
      let inputs = DistillationInputs(checkpoint: checkpoint, model: model, texts: texts, ownTokens: options.ownText)
      var destination = GridTrainingJob.output(output, of: inputs)
      (destination.overwrites, destination.resumes) = (options.overwrites, options.resumes)
      let training = try GridTrainingJob.run(into: destination, threads: options.threads, recipe.training.optimization, report: report) {
        try GridTrainingJob(inputs, recipe: recipe, memoryLimit: options.memoryLimit, on: $0, report: $1)
      }
      return GridTraining.Report(training, at: output)
    }
  }
}

extension GridTraining.Report {
  /// Reads what a manifest says of the training.
  init(_ training: JSONValue?, at path: String) {
    self.init(
      path: path, steps: training?["steps"]?.int ?? 0, tokens: training?["tokens"]?.int ?? 0,
      trainingDivergence: training?["training_divergence"]?.double ?? .nan,
      validationDivergence: training?["validation_divergence"]?.double)
  }
}
