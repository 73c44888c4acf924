internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModelStore
internal import DibitQuantization
package import DibitRecipe
internal import DibitTraining

/// The training of an adapter that brings back what rounding took from a model: its options and what comes of it. See
/// ``Model/recover(_:from:texts:to:options:)``.
public enum Recovery {
  /// Options for training such an adapter.
  ///
  /// ```swift
  /// var options = Recovery.Options()
  /// (options.rank, options.steps) = (32, 500)
  /// ```
  public struct Options: Equatable, Sendable {
    /// The rank of the adapter; nil for 16.
    public var rank: Int?
    /// Bits of the adapter's matrices, 4 or 8, inside of the model that is written; nil for an adapter of its own, in floats.
    public var bits: Int? = 4
    /// Steps in all; nil for as many as read a million tokens.
    public var steps: Int?
    /// Tokens of text that the float model writes itself, to train on beside any that is given; nil for as many as the steps read, up to a
    /// million, where none is given.
    public var ownText: Int?
    /// Values in the words of a recipe, such as `learning_rate=0.001`.
    public var settings: [String] = []
    /// Replaces a model, or an adapter, that is there, and begins anew where a stopped run left checkpoints.
    public var overwrites = false
    /// Goes on with the run that was stopped, from its newest whole checkpoint: the output has the same bytes as without the stop.
    public var resumes = false
    /// The most bytes that the run may hold; nil for no limit. Less of it makes a step slower and changes no result.
    public var memoryLimit: Int?
    /// Threads to use; nil for one for each core.
    public var threads: Int?

    /// The defaults.
    ///
    /// ```swift
    /// let options = Recovery.Options()
    /// ```
    public init() {}

    /// Refuses what no run can be made with.
    package func check() throws(DibitError) {
      try DibitError.check("rank", rank, QuantizationScheme.Recovery.ranks)
      if let bits, !QuantizationScheme.Recovery.bitChoices.contains(bits) {
        throw DibitError(
          .invalidArgument, option: "bits",
          "expected \(QuantizationScheme.words(QuantizationScheme.Recovery.bitChoices)), found \(bits)")
      }
      try DibitError.check(steps: steps)
      try DibitError.check("ownText", ownText, DistillationInputs.ownTokenCounts)
      try DibitError.check(overwrites: overwrites, resumes: resumes)
    }

    /// Reads the settings, after refusing what no run can be made with.
    package func recipe() throws -> RecoveryRecipe {
      try check()
      var recipe = try RecoveryRecipe(settings: settings)
      (recipe.training.steps, recipe.rank) = (steps ?? recipe.training.steps, rank ?? recipe.rank)
      return recipe
    }
  }

  /// The result of a training.
  public typealias Report = GridTraining.Report
}

extension Model {
  /// Trains an adapter over a converted model towards the predictions of the float checkpoint that it was made from.
  ///
  /// The model's weights stay as they are. The adapter lies inside of the model that is written: everything applies it, and adapters of tasks are
  /// trained over it. With ``Recovery/Options/bits`` nil it is one as any other, and belongs to the model. While it is trained, checkpoints are kept in `output` with `.checkpoints` behind it. A job that is cancelled writes
  /// one more before it ends, and the same call with ``Recovery/Options/resumes`` goes on; what is written then has the same bytes as without the stop.
  ///
  /// ```swift
  /// let job = Model.recover("llama-2bit", from: "llama", to: "llama-2bit-recovered")
  /// for try await case .training(.step(let step)) in job { print(step.step, "of", step.totalSteps, step.loss) }
  /// let model = try await Model(at: job.value.path)
  /// ```
  ///
  /// - Parameters:
  ///   - model: The converted model.
  ///   - checkpoint: The float checkpoint that it was made from, whose predictions are the goal.
  ///   - texts: Files and folders of plain text, and `.jsonl` files of conversations; none for text that the float model writes itself.
  ///   - output: The directory of the model, or of the adapter, which appears when it is whole.
  ///   - options: Rank, steps and settings.
  /// - Returns: The job. It fails with ``DibitError`` for models that do not belong together, text that is missing or too short, an output that
  ///   is in the way, and a divergence that is no number any more.
  public static func recover(
    _ model: String, from checkpoint: String, texts: [String] = [], to output: String, options: Recovery.Options = .init()
  ) -> Job<Pretraining.Event, Recovery.Report> {
    Job(on: Worker("training a recovery adapter")) { report in
      let recipe = try options.recipe()
      let inputs = DistillationInputs(checkpoint: checkpoint, model: model, texts: texts, ownTokens: options.ownText)
      var destination = RecoveryJob.output(output, of: inputs, bits: options.bits)
      (destination.overwrites, destination.resumes) = (options.overwrites, options.resumes)
      let training = try RecoveryJob.run(into: destination, threads: options.threads, recipe.training.optimization, report: report) {
        try RecoveryJob(inputs, recipe: recipe, bits: options.bits, memoryLimit: options.memoryLimit, on: $0, report: $1)
      }
      return Recovery.Report(training, at: output)
    }
  }
}
