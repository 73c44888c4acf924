package import DibitKernels
package import DibitModel
internal import DibitTensor

/// The arithmetic of a calibration: what its time is about proportional to.
///
/// Operations are those of products of many rows with float matrices, an addition and a multiplication two of them. Work of another kind counts for as many as
/// would take its time, by factors that were found on a model of 135 million parameters.
package struct CalibrationCost: Sendable {
  /// The operations so far.
  package private(set) var operations = 0.0

  private struct Layer {
    let kind: LinearKind
    let rows: Double
    let columns: Double

    /// True where no layer before it in its block reads the same inputs.
    var readsFirst: Bool { ![.key, .value, .up].contains(kind) }
    /// True where it adds to the residual stream.
    var addsToStream: Bool { kind == .output || kind == .down }
  }

  private let layers: [Layer]
  /// Elements of all linear layers, of the output head and of one input of that.
  private let (linear, head, hidden): (Double, Double, Double)

  /// Factors by which an operation takes longer: of the few rows of texts that are written side by side, of the rounding of rows, in floats, and of
  /// layers that are trained alone.
  private static let (writingFactor, roundingFactor, layerFactor) = (2.0, 2.0, 1.4)
  /// Inputs that would take as long as the search for codes that hang together does for each input.
  private static let chainColumns = 6000.0
  /// Operations that would take as long as all that is done in a pass with a number that a linear layer reads or writes, but for the products.
  private static let movedFactor = 440.0

  /// The most weights of linear layers of a model whose floats may be in memory as a whole without being asked for.
  package static let mostInMemory = 2_000_000_000

  /// True where errors of outputs make up for each other: for that the float model runs as a whole.
  var feedsBack: Bool { linear <= Double(Self.mostInMemory) }

  /// No work yet on a model.
  package init(_ configuration: ModelConfiguration) {
    layers = DecoderWeights.declarations(of: configuration).parameters.compactMap { parameter in
      guard case .linear(let kind) = parameter.role else { return nil }
      return Layer(kind: kind, rows: Double(parameter.rows), columns: Double(parameter.columns))
    }
    linear = layers.reduce(0) { $0 + $1.rows * $1.columns }
    hidden = Double(configuration.hiddenSize)
    head = Double(configuration.vocabularySize) * hidden
  }

  /// Adds the writing of so many tokens by the float model.
  package mutating func addWriting(tokens: Int) { operations += Self.writingFactor * Double(tokens) * 2 * (linear + head) }

  /// Adds the measurement of what each matrix loses alone, as ``SensitivityMeter`` does it.
  package mutating func addMeasurement() {
    let read = Double(SensitivityMeter.readTokens)
    let scored = Double(DrawnGradients.texts * DrawnGradients.length)
    operations += read * 2 * linear
    // And what changes of weights make of the inputs.
    operations += drawnGradients(tokens: scored) + scored * 2 * linear
    for layer in layers {
      operations += rounding(rows: layer.rows, columns: layer.columns, sweeps: 1)
      if layer.readsFirst { operations += moments(layer, tokens: read, sums: 1) }
    }
  }

  /// The operations of ``DrawnGradients``: the model there, its layers once more, and gradients of inputs; the head when labels are drawn, once more, and
  /// back.
  private func drawnGradients(tokens: Double) -> Double { tokens * 6 * (linear + head) + moved(tokens: tokens, passes: 3) }

  /// The operations that stand for what is read, added, copied and written in passes of all layers.
  private func moved(tokens: Double, passes: Double) -> Double {
    Self.movedFactor * passes * tokens * layers.reduce(0) { $0 + $1.rows + $1.columns }
  }

  /// Adds the rounding of all layers and of the head on so many tokens, and the training of each layer where `options` have that.
  package mutating func addRounding(tokens: Int, options: Calibrator.Options) {
    let parts = Parts(self, tokens: tokens, options: options)
    operations += parts.total
  }

  /// The operations of a calibration, part by part.
  struct Parts {
    /// The operations of the passes that tell what the head reads.
    let tablePasses: Double
    /// The operations of tables: these passes and rounding.
    let tables: Double
    /// The operations of the passes that tell how predictions feel errors.
    let gradients: Double
    /// The operations of all layers' passes over these texts there and back, with the moments of their outputs.
    let felt: Double
    /// The batches of these texts.
    let gradientBatches: Int
    /// The operations of all layers' passes over the text, second moments included.
    let passes: Double
    /// The operations of both models' passes over the text alone.
    let passing: Double
    /// The operations of all layers' rounding.
    let rounding: Double
    /// The operations of all layers' training.
    let training: Double
    /// All of them.
    var total: Double { tables + gradients + felt + passes + rounding + training }

    init(_ cost: CalibrationCost, tokens: Int, options: Calibrator.Options) {
      tablePasses = Double(min(options.headTokens, tokens)) * 2 * cost.linear
      tables = tablePasses + cost.rounding(rows: cost.head / cost.hidden, columns: cost.hidden, sweeps: options.sweeps, inChains: false)
      let tokens = Double(tokens)
      // The float model, and the rounded one before what ends a branch is rounded.
      var passes = 2 * tokens * 2 * cost.linear + cost.moved(tokens: tokens, passes: 3)
      var rounding = 0.0
      for layer in cost.layers {
        if layer.readsFirst { passes += cost.moments(layer, tokens: tokens, sums: layer.addsToStream ? 1 : 2) }
        // Their outputs' moments with their inputs, and what they add once they are rounded.
        if layer.addsToStream { passes += 2 * tokens * 2 * layer.rows * layer.columns }
        rounding += cost.correctedRounding(rows: layer.rows, columns: layer.columns, sweeps: options.sweeps)
      }
      if cost.feedsBack {
        let drawn = Double(DrawnGradients.texts(ofTokens: Int(tokens)) * DrawnGradients.length)
        gradients = cost.drawnGradients(tokens: drawn)
        gradientBatches = max(1, Int(drawn) / DrawnGradients.rows)
        felt = cost.layers.reduce(cost.moved(tokens: drawn, passes: 2)) { $0 + drawn * $1.rows * (4 * $1.columns + $1.rows) }
      } else {
        (gradients, felt, gradientBatches) = (0, 0, 1)
      }
      (self.passes, self.rounding) = (passes, rounding)
      passing = 2 * tokens * 2 * cost.linear + cost.moved(tokens: tokens, passes: 2)
      training = options.training.map { CalibrationCost.layerFactor * Double($0.steps * options.rows) * 6 * cost.linear } ?? 0
    }
  }

  /// Adds the training of scales on so many tokens: the float model, the rounded one, and gradients of inputs and weights.
  package mutating func addScaleTraining(tokens: Int) {
    operations += Double(tokens) * 8 * (linear + head)
  }

  /// The operations for second moments of a layer's inputs, of which there are so many sums, and their factors. One of them is symmetric.
  private func moments(_ layer: Layer, tokens: Double, sums: Double) -> Double {
    let square = layer.columns * layer.columns
    return tokens * 2 * square * (sums - 0.5) + Self.roundingFactor * square * layer.columns / 3 * sums
  }

  /// The operations of choosing codes: feedback, sweeps with scales fitted between them, and what is lost; by default as two bits have them, in
  /// the chains of a trellis, where tables never lie.
  private func rounding(rows: Double, columns: Double, sweeps: Int, inChains: Bool = true) -> Double {
    let search = inChains ? Self.chainColumns * Double(sweeps + 1) : 0
    return Self.roundingFactor * rows * columns * (columns * Double(4 * sweeps + 1) + search)
  }

  /// The same where weights are moved before so that the layer makes up for what those before it lost, and errors of outputs for each other: one sweep
  /// more, and what they add to each other twice.
  func correctedRounding(rows: Double, columns: Double, sweeps: Int) -> Double {
    let corrected = (Self.roundingFactor + 1) * 2 * rows * columns * columns
    guard feedsBack else { return rounding(rows: rows, columns: columns, sweeps: sweeps) + corrected }
    return rounding(rows: rows, columns: columns, sweeps: sweeps + 1) + corrected + 4 * rows * min(rows, Double(FeltOutputs.together))
      * columns
  }

  /// The seconds that the work takes about here, by the shortest of the times that such a product took: other work comes and goes.
  package func seconds(on compute: Compute) -> Double {
    // As many rows as a pass has: with fewer, wide sums that no cache holds would be most of it.
    let (rows, columns) = (Calibrator.Options().rows, Int(hidden))
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    var rng = SplitMix64(seed: 0)
    let x = Matrix(rows: rows, columns: columns, values: (0..<rows * columns).map { _ in Float.random(in: -1...1, using: &rng) })
    var moments = SecondMoments(columns: columns, isCompared: true)
    var (shortest, total) = (Duration.seconds(3600), Duration.zero)
    while total < .milliseconds(300) {
      let start = ContinuousClock.now
      moments.add(x, lacking: x, on: compute)
      let time = max(ContinuousClock.now - start, .nanoseconds(1))
      shortest = min(shortest, time)
      total += time
    }
    // A product and half of one, where rows are rounded to BF16.
    return operations / (3 * Double(rows * columns * columns) / (shortest / .seconds(1)))
  }
}
