internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The way that a calibration has come, by the operations of ``CalibrationCost``. Of what an earlier one has done, only what is still to be done with it counts.
struct CalibrationPace {
  /// Work that takes long enough to be told of.
  enum Work {
    /// A layer of the float model, on the text that tells what the head reads.
    case tablePass
    /// A batch, through a branch of a layer, or as far as that reads it.
    case pass
    /// A batch of the texts that tell how predictions feel errors.
    case gradients
    /// One of these batches there and back through a layer.
    case felt
    /// The rounding of a matrix.
    case rounding(Parameter)
    /// A step of a layer's training.
    case step
  }

  private let cost: CalibrationCost
  private let parts: CalibrationCost.Parts
  private let totalLayers: Int
  private let batches: Int
  private let options: Calibrator.Options
  private var layers = 0
  private var operations = 0.0
  /// The operations at the end of the part at work, and of all.
  private var (end, total): (Double, Double)

  /// The beginning of a calibration on so many tokens, of which layers are rounded on so many `batches`.
  init(_ configuration: ModelConfiguration, tokens: Int, batches: Int, options: Calibrator.Options) {
    cost = CalibrationCost(configuration)
    parts = CalibrationCost.Parts(cost, tokens: tokens, options: options)
    (totalLayers, self.batches, self.options) = (configuration.layers, batches, options)
    end = parts.tables
    total = parts.total
  }

  /// The operations of a layer.
  private var layer: Double { (parts.felt + parts.passes + parts.rounding + parts.training) / Double(totalLayers) }

  /// Goes on by what was done.
  mutating func add(_ work: Work) {
    let layers = Double(totalLayers)
    let more =
      switch work {
      case .tablePass: parts.tablePasses / layers
      // What each of two branches reads, and each of them.
      case .pass: parts.passes / layers / Double(4 * batches)
      case .gradients: parts.gradients / Double(parts.gradientBatches)
      case .felt: parts.felt / layers / Double(parts.gradientBatches)
      case .rounding(let matrix):
        cost.correctedRounding(rows: Double(matrix.weight.rows), columns: Double(matrix.weight.columns), sweeps: options.sweeps)
      case .step: parts.training / layers / Double(options.training?.steps ?? 1)
      }
    // These come before everything else, if at all.
    if case .gradients = work { end += more }
    operations = min(operations + more, end)
  }

  /// Goes behind the embedding and the head.
  mutating func finishTables(areRecalled: Bool) {
    if areRecalled { leaveOut(parts.tables) }
    finishPart()
  }

  /// Goes behind the next layer.
  mutating func finishLayer(isRecalled: Bool) {
    if isRecalled { leaveOut(layer - parts.passing / Double(totalLayers)) }
    layers += 1
    finishPart()
  }

  /// Counts so many operations of the part at work no more.
  private mutating func leaveOut(_ recalled: Double) {
    end -= recalled
    total -= recalled
  }

  private mutating func finishPart() {
    operations = end
    end += layer
  }

  var progress: Calibrator.Progress {
    let share = layers == totalLayers ? 1 : total > 0 ? min(operations / total, 1) : 0
    return Calibrator.Progress(fraction: share, layers: layers, totalLayers: totalLayers)
  }
}
