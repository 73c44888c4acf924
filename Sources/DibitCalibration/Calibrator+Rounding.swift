package import DibitKernels
internal import DibitModel
package import DibitQuantization
package import DibitTensor

/// The reasons why a part is not rounded.
enum RoundingFailure: Error {
  /// The inputs of a layer are not finite.
  case notFinite(tensor: String)
  /// It was asked to stop.
  case stopped

  func calibrationError<E: Error>() -> CalibrationError<E> {
    switch self {
    case .notFinite(let tensor): .notFinite(tensor: tensor)
    case .stopped: .stopped
    }
  }
}

extension Calibrator {
  func factored(_ moments: borrowing SecondMoments, for parameters: [Parameter]) throws(RoundingFailure) -> CalibratedRounding {
    let made = CalibratedRounding.make(moments: moments.products, for: parameters.map(format), damping: options.damping, on: compute)
    guard let rounding = made else {
      throw .notFinite(tensor: parameters[0].name.tensor)
    }
    return rounding
  }

  /// Rounds a layer, which makes up for what its inputs and the stream lost; see
  /// ``CalibratedRounding/corrected(_:by:alpha:on:)``.
  func round(
    _ parameter: Parameter, _ rounding: borrowing CalibratedRounding, _ moments: borrowing SecondMoments,
    _ feedback: [Int: [OutputFeedback]], _ weights: inout DecoderWeights, _ rounded: inout [Int: Rounded]
  ) throws(RoundingFailure) {
    let weight = weights.parameters[parameter.index].weight.floats(on: compute)
    if let exact = Self.exact(weight, as: format(parameter), on: compute) {
      rounded[parameter.index] = exact
      weights.update(parameter.index) { $0.weight = exact.weight }
      return
    }
    let corrected = CalibratedRounding.corrected(
      weight, by: moments, alpha: options.inputCorrection, on: compute)
    guard let floats = corrected else { throw .notFinite(tensor: parameter.name.tensor) }
    let result = round(
      floats, rounding, importance: moments.energies.sums.span, as: format(parameter), feedback: feedback[parameter.index] ?? [])
    rounded[parameter.index] = result
    weights.update(parameter.index) { $0.weight = result.weight }
  }

  /// The rounding of each weight by itself where it loses nothing: what was trained on the grid is packed as it is.
  package static func exact(_ weight: Weight, as format: WeightFormat, on compute: Compute) -> Rounded? {
    var packed = Weight(zerosWithRows: weight.rows, columns: weight.columns, format: format)
    GridQuantization.fitScales(of: weight, into: &packed, on: compute)
    let error = GridQuantization.chooseCodes(of: weight, into: &packed, on: compute)
    return error.noise == 0 ? Rounded(weight: packed, error: error) : nil
  }

  private func round(
    _ floats: Weight, _ rounding: borrowing CalibratedRounding, importance: Span<Float>, as format: WeightFormat,
    feedback: [OutputFeedback] = []
  ) -> Rounded {
    var packed = Weight(zerosWithRows: floats.rows, columns: floats.columns, format: format)
    CalibratedRounding.fitScales(of: floats, importance: importance, into: &packed, on: compute)
    let error = rounding.chooseCodes(of: floats, into: &packed, sweeps: options.sweeps, feedback: feedback, on: compute)
    return Rounded(weight: packed, error: error)
  }

  /// Rounds the embedding and the head, by what the head reads; an embedding that is the head too also by its own elements.
  func roundTables<E: Error>(
    _ floats: DecoderWeights, _ runner: inout ModelRunner, _ rounded: inout [Int: Rounded],
    _ provide: (Parameter) throws(E) -> Weight, _ did: (CalibrationPace.Work) throws(RoundingFailure) -> Void
  ) throws(CalibrationError<E>) {
    func told(_ work: CalibrationPace.Work) throws(CalibrationError<E>) {
      do throws(RoundingFailure) { try did(work) } catch { throw error.calibrationError() }
    }
    let tables = weights.parameters.filter { $0.role.isTable && isRounded($0) }
    guard !tables.isEmpty else { return }
    var (part, tokens) = (0, 0)
    while part < batches.count, tokens < options.headTokens {
      tokens += batches[part].reduce(0) { $0 + $1.count }
      part += 1
    }
    var passage = Passage(Decoder(configuration, weights: floats), Array(batches.prefix(part)), &runner)
    for layer in 0..<configuration.layers {
      for parameter in linears(of: layer) { try load(parameter, into: &passage.decoder.weights, provide) }
      for batch in 0..<part {
        let branches = 0..<2
        passage.run(batch, layer: layer, branches: branches, &runner)
        passage.advance(batch, layer: layer, branches: branches, runner)
      }
      for parameter in linears(of: layer) where layer != configuration.keyValueLayers - 1 {
        passage.decoder.weights.update(parameter.index) { $0.weight = parameter.weight }
      }
      try told(.tablePass)
    }
    var moments = SecondMoments(columns: configuration.hiddenSize)
    for batch in 0..<part {
      passage.normalize(batch, &runner)
      moments.add(runner.hidden, on: compute)
    }
    if weights.output.index == weights.embedding.index { moments.addEvenly(options.embeddingShare) }
    let rounding: CalibratedRounding
    do throws(RoundingFailure) { rounding = try factored(moments, for: tables) } catch { throw error.calibrationError() }
    for parameter in tables {
      let weight = floats.parameters[parameter.index].weight.floats(on: compute)
      if let exact = Self.exact(weight, as: format(parameter), on: compute) {
        rounded[parameter.index] = exact
      } else if parameter.index == weights.output.index {
        rounded[parameter.index] = round(weight, rounding, importance: moments.energies.sums.span, as: format(parameter))
      } else {
        // A row is read alone, whatever it holds.
        var packed = Weight(zerosWithRows: weight.rows, columns: weight.columns, format: format(parameter))
        let ones = [Float](repeating: 1, count: weight.columns)
        CalibratedRounding.fitScales(of: weight, importance: ones.span, into: &packed, on: compute)
        let error = GridQuantization.chooseCodes(of: weight, into: &packed, on: compute)
        rounded[parameter.index] = Rounded(weight: packed, error: error)
      }
      if parameter.index == weights.output.index { try told(.rounding(parameter)) }
    }
  }
}
