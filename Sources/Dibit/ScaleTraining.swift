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
  /// Steps of 1,024 tokens.
  private static let steps = 100
  /// Tokens that the steps read.
  static let tokens = steps * 1024
  /// Windows of 512 tokens that they read.
  static let windowCount = tokens / 512

  /// The bits from which on a model stays as it was rounded where a user gave these texts. From four bits on scales learn by heart what the
  /// source wrote, and other texts win nothing.
  static func bitLimit(_ texts: [String]) -> Int { texts.isEmpty ? 4 : 8 }

  /// The float checkpoint.
  let source: String
  /// The text, in tokens.
  let windows: [[Int32]]
  /// The bits from which on a model stays as it was rounded.
  let bitLimit: Int
  let compute: Compute

  /// Trains the model of a conversion in which less than ``bitLimit`` bits were calibrated; the checkpoints lie in `store`.
  ///
  /// - Parameter progress: is told the steps that are done, of all, and stops the training, whose checkpoint stays, by returning false.
  func run(
    on conversion: inout PreparedConversion, keptIn store: CalibrationStore, progress: (_ step: Int, _ total: Int) -> Bool
  ) throws {
    guard conversion.scheme.bits < bitLimit, let (configuration, weights) = try conversion.rounded() else { return }
    let compute = Compute(isa: compute.isa, threads: compute.threads, gradients: .bfloat16, floats: .bfloat16)
    var recipe = try GridTrainingRecipe(settings: [])
    recipe.trainsScalesAlone = true
    var options = PretrainingOptions(recipe, conversion.scheme)
    options.steps = Self.steps
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
