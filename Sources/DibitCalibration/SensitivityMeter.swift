internal import BasicContainers
package import DibitKernels
package import DibitModel
package import DibitQuantization
package import DibitTensor

/// The loss of a model's predictions where one of its matrices alone is rounded.
package struct Sensitivity: Equatable, Sendable {
  /// The index of the parameter.
  package let parameter: Int
  /// The divergence of the predictions from those of the float model, in nats for each token, on each of the grids in question.
  package let divergences: [Double]
}

/// Measures what the rounding of each matrix alone does to a model's predictions on a text.
///
/// On the coarsest of its grids a matrix is rounded as a conversion would round it, expanded again, and the float model runs with it from
/// that layer on. For the finer grids that divergence is scaled by the errors, each weighted by the energy of its input: a divergence that is
/// small grows with the square of what causes it.
package struct SensitivityMeter {
  /// Tokens that predictions are compared on.
  static let measuredTokens = 1024
  /// Tokens that second moments of inputs come from.
  static let readTokens = 4096
  /// Logits of the float model that are kept.
  private static let keptLogits = 32 << 20

  private let configuration: ModelConfiguration
  private let weights: DecoderWeights
  private let measured: [[Int32]]
  private let read: [[[Int32]]]
  private let options: Calibrator.Options?
  private let compute: Compute
  private let grids: @Sendable (Parameter) -> [Grid]

  /// A measurement on windows of text, each of which begins as a text begins. Predictions are compared on some, and inputs are those of others.
  ///
  /// - Parameters:
  ///   - weights: the float model, as it is run.
  ///   - options: of the calibration that rounds; nil where each weight goes to its nearest level.
  ///   - grids: those in question for a matrix, the coarsest first; a matrix with fewer than two is left out.
  package init(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, windows: [[Int32]], options: Calibrator.Options?, on compute: Compute,
    grids: @escaping @Sendable (Parameter) -> [Grid]
  ) {
    (self.configuration, self.weights, self.options, self.compute, self.grids) = (configuration, weights, options, compute, grids)
    let windows = windows.filter { !$0.isEmpty }
    measured = Calibrator.first(Self.measuredTokens, of: windows.indices.filter { $0 % 5 == 0 }.map { windows[$0] })
    let others = windows.indices.filter { $0 % 5 != 0 }.map { windows[$0] }
    read = Calibrator.batches(Calibrator.first(Self.readTokens, of: others.isEmpty ? windows : others), rows: 2048)
  }

  /// Measures all matrices, one of which in floats is held at a time.
  ///
  /// - Parameters:
  ///   - provide: gives the floats of a matrix, which are rounded.
  ///   - progress: is told how many are done and their total, and stops the measurement by returning false.
  package func run<E: Error>(
    weights provide: (Parameter) throws(E) -> Weight, progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(CalibrationError<E>) -> [Sensitivity] {
    /// The rounding of the matrices that read these inputs; nil where each weight goes to its nearest level.
    func factored(_ moments: borrowing SecondMoments, for parameters: [Parameter]) throws(CalibrationError<E>) -> CalibratedRounding? {
      guard let options else { return nil }
      let formats = parameters.compactMap { grids($0).first.map { WeightFormat.grid($0) } }
      let made = CalibratedRounding.make(moments: moments.products, for: formats, damping: options.damping, on: compute)
      guard let rounding = made else { throw .notFinite(tensor: parameters[0].name.tensor) }
      return rounding
    }
    func measure(
      _ parameter: Parameter, _ moments: borrowing SecondMoments, _ rounding: borrowing CalibratedRounding?, from layer: Int?,
      _ predictions: inout Predictions
    ) throws(CalibrationError<E>) -> Sensitivity {
      // The floats are gone when the model runs.
      let alone: RoundedAlone?
      do throws(E) {
        alone = rounded(parameter, try provide(parameter), moments, rounding, from: layer)
      } catch { throw .source(error) }
      guard let alone, let found = sensitivity(of: alone, parameter, from: layer, &predictions) else {
        throw .notFinite(tensor: parameter.name.tensor)
      }
      return found
    }
    let total = weights.parameters.count { grids($0).count > 1 }
    var results: [Sensitivity] = []
    var predictions = Predictions(configuration, weights, measured, kept: Self.keptLogits, on: compute)
    var passage = ReadPassage(configuration, weights, read, on: compute)
    for layer in 0..<configuration.layers {
      let groups = passage.groups(of: layer)
      var moments = UniqueArray<SecondMoments>()
      for group in groups { moments.append(SecondMoments(columns: group[0].weight.columns)) }
      passage.read(layer, groups) { moments[$0].add($1, on: compute) }
      for (index, parameters) in groups.enumerated() where parameters.contains(where: { grids($0).count > 1 }) {
        let rounding = try factored(moments[index], for: parameters)
        for parameter in parameters where grids(parameter).count > 1 {
          results.append(try measure(parameter, moments[index], rounding, from: layer, &predictions))
          guard progress(results.count, total) else { throw .stopped }
        }
      }
    }
    var moments = SecondMoments(columns: configuration.hiddenSize)
    passage.readHead { moments.add($0, on: compute) }
    let rounding = try factored(moments, for: [weights.output])
    for parameter in weights.parameters where parameter.role.isTable && grids(parameter).count > 1 {
      results.append(try measure(parameter, moments, rounding, from: nil, &predictions))
      guard progress(results.count, total) else { throw .stopped }
    }
    return results
  }

  /// A matrix on the coarsest of its grids, and its weighted errors on each.
  private struct RoundedAlone {
    let weight: Weight
    let errors: [Double]
  }

  /// Rounds a matrix with these floats as a conversion would; nil where a number is none.
  private func rounded(
    _ parameter: Parameter, _ floats: Weight, _ moments: borrowing SecondMoments, _ rounding: borrowing CalibratedRounding?,
    from layer: Int?
  ) -> RoundedAlone? {
    let grids = grids(parameter)
    if let exact = Calibrator.exact(floats, as: .grid(grids[0]), on: compute) {
      return RoundedAlone(weight: exact.weight, errors: grids.map { _ in 0 })
    }
    let energies = moments.energies.sums.values
    let errors = grids.map { WeightedErrors.error(of: nearest(floats, $0, energies), beside: floats, energies, on: compute).noise }
    guard errors.allSatisfy(\.isFinite), errors[0] > 0 else { return nil }
    // A row of a table that is read alone is rounded by itself, whatever reads the others.
    guard let options, layer != nil || parameter.index == weights.output.index else {
      return RoundedAlone(weight: nearest(floats, grids[0], nil), errors: errors)
    }
    var packed = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: .grid(grids[0]))
    CalibratedRounding.fitScales(of: floats, importance: energies.span, into: &packed, on: compute)
    // One sweep: the others change little of how matrices compare.
    _ = rounding?.chooseCodes(of: floats, into: &packed, sweeps: min(1, options.sweeps), on: compute)
    return RoundedAlone(weight: packed, errors: errors)
  }

  /// The sensitivity of a matrix that is rounded; nil where a number is none.
  private func sensitivity(
    of alone: RoundedAlone, _ parameter: Parameter, from layer: Int?, _ predictions: inout Predictions
  ) -> Sensitivity? {
    guard alone.errors[0] > 0 else { return Sensitivity(parameter: parameter.index, divergences: alone.errors) }
    let divergence = predictions.divergence(with: alone.weight.floats(on: compute), at: parameter, from: layer)
    guard divergence.isFinite else { return nil }
    return Sensitivity(parameter: parameter.index, divergences: alone.errors.map { divergence * $0 / alone.errors[0] })
  }

  /// The weight with each element at the nearest level of a scale that loses least, where inputs have these energies, or are alike.
  private func nearest(_ floats: Weight, _ grid: Grid, _ energies: [Float]?) -> Weight {
    var packed = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: .grid(grid))
    if let energies {
      CalibratedRounding.fitScales(of: floats, importance: energies.span, into: &packed, on: compute)
    } else {
      GridQuantization.fitScales(of: floats, into: &packed, on: compute)
    }
    _ = GridQuantization.chooseCodes(of: floats, into: &packed, on: compute)
    return packed
  }
}

/// The predictions of the float model on a text, and those with another weight in one place.
private struct Predictions: ~Copyable {
  private var decoder: Decoder
  private var runner: ModelRunner
  /// The residual stream before each layer.
  private var streams = UniqueArray<Matrix>()
  /// The rows that are compared, and the float model's logits there.
  private let rows: [Int]
  private var expected: Matrix

  init(_ configuration: ModelConfiguration, _ weights: DecoderWeights, _ windows: [[Int32]], kept: Int, on compute: Compute) {
    decoder = Decoder(configuration, weights: weights)
    let count = windows.reduce(0) { $0 + $1.count }
    let step = max(1, (count * configuration.vocabularySize + kept - 1) / kept)
    rows = Array(stride(from: step - 1, to: count, by: step))
    runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: max(count, 1), segments: max(windows.count, 1)), precision: .float32, on: compute)
    var start = 0
    for window in windows {
      runner.append(window.span, start: start)
      start += window.count
    }
    expected = Matrix(rows: 0, columns: 0)
    decoder.forward(&runner, through: 0)
    streams.append(runner.stream.copied())
    for layer in 0..<configuration.layers {
      Self.forward(decoder, layer..<layer + 1, streams, &runner)
      streams.append(runner.stream.copied())
    }
    expected = logits()
  }

  // The owners come apart here: an element of one field would lock the whole struct.
  private static func forward(
    _ decoder: borrowing Decoder, _ layers: Range<Int>, _ streams: borrowing UniqueArray<Matrix>, _ runner: inout ModelRunner
  ) {
    decoder.forward(&runner, layers: layers, from: streams[layers.lowerBound])
  }

  /// The mean divergence in nats where a weight takes the place of a parameter's, in a layer or in a table.
  mutating func divergence(with weight: Weight, at parameter: Parameter, from layer: Int?) -> Double {
    decoder.weights.update(parameter.index) { $0.weight = weight }
    defer { decoder.weights.update(parameter.index) { $0.weight = parameter.weight } }
    let layers = decoder.configuration.layers
    if let layer {
      // Layers that have no keys and values of their own attend to those of an earlier one, which has to compute them.
      let first = min(layer, decoder.configuration.keyValueLayers - 1)
      Self.forward(decoder, first..<layers, streams, &runner)
    } else {
      decoder.forward(&runner, through: layers)
    }
    var logits = logits()
    var losses = Matrix(rows: rows.count, columns: 1)
    Divergence.forward(&logits, from: expected, losses: &losses, on: runner.compute)
    return losses.values.reduce(0.0) { $0 + Double($1) } / Double(max(rows.count, 1))
  }

  /// Logits of the rows that are compared, from the residual stream of the last pass, behind all layers.
  private mutating func logits() -> Matrix {
    let stream = runner.stream.copied()
    decoder.normalize(&runner, from: stream)
    var selected = Matrix(rows: rows.count, columns: decoder.configuration.hiddenSize)
    for (index, row) in rows.enumerated() { selected.copyRow(row, of: runner.hidden, to: index) }
    var rounded = QuantizedRows(capacity: rows.count, columns: selected.columns)
    var logits = Matrix(rows: rows.count, columns: decoder.configuration.vocabularySize)
    decoder.logits(selected, rounded: &rounded, into: &logits, on: runner.compute)
    return logits
  }
}
