package import DibitKernels
package import DibitModel
internal import DibitTensor

/// The losses of a model's matrices beside those of the model that they come from, each input counted by its energy on a text.
///
/// Plain decibels say little of what rounding does: a few inputs carry most of what a matrix reads.
package struct WeightedErrors: Sendable {
  /// Tokens of the text that inputs come from.
  private static let tokens = 4096

  private let reference: DecoderWeights
  /// The energy of each input of a parameter.
  private let energies: [Int: [Float]]

  /// Reads what the matrices of `reference` read on the first of some windows of text.
  package init(_ configuration: ModelConfiguration, _ reference: DecoderWeights, windows: [[Int32]], on compute: Compute) {
    self.reference = reference
    let read = Calibrator.batches(Calibrator.first(Self.tokens, of: windows), rows: 2048)
    var passage = ReadPassage(configuration, reference, read, on: compute)
    var energies: [Int: [Float]] = [:]
    for layer in 0..<configuration.layers {
      for (inputs, parameters) in passage.inputs(of: layer) {
        var moments = InputEnergies(columns: parameters[0].weight.columns)
        for batch in inputs { moments.add(batch.matrix, on: compute) }
        for parameter in parameters { energies[parameter.index] = moments.sums.values }
      }
    }
    var final = InputEnergies(columns: configuration.hiddenSize)
    for batch in passage.final() { final.add(batch.matrix, on: compute) }
    energies[reference.output.index] = final.sums.values
    self.energies = energies
  }

  /// The loss of each matrix of a model, by its parameter; nil where the model has others than the reference.
  ///
  /// A table that no product reads counts all of its columns alike.
  package func errors(of weights: DecoderWeights, on compute: Compute) -> [Int: GridQuantization.Error]? {
    guard weights.published.count == reference.count else { return nil }
    var errors: [Int: GridQuantization.Error] = [:]
    for (parameter, original) in zip(weights.published, reference.parameters) where original.isMatrix {
      let (weight, expected) = (parameter.weight, original.weight)
      guard weight.rows == expected.rows, weight.columns == expected.columns, parameter.role == original.role else { return nil }
      errors[original.index] = Self.error(
        of: weights.floats(of: original.index, on: compute), beside: expected.floats(on: compute), energies[original.index])
    }
    return errors
  }

  /// `Σ e w²` and `Σ e (w - v)²` over the elements `w` of a matrix and `v` of a rounded one, both F32, `e` the energy of their input.
  static func error(of rounded: Weight, beside floats: Weight, _ energies: [Float]?) -> GridQuantization.Error {
    let columns = floats.columns
    let energies = energies ?? [Float](repeating: 1, count: columns)
    let (a, b) = (rounded.values, floats.values)
    var error = GridQuantization.Error()
    for row in 0..<floats.rows {
      var (signal, noise) = (Float(0), Float(0))
      for column in 0..<columns {
        let value = b[row * columns + column]
        let difference = a[row * columns + column] - value
        signal += energies[column] * value * value
        noise += energies[column] * difference * difference
      }
      error.signal += Double(signal)
      error.noise += Double(noise)
    }
    return error
  }
}
