internal import DibitCalibration
internal import DibitCheckpoint
internal import DibitKernels
internal import DibitFailure
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// Weights that were rounded by what their inputs are, and what that lost.
struct CalibratedWeights {
  private let parameters: [ParameterDeclaration]
  private let rounded: [Int: Calibrator.Rounded]

  /// Rounds the source of a conversion on windows of text, until `progress` returns false.
  static func make(
    _ source: String, _ options: ConversionOptions, windows: [[Int32]], on compute: Compute, progress: (Calibrator.Progress) -> Bool
  ) throws(ConversionError) -> CalibratedWeights {
    let opened = try rethrow(as: ConversionError.source, ModelSource.open(source))
    let declarations = try rethrow(as: ConversionError.source, opened.declarations().parameters)
    let scheme = options.scheme
    // Float layers in BF16: what they compute differs far less from floats than what is rounded.
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let calibrator = Calibrator(
      opened.configuration, try rethrow(as: ConversionError.source, opened.weightsWithoutMatrices()), windows: windows,
      options: Calibrator.Options(), on: compute, format: { scheme.format(of: $0.role, source: .bf16) })
    do throws(CalibrationError<ConversionError>) {
      let rounded = try calibrator.run(
        weights: { parameter throws(ConversionError) in
          let weight = try rethrow(as: ConversionError.source, opened.matrix(declarations[parameter.index]))
          return try finite(weight.floats(on: compute), parameter.name)
        }, progress: progress)
      return CalibratedWeights(parameters: declarations, rounded: rounded)
    } catch {
      switch error {
      case .source(let error): throw error
      case .notFinite(let tensor): throw .inputsNotFinite(tensor: tensor)
      case .stopped: throw .interrupted
      }
    }
  }

  private static func finite(_ weight: Weight, _ name: ParameterName) throws(ConversionError) -> Weight {
    guard let bad = firstNonFinite(weight.values) else { return weight }
    let row = bad / weight.columns + (name.rows?.lowerBound ?? 0)
    throw .notFinite(tensor: name.tensor, row: row, column: bad % weight.columns, value: "\(weight.values[bad])")
  }

  /// A tensor, of which parameters may be parts, and what was lost; nil where it was not rounded.
  func packed(_ tensor: String) -> (weight: Weight, error: GridQuantization.Error)? {
    let parts = parameters.indices.filter { parameters[$0].name.tensor == tensor }.sorted {
      (parameters[$0].name.rows?.lowerBound ?? 0) < (parameters[$1].name.rows?.lowerBound ?? 0)
    }
    let found = parts.compactMap { rounded[$0] }
    guard !found.isEmpty, found.count == parts.count else { return nil }
    var error = GridQuantization.Error()
    for part in found { error += part.error }
    return (Weight.joining(found.map(\.weight)), error)
  }
}
