internal import DibitFailure
internal import DibitFiles
package import DibitJSON
package import DibitModel
internal import DibitModelStore
package import DibitQuantization

/// A conversion that is yet to be written: its bits are chosen, and its matrices are rounded where rounding is calibrated.
package struct PreparedConversion: ~Copyable {
  private let converter: Converter
  private let plan: ConversionPlan
  private let choices: [BitChoice]
  private let directory: StagedDirectory
  private let check: WeightsCheck?
  private let store: CalibrationStore?
  private let start: ContinuousClock.Instant
  private var weights: RoundedWeights?
  private var training: JSONValue?

  init(
    _ converter: Converter, _ plan: ConversionPlan, _ choices: [BitChoice], _ weights: RoundedWeights?,
    into directory: consuming StagedDirectory, waitingFor check: WeightsCheck?, keptIn store: CalibrationStore?,
    since start: ContinuousClock.Instant
  ) {
    (self.converter, self.plan, self.choices, self.weights) = (converter, plan, choices, weights)
    (self.check, self.store, self.start) = (check, store, start)
    self.directory = directory
  }

  /// The storage scheme of the tensors.
  package var scheme: QuantizationScheme { converter.scheme }

  /// The model as it is rounded; nil where rounding is not calibrated, or changed no weight.
  package func rounded() throws(ConversionError) -> (configuration: ModelConfiguration, weights: DecoderWeights)? {
    guard let weights, weights.isLossy else { return nil }
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(converter.source))
    return (opened.configuration, try weights.decoderWeights(of: opened))
  }

  /// Takes what became of the weights that ``rounded()`` gave when they were trained.
  ///
  /// - Parameter training: How they came about, for the manifest.
  package mutating func take(_ trained: DecoderWeights, of configuration: ModelConfiguration, training: JSONValue) {
    weights = RoundedWeights(configuration, trained, layers: weights?.trained ?? [:])
    self.training = training
  }

  /// Writes the model, until `progress` returns false, and removes what calibration has kept.
  package consuming func write(progress: (ConversionProgress) -> Bool) throws(ConversionError) -> ConversionReport {
    var report: ConversionReport
    let (converter, plan, weights, training, check, store) = (converter, plan, weights, training, check, store)
    let (choices, start) = (choices, start)
    do throws(ConversionError) {
      report = try converter.write(plan, weights, training: training, into: directory, waitingFor: check, progress)
    } catch { throw store?.interruption(error) ?? error }
    report.choices = choices
    store?.removeAll()
    let elapsed = ContinuousClock.now - start
    report.seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
    return report
  }
}
