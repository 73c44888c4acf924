internal import BasicContainers
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
      let groups = passage.groups(of: layer)
      var sums = UniqueArray<InputEnergies>()
      for group in groups { sums.append(InputEnergies(columns: group[0].weight.columns)) }
      passage.read(layer, groups) { sums[$0].add($1, on: compute) }
      for (index, group) in groups.enumerated() { for parameter in group { energies[parameter.index] = sums[index].sums.values } }
    }
    var final = InputEnergies(columns: configuration.hiddenSize)
    passage.readHead { final.add($0, on: compute) }
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
        of: weights.floats(of: original.index, on: compute), beside: expected, energies[original.index], on: compute)
    }
    return errors
  }

  /// `Σ e w²` and `Σ e (w - v)²` over the elements `w` of a matrix and `v` of a rounded one, `e` the energy of their input.
  static func error(of rounded: Weight, beside original: Weight, _ energies: [Float]?, on compute: Compute) -> GridQuantization.Error {
    let columns = original.columns
    let energies = energies ?? [Float](repeating: 1, count: columns)
    var found = Matrix(rows: 0, columns: 0)
    var expected = Matrix(rows: 0, columns: 0)
    var error = GridQuantization.Error()
    for first in stride(from: 0, to: original.rows, by: 256) {
      let part = first..<min(first + 256, original.rows)
      rounded.copyRows(part, to: &found, on: compute)
      original.copyRows(part, to: &expected, on: compute)
      let (a, b) = (found.span, expected.span)
      for row in 0..<part.count {
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
    }
    return error
  }
}
