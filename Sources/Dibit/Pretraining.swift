internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
package import DibitRecipe
internal import DibitTraining

/// The training of a whole model on plain text: its options, what happens while it runs, and what comes of it. See
/// ``Model/pretrain(to:options:)``.
public enum Pretraining {
  /// An event in the training of a model.
  public enum Event: Equatable, Sendable {
    /// A tokenizer of so many tokens is trained first.
    case tokenizer(size: Int)
    /// So much of the text, from 0 to 1, is in tokens.
    case reading(fraction: Double, isHeldOut: Bool)
    /// The float model has written so much of its text, from 0 to 1.
    case writing(fraction: Double)
    /// The training itself; its texts are pieces of the text, and its content is all of them.
    case training(AdapterTraining.Event)
    /// Something that a reader of the result should know, in one sentence.
    case note(String)
  }

  /// The result of a training.
  public struct Report: Equatable, Sendable {
    /// The directory of a checkpoint of floats, for ``Model/convert(_:to:options:threads:)``.
    public let path: String
    /// Steps that were done.
    public let steps: Int
    /// Tokens that went through the model in training steps.
    public let tokens: Int
    /// Mean loss over the last steps, in nats per token.
    public let trainingLoss: Double
    /// The loss of the text that was held out, in nats per token; nil without any.
    public let validationLoss: Double?
  }

  /// Options for training a model.
  ///
  /// ```swift
  /// var options = Pretraining.Options(recipe: "recipes/base/text.yaml")
  /// options.steps = 2000
  /// ```
  public struct Options: Equatable, Sendable {
    /// The recipe, a YAML file: the text, the model's shape and the training.
    public var recipe: String
    /// Values in the words of a recipe, such as `model.num_layers=8`; they win over the recipe.
    public var settings: [String] = []
    /// Steps in all; nil for as many as the recipe says.
    public var steps: Int?
    /// Replaces a model that is there, and begins anew where a stopped run left checkpoints.
    public var overwrites = false
    /// Goes on with the run that was stopped, from its newest whole checkpoint: the model has the same bytes as without the stop.
    public var resumes = false
    /// The most bytes that the run may hold; nil for no limit. Less of it makes a step slower and changes no result.
    public var memoryLimit: Int?
    /// Threads to use; nil for one for each core.
    public var threads: Int?

    /// As the recipe says.
    ///
    /// ```swift
    /// let options = Pretraining.Options(recipe: "recipes/base/text.yaml")
    /// ```
    ///
    /// - Parameters:
    ///   - recipe: The recipe, a YAML file.
    public init(recipe: String) { self.recipe = recipe }

    /// Refuses what no run can be made with.
    package func check() throws(DibitError) {
      try DibitError.check(steps: steps)
      try DibitError.check(overwrites: overwrites, resumes: resumes)
    }

    /// Reads the recipe; the steps and the settings win over it.
    package func readRecipe() throws -> PretrainingRecipe {
      let text = String(decoding: try readFile(recipe, limit: 1 << 20), as: UTF8.self)
      var recipe = try PretrainingRecipe(yaml: text, file: recipe, settings: settings)
      recipe.steps = steps ?? recipe.steps
      return recipe
    }
  }
}

extension Model {
  /// Trains a small model of floats from scratch on plain text, or goes on with one.
  ///
  /// While it trains, checkpoints are kept in `output` with `.checkpoints` behind it. A job that is cancelled writes one more before it ends, and the
  /// same call with ``Pretraining/Options/resumes`` goes on; the model then has the same bytes as without the stop.
  ///
  /// ```swift
  /// let job = Model.pretrain(to: "base", options: .init(recipe: "recipes/base/text.yaml"))
  /// for try await case .training(.step(let step)) in job { print(step.step, "of", step.totalSteps, step.loss) }
  /// _ = try await Model.convert(job.value.path, to: "model").value
  /// ```
  ///
  /// - Parameters:
  ///   - output: The directory of the checkpoint, which appears when it is whole.
  ///   - options: The recipe, and what wins over it.
  /// - Returns: The job. It fails with ``DibitError`` for a recipe that cannot be read, or asks for a model that cannot be, for text that is
  ///   missing, for an output that is in the way, and for a loss that is no number any more.
  public static func pretrain(to output: String, options: Pretraining.Options) -> Job<Pretraining.Event, Pretraining.Report> {
    Job(on: Worker("pretraining")) { report in
      try options.check()
      let recipe = try options.readRecipe()
      var destination = PretrainingJob.output(output, of: recipe, from: options.recipe)
      (destination.overwrites, destination.resumes) = (options.overwrites, options.resumes)
      let training = try PretrainingJob.run(into: destination, threads: options.threads, recipe.optimization, report: report) {
        try PretrainingJob(recipe, from: options.recipe, memoryLimit: options.memoryLimit, on: $0, report: $1)
      }
      return Pretraining.Report(training, at: output)
    }
  }
}

extension WeightTraining where Self: ~Copyable {
  /// Trains as a job of the library; returns what the manifest of the output says of the training.
  static func run<Value: Sendable>(
    into output: PretrainingJob.Output, threads: Int?, _ recipe: OptimizationRecipe, report: Job<Pretraining.Event, Value>.Reporter,
    _ make: (_ compute: Compute, _ report: (PretrainingJob.Event) -> Bool) throws -> Self
  ) throws -> JSONValue? {
    let compute = try Runtime(Model.Options(threads: threads)).compute(for: .training(ProductPrecision(recipe: recipe)))
    // An output that is in the way is told before the work, not after it.
    try output.inputs.check(output: output.path)
    if !output.resumes { try output.check() }
    func tell(_ event: PretrainingJob.Event) -> Bool { Pretraining.Event(event).map { report($0) } ?? !report.isCancelled }
    let job = try make(compute, tell)
    if output.resumes, try job.isComplete(output) { return try training(of: output.path) }
    try PretrainingJob.Run(job, into: output, report: tell).complete(report)
    return try training(of: output.path)
  }
}

extension PretrainingJob.Run where Training: ~Copyable {
  /// Trains and writes the output, telling `report` what happens.
  consuming func complete<Value: Sendable>(_ report: Job<Pretraining.Event, Value>.Reporter) throws {
    let result = try train { event in AdapterTraining.Event(event).map { report(.training($0)) } ?? !report.isCancelled }
    guard !result.wasInterrupted else { throw DibitError.cancelled }
    try write(result)
  }
}

extension Pretraining.Event {
  /// Takes an event of the job; nil for what has no meaning of its own.
  init?(_ event: PretrainingJob.Event) {
    switch event {
    case .tokenizer(let size): self = .tokenizer(size: size)
    case .reading(let isHeldOut, let bytes, let total, _):
      self = .reading(fraction: Double(bytes) / Double(max(1, total)), isHeldOut: isHeldOut)
    case .writing(let tokens, let total): self = .writing(fraction: Double(tokens) / Double(max(1, total)))
    case .finding(let text): self = .note(DibitError.words(for: text))
    case .cooccurrence: return nil
    }
  }
}

extension Pretraining.Report {
  /// Reads what a manifest says of the training.
  fileprivate init(_ training: JSONValue?, at path: String) {
    self.init(
      path: path, steps: training?["steps"]?.int ?? 0, tokens: training?["tokens"]?.int ?? 0,
      trainingLoss: training?["training_loss"]?.double ?? .nan, validationLoss: training?["validation_loss"]?.double)
  }
}
