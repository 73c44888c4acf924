package import DibitCalibration
internal import DibitCheckpoint
internal import DibitKernels
internal import DibitFailure
package import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// The weights of a model that were rounded with more in view than their own values, by the tensors of its checkpoint.
package struct RoundedWeights {
  private let parameters: [ParameterDeclaration]
  private let weights: [Int: Weight]  // by parameter
  private let errors: [Int: GridQuantization.Error]
  private var scales: [String: Float] = [:]  // of keys and values
  /// The layers that were trained behind their rounding, by their number.
  let trained: [Int: Calibrator.TrainedLayer]

  /// All weights of a trained model, norms and the scales of keys and values included.
  ///
  /// - Parameter layers: The layers that were trained one by one before.
  package init(_ configuration: ModelConfiguration, _ trained: DecoderWeights, layers: [Int: Calibrator.TrainedLayer] = [:]) {
    parameters = DecoderWeights.declarations(of: configuration).parameters
    weights = Dictionary(uniqueKeysWithValues: trained.parameters.map { ($0.index, $0.weight) })
    (errors, self.trained) = ([:], layers)
    let names = ParameterNames(configuration)
    for (layer, pair) in trained.keyValueScales.enumerated() {
      scales[names.keyScale(layer)] = pair.key
      scales[names.valueScale(layer)] = pair.value
    }
  }

  private init(_ parameters: [ParameterDeclaration], _ result: Calibrator.Result) {
    self.parameters = parameters
    weights = result.rounded.mapValues(\.weight)
    errors = result.rounded.compactMapValues(\.error)
    trained = result.trained
  }

  /// Rounds the source of a conversion on windows of text, until `progress` returns false; `store` keeps what is done. Where nothing is at
  /// `spill` yet, files lie there for what would take too much memory.
  static func calibrated(
    _ source: String, _ options: ConversionOptions, windows: [[Int32]], keepingIn store: CalibrationStore?, spillingTo spill: String,
    on compute: Compute, progress: (Calibrator.Progress) -> Bool
  ) throws(ConversionError) -> RoundedWeights {
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    let declarations = try rethrow(as: ConversionError.source, opened.declarations().parameters)
    let scheme = options.scheme
    // Float layers in BF16: what they compute differs far less from floats than what is rounded.
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    var settings = Calibrator.Options()
    if options.trainsLayers { settings.training = Calibrator.TrainingOptions() }
    let calibrator = Calibrator(
      opened.configuration, try rethrow(as: ConversionError.source, opened.weightsWithoutMatrices()), windows: windows,
      options: settings, spillingTo: spill, on: compute, format: { scheme.format(of: $0.name, $0.role, source: .bf16) })
    do throws(CalibrationError<ConversionError>) {
      let result = try calibrator.run(
        weights: { parameter throws(ConversionError) in
          let weight = try rethrow(as: ConversionError.source, opened.matrix(declarations[parameter.index])).floats(on: compute)
          defer { opened.checkpoint.release(parameter.name.tensor) }
          return try finite(weight, parameter.name)
        },
        all: { () throws(ConversionError) in
          // Opened by itself, so that its pages go with it.
          try rethrow(as: ConversionError.source, ModelSource.open(source).weights(inBFloat: compute.floats == .bfloat16))
        },
        recall: { part throws(ConversionError) in
          try store?.recall(part, declarations) { scheme.format(of: $0.name, $0.role, source: .bf16) }
        }, keep: { part, made throws(ConversionError) in try store?.keep(part, made) }, progress: progress)
      return RoundedWeights(declarations, result)
    } catch {
      switch error {
      case .source(let error): throw error
      case .notFinite(let tensor): throw .inputsNotFinite(tensor: tensor)
      case .spill(let error): throw .file(error)
      case .stopped: throw .interrupted
      }
    }
  }

  private static func finite(_ weight: Weight, _ name: ParameterName) throws(ConversionError) -> Weight {
    guard let bad = firstNonFinite(weight.values) else { return weight }
    let row = bad / weight.columns + (name.rows?.lowerBound ?? 0)
    throw .notFinite(tensor: name.tensor, row: row, column: bad % weight.columns, value: "\(weight.values[bad])")
  }

  /// True where rounding changed a weight, as far as is known.
  var isLossy: Bool { weights.contains { errors[$0.key]?.noise != 0 } }

  /// The model with these weights, and with those of its source that were not rounded.
  func decoderWeights(of source: ModelSource) throws(ConversionError) -> DecoderWeights {
    var model = try rethrow(as: ConversionError.source, source.weightsWithoutMatrices())
    for (index, parameter) in model.parameters.enumerated() where parameter.role.isMatrix {
      var weight = weights[index]
      if weight == nil { weight = try rethrow(as: ConversionError.source, source.matrix(parameters[index])) }
      if let weight { model.update(index) { $0.weight = weight } }
    }
    return model
  }

  /// A tensor, of which parameters may be parts, and what was lost, where that is known; nil where it was not rounded.
  func packed(_ tensor: String) -> (weight: Weight, error: GridQuantization.Error?)? {
    let parts = parts(of: tensor)
    let found = parts.compactMap { weights[$0] }
    guard !found.isEmpty, found.count == parts.count, found[0].isPacked else { return nil }
    let known = parts.compactMap { errors[$0] }
    guard known.count == parts.count else { return (Weight.joining(found), nil) }
    var error = GridQuantization.Error()
    for part in known { error += part }
    return (Weight.joining(found), error)
  }

  /// The floats of a tensor; nil where they are the source's.
  func floats(_ tensor: String) -> [Float]? {
    if let scale = scales[tensor] { return [scale] }
    let found = parts(of: tensor).compactMap { weights[$0] }
    return found.isEmpty ? nil : found.flatMap { weight in (0..<weight.count).map { weight.values[$0] } }
  }

  /// The parameters that a tensor holds, in the order of its rows.
  private func parts(of tensor: String) -> [Int] {
    parameters.indices.filter { parameters[$0].name.tensor == tensor }.sorted {
      (parameters[$0].name.rows?.lowerBound ?? 0) < (parameters[$1].name.rows?.lowerBound ?? 0)
    }
  }
}
