internal import DibitTensor

/// A parameter that a configuration asks for.
package struct ParameterDeclaration: Equatable, Sendable {
  /// Where it lies in a checkpoint.
  package let name: ParameterName
  /// Outputs; 1 for norms and biases.
  package let rows: Int
  /// Inputs of an output.
  package let columns: Int
  /// Whether weight decay and rounding apply: matrices yes, norms and biases no.
  package var isMatrix: Bool { rows > 1 }
}

extension DecoderWeights {
  /// The parameters and the scale tensors that a model of this configuration has, without any weights.
  package static func declarations(of configuration: ModelConfiguration) -> (parameters: [ParameterDeclaration], scales: [String]) {
    var (parameters, scales): ([ParameterDeclaration], [String]) = ([], [])
    let nothing = Weight(zerosWithRows: 0, columns: 0)
    _ = DecoderWeights(
      configuration,
      provide: { name, rows, columns in
        parameters.append(ParameterDeclaration(name: name, rows: rows, columns: columns))
        return nothing
      },
      provideScale: { name in
        scales.append(name)
        return nil
      })
    return (parameters, scales)
  }
}
