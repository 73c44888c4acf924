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
/// On the coarsest of its grids a matrix is rounded as a conversion would round it. What that does is found to second order, for all linear
/// layers at once; see ``ChangeScores``. With a table the model runs. For the finer grids that divergence is scaled by the errors, each weighted by
/// the energy of its input: a divergence that is small grows with the square of what causes it.
package struct SensitivityMeter {
  /// Tokens that predictions are compared on where a table is rounded.
  static let comparedTokens = 1024
  /// Tokens that second moments of inputs come from.
  static let readTokens = 4096
  /// Logits of the float model that are kept.
  private static let keptLogits = 32 << 20

  private let configuration: ModelConfiguration
  private let weights: DecoderWeights
  private let scored: [[[Int32]]]
  private let compared: [[Int32]]
  private let read: [[[Int32]]]
  private let options: Calibrator.Options?
  private let compute: Compute
  private let grids: @Sendable (Parameter) -> [Grid]

  /// A measurement on windows of text, each of which begins as a text begins. Inputs are read of the first, and predictions looked at on the
  /// others, as far as there are enough.
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
    let read = Calibrator.first(Self.readTokens, of: windows)
    let others = Array(windows.dropFirst(read.count)) + read
    self.read = Calibrator.batches(read, rows: 2048)
    compared = Calibrator.first(Self.comparedTokens, of: others)
    scored = DrawnGradients.batches(of: others, texts: DrawnGradients.texts)
  }

  /// Measures all matrices, one of which in floats is held at a time, and all as they are rounded.
  ///
  /// - Parameters:
  ///   - provide: gives the floats of a matrix, which are rounded.
  ///   - progress: is told the share of the work that is done, and stops the measurement by returning false.
  package func run<E: Error>(
    weights provide: (Parameter) throws(E) -> Weight, progress: (_ fraction: Double) -> Bool = { _ in true }
  ) throws(CalibrationError<E>) -> [Sensitivity] {
    let measured = weights.parameters.filter { grids($0).count > 1 }
    // Rounding and scores take about as long as each other.
    let alone = try round(provide) { progress(Double($0) / Double(max(2 * measured.count, 1))) }
    let scores = ChangeScores(of: weights, changedTo: alone.filter { !$0.value.isExact }.mapValues(\.weight), on: compute)
    guard scores.add(scored, configuration, progress: { progress(0.5 + Double($0) / Double(2 * scored.count)) }) else { throw .stopped }
    var divergences = scores.divergences
    let tables = measured.filter(\.role.isTable)
    if !tables.isEmpty {
      var predictions = Predictions(configuration, weights, compared, kept: Self.keptLogits, on: compute)
      for table in tables { divergences[table.index] = alone[table.index].map { predictions.divergence(with: $0.weight, at: table) } }
    }
    var results: [Sensitivity] = []
    for parameter in measured {
      guard let rounded = alone[parameter.index] else { continue }
      // Of a matrix that keeps its numbers all errors are zero.
      let divergence = rounded.isExact ? 0 : divergences[parameter.index, default: 0] / rounded.errors[0]
      guard divergence.isFinite else { throw .notFinite(tensor: parameter.name.tensor) }
      results.append(Sensitivity(parameter: parameter.index, divergences: rounded.errors.map { $0 * divergence }))
    }
    return results
  }

  /// A matrix on the coarsest of its grids, and its weighted errors on each.
  private struct RoundedAlone {
    let weight: Weight
    let errors: [Double]

    /// True where rounding changes nothing.
    var isExact: Bool { errors[0] == 0 }
  }

  /// Rounds all matrices that are measured, each by what it reads in the float model.
  private func round<E: Error>(
    _ provide: (Parameter) throws(E) -> Weight, progress: (_ done: Int) -> Bool
  ) throws(CalibrationError<E>) -> [Int: RoundedAlone] {
    var result: [Int: RoundedAlone] = [:]
    /// Rounds those of some matrices that are measured, which read inputs with these moments.
    func round(_ parameters: [Parameter], _ moments: borrowing SecondMoments) throws(CalibrationError<E>) {
      let parameters = parameters.filter { grids($0).count > 1 }
      guard !parameters.isEmpty else { return }
      let rounding: CalibratedRounding?
      do throws(RoundingFailure) { rounding = try factored(moments, for: parameters) } catch { throw error.calibrationError() }
      for parameter in parameters {
        let floats: Weight
        do throws(E) { floats = try provide(parameter) } catch { throw .source(error) }
        guard let rounded = rounded(parameter, floats, moments, rounding) else { throw .notFinite(tensor: parameter.name.tensor) }
        result[parameter.index] = rounded
        guard progress(result.count) else { throw .stopped }
      }
    }
    var passage = ReadPassage(configuration, weights, read, on: compute)
    for layer in 0..<configuration.layers {
      let groups = passage.groups(of: layer)
      var moments = UniqueArray<SecondMoments>()
      for group in groups { moments.append(SecondMoments(columns: group[0].weight.columns)) }
      passage.read(layer, groups) { moments[$0].add($1, on: compute) }
      for (index, parameters) in groups.enumerated() { try round(parameters, moments[index]) }
    }
    var moments = SecondMoments(columns: configuration.hiddenSize)
    passage.readHead { moments.add($0, on: compute) }
    try round(weights.parameters.filter(\.role.isTable), moments)
    return result
  }

  /// The rounding of matrices that read inputs with these moments; nil where each weight goes to its nearest level.
  private func factored(
    _ moments: borrowing SecondMoments, for parameters: [Parameter]
  ) throws(RoundingFailure) -> CalibratedRounding? {
    guard let options else { return nil }
    let formats = parameters.map { WeightFormat.grid(grids($0)[0]) }
    let made = CalibratedRounding.make(moments: moments.products, for: formats, damping: options.damping, on: compute)
    guard let rounding = made else { throw .notFinite(tensor: parameters[0].name.tensor) }
    return rounding
  }

  /// Rounds a matrix with these floats as a conversion would; nil where a number is none.
  private func rounded(
    _ parameter: Parameter, _ floats: Weight, _ moments: borrowing SecondMoments, _ rounding: borrowing CalibratedRounding?
  ) -> RoundedAlone? {
    let grids = grids(parameter)
    if let exact = Calibrator.exact(floats, as: .grid(grids[0]), on: compute) {
      return RoundedAlone(weight: exact.weight, errors: grids.map { _ in 0 })
    }
    let energies = moments.energies.sums.values
    let errors = grids.map { WeightedErrors.error(of: nearest(floats, $0, energies), beside: floats, energies, on: compute).noise }
    guard errors.allSatisfy(\.isFinite), errors[0] > 0 else { return nil }
    // A row of a table that is read alone is rounded by itself, whatever reads the others.
    guard let options, !parameter.role.isTable || parameter.index == weights.output.index else {
      return RoundedAlone(weight: nearest(floats, grids[0], nil), errors: errors)
    }
    var packed = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: .grid(grids[0]))
    CalibratedRounding.fitScales(of: floats, importance: energies.span, into: &packed, on: compute)
    // One sweep: the others change little of how matrices compare.
    _ = rounding?.chooseCodes(of: floats, into: &packed, sweeps: min(1, options.sweeps), on: compute)
    return RoundedAlone(weight: packed, errors: errors)
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

/// The predictions of the float model on a text, and those with another table.
private struct Predictions: ~Copyable {
  private var decoder: Decoder
  private var runner: ModelRunner
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
    expected = logits()
  }

  /// The mean divergence in nats where a weight, rounded, takes the place of a table.
  mutating func divergence(with weight: Weight, at table: Parameter) -> Double {
    decoder.weights.update(table.index) { $0.weight = weight.floats(on: runner.compute) }
    defer { decoder.weights.update(table.index) { $0.weight = table.weight } }
    var logits = logits()
    var losses = Matrix(rows: rows.count, columns: 1)
    Divergence.forward(&logits, from: expected, losses: &losses, on: runner.compute)
    return losses.values.reduce(0.0) { $0 + Double($1) } / Double(max(rows.count, 1))
  }

  /// Logits of the rows that are compared.
  private mutating func logits() -> Matrix {
    decoder.forward(&runner)
    var selected = Matrix(rows: rows.count, columns: decoder.configuration.hiddenSize)
    for (index, row) in rows.enumerated() { selected.copyRow(row, of: runner.hidden, to: index) }
    var rounded = QuantizedRows(capacity: rows.count, columns: selected.columns)
    var logits = Matrix(rows: rows.count, columns: decoder.configuration.vocabularySize)
    decoder.logits(selected, rounded: &rounded, into: &logits, on: runner.compute)
    return logits
  }
}
