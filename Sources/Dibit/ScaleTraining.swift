internal import DibitConversion
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitRecipe
package import DibitTraining

/// The last step of a calibration: scales, norms and biases are trained towards the predictions of the float model, on text of the
/// kind that rounding was calibrated on. Weights keep their codes.
package struct ScaleTraining {
  /// The length of a training.
  struct Length {
    /// Steps of 1,024 tokens.
    let steps: Int
    /// Tokens that they read.
    var tokens: Int { steps * 1024 }
    /// Windows of 512 tokens that they read.
    var windowCount: Int { tokens / 512 }
  }

  /// The training behind a rounding of this effort, where a user gave these texts; nil where scales stay as they were rounded. From four
  /// bits on they learn by heart what the source wrote, and other texts win little. On a trellis they go on winning.
  static func length(_ effort: Conversion.Effort, _ scheme: QuantizationScheme, _ texts: [String]) -> Length? {
    guard effort != .quick, scheme.bits < (texts.isEmpty ? 4 : 8) else { return nil }
    return Length(steps: effort == .thorough && scheme.family == .trellis ? 400 : 100)
  }

  /// The float checkpoint.
  let source: String
  /// The text, in tokens.
  let windows: [[Int32]]
  let length: Length
  let compute: Compute

  /// Trains the model of a conversion unless all that it rounded is exact; the checkpoints lie in `store`.
  ///
  /// - Parameter progress: is told the steps that are done, of all, and stops the training, whose checkpoint stays, by returning false.
  func run(
    on conversion: inout PreparedConversion, keptIn store: CalibrationStore, progress: (_ step: Int, _ total: Int) -> Bool
  ) throws {
    guard let (configuration, weights) = try conversion.rounded() else { return }
    let compute = Compute(isa: compute.isa, threads: compute.threads, gradients: .bfloat16, floats: .bfloat16)
    var recipe = try GridTrainingRecipe(settings: [])
    recipe.trainsScalesAlone = true
    var options = PretrainingOptions(recipe, conversion.scheme)
    options.steps = length.steps
    // Rounding took less than a model with all that its layers did. A twentieth of the time buys a quarter of the memory.
    options.optimization.keepsActivations = false
    let text = windows.flatMap(\.self)
    options.sequenceLength = min(options.sequenceLength, configuration.contextLength - 1, text.count - 2)
    let identity = PretrainingJob.identity(configuration, [weights], text, [], options, compute)
    let teacher = TeacherModel(configuration, weights: try ModelSource.open(source).weights(inBFloat: compute.floats == .bfloat16))
    var trainer = try Pretrainer(
      onGrid: weights, of: configuration, text: text, options: options, teacher: teacher, on: compute)
    let checkpoints = try CheckpointStore(
      output: store.trainingOutput, inputs: JobInputs([source]), identity: identity, interval: .seconds(120), resumes: true, discards: false
    )
    let result: TrainingResult
    do throws(TrainingError) {
      result = try trainer.run(checkpoints: checkpoints) { event in
        switch event.kind {
        case .start(let start): progress(start.step, start.totalSteps)
        case .step(let step): progress(step.step, step.totalSteps)
        case .validation, .checkpoint, .end: true
        }
      }
    } catch {
      throw Self.told(error, keptIn: store.path)
    }
    guard !result.wasInterrupted else { throw ConversionError.interruptedCalibration(directory: store.path, layers: store.layers) }
    let training: JSONValue = [
      "method": "scales", "run_sha256": .string(identity.digest), "steps": .integer(result.steps), "tokens": .integer(result.tokens),
      "training_divergence": .number(Double(result.trainingLoss)),
    ]
    conversion.take(trainer.trainedDecoder().weights, of: configuration, training: training)
  }

  /// An error of the training in the words of a conversion, which has no learning rate to lower.
  package static func told(_ error: TrainingError, keptIn directory: String) -> any Error {
    switch error {
    case .notANumber(let step, _), .diverged(let step, _, _, _): ConversionError.scalesDiverged(step: step, directory: directory)
    default: error
    }
  }
}
