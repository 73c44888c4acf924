internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitQuantization
internal import DibitTensor

#if canImport(Glibc)
  internal import Glibc
#endif

extension Calibrator {
  /// The settings of the training of layers.
  package struct TrainingOptions: Equatable, Sendable {
    /// Steps for each layer.
    package var steps = 300
    /// The highest rate of weights, in units of the mean scale of their matrix.
    package var rate: Float = 5e-3
    /// The highest rate of the logarithms of scales.
    package var scaleRate: Float = 1e-3
    /// The weight of a token in the loss whose stream is far larger than most; see ``Passage/weights(_:ofLoud:)``.
    package var loudWeight: Float = 100
    /// The same in the second moments by which the layer is rounded before: without training that is worse in the end.
    package var loudWeightOfRounding: Float = 30
    /// Steps in which rates rise.
    package var warmUp = 16
    /// Steps between two looks at text that is held out.
    package var validation = 50

    /// The defaults.
    package init() {}
  }

  /// A layer that was trained behind its rounding.
  package struct TrainedLayer: Equatable, Sendable {
    /// The mean over tokens, on text that is held out, of the squared error of the stream behind the layer, over its square, as it was rounded.
    package let before: Double
    /// The same in the end.
    package let after: Double

    /// A layer with these errors.
    package init(before: Double, after: Double) { (self.before, self.after) = (before, after) }
  }
}

/// Trains the rounded matrices of one layer, weights and scales (of a trellis scales alone), on a text: what the layer makes of the stream
/// of the rounded model shall be what the float layer makes of the float model's.
///
/// The loss is the mean over tokens of the squared difference over the square of the target, because what reads the stream normalises it. Tokens
/// that others attend to count for many of them.
/// Every pass runs the matrices as they will ship; gradients go through the choice of levels as ``GridRounding`` says.
struct BlockTrainer: ~Copyable {
  private var matrices = UniqueArray<TrainedMatrix>()
  private var runner: ModelRunner
  private var backward: BackwardState
  private let layer: Int
  private let options: Calibrator.TrainingOptions
  /// The weights of tokens in each batch.
  private var tokenWeights: [[Float]] = []

  /// A trainer of matrices of a layer for batches of up to `rows` rows in `segments` segments.
  ///
  /// - Parameters:
  ///   - decoder: with the rounded matrices.
  ///   - targets: the floats of those that are trained, by parameter.
  init(
    _ decoder: borrowing Decoder, layer: Int, targets: [Int: Weight], rows: Int, segments: Int, options: Calibrator.TrainingOptions,
    on compute: Compute
  ) {
    (self.layer, self.options) = (layer, options)
    for index in targets.keys.sorted() {
      guard let floats = targets[index] else { continue }
      matrices.append(TrainedMatrix(index, floats, rounded: decoder.weights.parameters[index].weight, on: compute))
    }
    runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: rows, segments: segments), adapter: nil, recording: .newest, on: compute)
    let list = TrainableList(decoder.weights, adapter: nil, includesWeights: true) { targets[$0.index] != nil }
    backward = BackwardState(decoder, rows: rows, adapter: nil, training: list)
  }

  /// The batches to learn from, and those that are held out: one in eight, of many about eight; where there are few, all are both.
  static func split(_ batches: Int) -> (trained: [Int], heldOut: [Int]) {
    guard batches >= 4 else { return (Array(0..<batches), Array(0..<batches)) }
    let interval = max(8, batches / 8)
    let heldOut = (0..<batches).filter { $0 % interval == interval - 1 || $0 == batches - 1 }
    return ((0..<batches).filter { !heldOut.contains($0) }, heldOut)
  }

  /// Trains on batches of `passage`, which stands before the layer, towards `reference`, which stands behind it; leaves the matrices in the
  /// passage's decoder that had the least loss on batches that are held out, which may be those that were there.
  ///
  /// - Returns: that loss before and after; nil where `goesOn`, which is asked at each step, returned false.
  mutating func run(
    _ passage: inout Passage, towards reference: borrowing Passage, batches: Int, while goesOn: () -> Bool
  ) -> Calibrator.TrainedLayer? {
    let (trained, heldOut) = Self.split(batches)
    tokenWeights = (0..<batches).map { reference.weights($0, ofLoud: options.loudWeight) }
    var random = SplitMix64(seed: UInt64(layer), purpose: "calibration.batches")
    let before = loss(heldOut, passage, reference)
    var (best, bestWeights) = (before, weights(of: passage))
    for index in 0..<matrices.count { matrices[index].round(into: &passage.decoder.weights, on: runner.compute) }
    var order: [Int] = []
    for step in 1...options.steps {
      guard goesOn() else { return nil }
      if order.isEmpty {
        order = trained
        random.shuffle(&order)
      }
      backward.work.gradients.clear()
      let batch = order.removeLast()
      passage.run(batch, layer: layer, branches: 0..<2, &runner)
      backward.setRows(runner.rows)
      _ = loss(batch, reference)
      passage.decoder.backward(&runner, layers: layer..<layer + 1, &backward)
      self.step(step, &passage.decoder.weights)
      guard step % options.validation == 0 || step == options.steps else { continue }
      let now = loss(heldOut, passage, reference)
      if now < best { (best, bestWeights) = (now, weights(of: passage)) }
    }
    for index in 0..<matrices.count {
      let (parameter, weight) = (matrices[index].parameter, bestWeights[index])
      passage.decoder.weights.update(parameter) { $0.weight = weight }
    }
    return Calibrator.TrainedLayer(before: before, after: best)
  }

  private func weights(of passage: borrowing Passage) -> [Weight] {
    (0..<matrices.count).map { passage.decoder.weights.parameters[matrices[$0].parameter].weight }
  }

  /// One step of the optimiser, `step` counted from 1.
  private mutating func step(_ step: Int, _ weights: inout DecoderWeights) {
    let warmUp = Float(min(step, options.warmUp)) / Float(options.warmUp)
    let done = Float(step - 1) / Float(options.steps)
    let factor = warmUp * (0.05 + 0.95 * (1 + cos(Float.pi * done)) / 2)
    let compute = runner.compute
    for index in 0..<matrices.count {
      guard let entry = backward.work.gradients.list.weight(matrices[index].parameter) else { continue }
      Self.step(
        &matrices[index], &backward.work.gradients.values[entry], step, rate: factor * options.rate, scaleRate: factor * options.scaleRate,
        &weights, on: compute)
    }
  }

  // The owners come apart here: an element of one field would lock the whole struct.
  private static func step(
    _ matrix: inout TrainedMatrix, _ gradient: inout Matrix, _ step: Int, rate: Float, scaleRate: Float, _ weights: inout DecoderWeights,
    on compute: Compute
  ) {
    matrix.step(
      &gradient, packed: weights.parameters[matrix.parameter].weight, rate: rate, scaleRate: scaleRate, step: step, on: compute)
    matrix.round(into: &weights, on: compute)
  }

  /// The loss over some batches.
  private mutating func loss(_ batches: [Int], _ passage: borrowing Passage, _ reference: borrowing Passage) -> Double {
    var (sum, total) = (0.0, 0.0)
    for batch in batches {
      passage.run(batch, layer: layer, branches: 0..<2, &runner)
      backward.setRows(runner.rows)
      let weight = Double(tokenWeights[batch].reduce(0, +))
      sum += weight * loss(batch, reference)
      total += weight
    }
    return sum / max(total, 1)
  }

  /// The loss of a batch that has just been run, and its gradient.
  private mutating func loss(_ batch: Int, _ reference: borrowing Passage) -> Double {
    reference.streams.read(batch) { Self.loss(runner.stream, $0, weights: tokenWeights[batch], gradient: &backward.dStream) }
  }

  /// `Σ w |x - t|² / |t|² / Σ w` over rows, and overwrites `gradient: [n, C]` with its gradient by `x: [n, C]`.
  static func loss(_ x: borrowing Matrix, _ target: borrowing Matrix, weights: [Float], gradient: inout Matrix) -> Double {
    let (rows, columns) = (x.rows, x.columns)
    let total = weights.reduce(0, +)
    var sum = 0.0
    let (values, target) = (x.span, target.span)
    var gradients = gradient.mutableSpan
    for row in 0..<rows {
      let part = row * columns..<(row + 1) * columns
      var (square, difference): (Float, Float) = (0, 0)
      for index in part {
        let d = values[index] - target[index]
        square += target[index] * target[index]
        difference += d * d
      }
      let weight = weights[row] / total / (square + .leastNormalMagnitude)
      for index in part { gradients[index] = 2 * weight * (values[index] - target[index]) }
      sum += Double(difference * weight)
    }
    return sum
  }
}

/// A matrix on a grid in training: the floats that are rounded, and the logarithms of the scales. It is not private
/// because Swift 6.3 fails to compile a debug build in which another file frees one that is.
///
/// Of a matrix on a trellis scales alone are trained: at no rate did training that moved codes, too, bring a layer further than so.
struct TrainedMatrix: ~Copyable {
  let parameter: Int
  /// Nil where codes stay.
  private var floats: Weight?
  private var logScales: Matrix
  private var dLogScales: Matrix
  private var moments: Moments
  private var scaleMoments: Moments
  /// Rates of the floats are in units of the mean scale.
  private let unit: Float

  /// The distance from a level, in scales, of what was moved to it: within the interval, as near to what it was as it can be.
  private static let distance: Float = 0.45

  /// Begins with these floats, moved as little as they must be to have the codes of `rounded`; of a trellis with those codes alone.
  init(_ parameter: Int, _ floats: Weight, rounded: Weight, on compute: Compute) {
    self.parameter = parameter
    let grid = rounded.format.grid
    let (groups, keepsCodes) = (grid?.groups(columns: rounded.columns) ?? 0, grid?.levels.isTrellis == true)
    func zeros(_ columns: Int) -> Matrix { Matrix(rows: rounded.rows, columns: columns) }
    logScales = zeros(groups)
    dLogScales = zeros(groups)
    let columns = keepsCodes ? 0 : rounded.columns
    moments = Moments(first: zeros(columns), second: zeros(columns))
    scaleMoments = Moments(first: zeros(groups), second: zeros(groups))
    GridRounding.takeLogScales(of: rounded, into: &logScales)
    unit = GridRounding.meanSpacing(logScales, of: rounded)
    self.floats = keepsCodes ? nil : Self.pulled(floats, toCodesOf: rounded, on: compute)
  }

  private static func pulled(_ floats: Weight, toCodesOf rounded: Weight, on compute: Compute) -> Weight {
    var floats = floats
    GridRounding.pull(&floats, toCodesOf: rounded, distance: distance, on: compute)
    return floats
  }

  /// Takes over the scales as they are now, and rounds the floats, where there are any.
  func round(into weights: inout DecoderWeights, on compute: Compute) {
    weights.update(parameter) { parameter in
      GridRounding.setScales(logScales, of: &parameter.weight, on: compute)
      if let floats { GridQuantization.round(floats, into: &parameter.weight, scaleBits: nil, on: compute) }
    }
  }

  /// One step along the gradient of the rounded matrix, which is overwritten.
  mutating func step(_ gradient: inout Matrix, packed: Weight, rate: Float, scaleRate: Float, step: Int, on compute: Compute) {
    if let floats {
      GridRounding.backward(floats, packed: packed, dWeight: &gradient, dLogScales: &dLogScales, on: compute)
    } else {
      dLogScales.fill(0)
      GridRounding.backwardScales(of: packed, dWeight: gradient, dLogScales: &dLogScales, on: compute)
    }
    Self.step(&floats, gradient, &moments, rate: rate * unit, step: step, on: compute)
    Self.step(&logScales, dLogScales, &scaleMoments, rate: scaleRate, step: step, on: compute)
  }

  // The owners come apart here: one field would lock the whole struct.
  private static func step(
    _ floats: inout Weight?, _ gradient: borrowing Matrix, _ moments: inout Moments, rate: Float, step: Int, on compute: Compute
  ) {
    floats?.withMutableValues { values in moments.step(&values, gradient, rate: rate, step: step, on: compute) }
  }

  private static func step(
    _ logScales: inout Matrix, _ gradient: borrowing Matrix, _ moments: inout Moments, rate: Float, step: Int, on compute: Compute
  ) {
    var values = logScales.mutableSpan
    moments.step(&values, gradient, rate: rate, step: step, on: compute)
  }
}

/// The moments of an optimiser, for numbers of which none decays.
private struct Moments: ~Copyable {
  var first: Matrix
  var second: Matrix
  private static let optimizer = {
    var optimizer = AdamW()
    // Gradients are as small as the share of a weight in the error of a whole layer.
    optimizer.epsilon = 1e-20
    return optimizer
  }()

  mutating func step(_ values: inout MutableSpan<Float>, _ gradient: borrowing Matrix, rate: Float, step: Int, on compute: Compute) {
    Self.optimizer.step(
      &values, gradient: gradient, moment1: &first, moment2: &second, learningRate: rate, step: step, decays: false, on: compute)
  }
}
