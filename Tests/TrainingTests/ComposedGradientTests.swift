import BasicContainers
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitTraining

/// What `dibit train` runs by default, packed weights with an adapter beside them, against the same weights as floats in plain code.
@Suite struct ComposedGradientTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var family: String
    var decomposesWeights = false
    var dropout: Float = 0
    var recovers = false
    var testDescription: String { "\(family), magnitudes \(decomposesWeights), dropout \(dropout), recovery \(recovers)" }
  }

  static let cases = ["llama", "afm7"].flatMap {
    [
      Case(family: $0), Case(family: $0, decomposesWeights: true), Case(family: $0, dropout: 0.2), Case(family: $0, recovers: true),
      Case(family: $0, decomposesWeights: true, recovers: true),
    ]
  }

  @Test("every gradient of an adapter over packed weights is that over floats", arguments: ISA.available, cases)
  func packed(isa: ISA, one: Case) throws {
    let training = try TrainingCase(one.family)
    let plain = Compute(isa: .scalar, threads: 1, usesBLAS: false, activations: .float, gradients: .float)
    var configuration = training.model.configuration
    if one.recovers { configuration.recoveryRank = 12 }
    let packed = one.recovers ? recovered(training.model.weights, configuration) : training.model.weights
    // What a recovery adds is a part of the floats.
    var floats = training.model.weights
    floats.updateEach { $0.weight = packed.floats(of: $0.index, on: plain) }
    let expected = gradients(training, training.model.configuration, floats, one, on: plain)
    #expect(expected.allSatisfy { $0.values.contains { $0 != 0 } })

    func worst(_ compute: Compute) -> (name: String, error: Double) {
      let found = gradients(training, configuration, packed, one, on: compute)
      #expect(found.map(\.name) == expected.map(\.name))
      return zip(found, expected).map { (name: $0.name, error: relativeNorm($0.values, $1.values)) }.max { $0.error < $1.error } ?? ("", 1)
    }
    // Floats in another order of summation; where int8 keys and values follow, a last bit may move a code.
    let exact = worst(Compute(isa: isa, threads: 2, activations: .float, gradients: .float))
    #expect(exact.error <= (training.model.configuration.quantizesKeyValues ? 5e-3 : 2e-5), "\(exact)")
    // Rounded as they are by default. What a formula that is wrong somewhere gives is of the size of the gradient itself; bounds are about
    // twice what the worst matrix of these random models has.
    let products = worst(Compute(isa: isa, threads: 2, activations: .float, emulatesBFloat: true))
    #expect(products.error <= 0.02, "\(products)")
    let all = worst(Compute(isa: isa, threads: 2, emulatesBFloat: true))
    #expect(all.error <= 0.1, "\(all)")
  }

  /// Weights with random factors beside them, as packed as these.
  private func recovered(_ weights: DecoderWeights, _ configuration: ModelConfiguration) -> DecoderWeights {
    var index = 0
    return DecoderWeights(
      configuration,
      provide: { declaration in
        defer { index += 1 }
        guard case .recovery = declaration.role else { return weights.parameters[index].weight }
        let values = gaussians(declaration.rows * declaration.columns, seed: UInt64(index)).map { $0 * 0.1 }
        var factor = Weight(zerosWithRows: declaration.rows, columns: declaration.columns, format: .grid(bits: 8, group: 32))
        let compute = Compute(threads: 1)
        GridQuantization.round(Weight(rows: declaration.rows, columns: declaration.columns, values: values), into: &factor, on: compute)
        return factor
      },
      provideScale: { tensor in
        let names = ParameterNames(configuration)
        for (layer, scales) in weights.keyValueScales.enumerated() {
          if tensor == names.keyScale(layer) { return scales.key }
          if tensor == names.valueScale(layer) { return scales.value }
        }
        return nil
      })
  }

  private func gradients(
    _ training: TrainingCase, _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ one: Case, on compute: Compute
  ) -> [(name: String, values: [Float])] {
    var shape = AdapterConfiguration()
    (shape.rank, shape.alpha, shape.decomposesWeights, shape.dropout) = (4, 8, one.decomposesWeights, one.dropout)
    var adapter = Adapter(shape, for: weights)
    var rng = SplitMix64(seed: 4)
    adapter.initialize(using: &rng)
    for i in 0..<adapter.count {
      for row in 0..<adapter.b[i].rows { for column in 0..<shape.rank { adapter.b[i][row, column] = rng.uniform(bound: 0.05) } }
    }
    // Not where they begin, so that the gains are not one.
    adapter.initializeMagnitudes(of: weights, on: compute)
    for i in 0..<adapter.magnitudes.count {
      for column in 0..<adapter.magnitudes[i].columns { adapter.magnitudes[i][0, column] *= 1 + rng.uniform(bound: 0.2) }
    }
    adapter.updateGains(of: weights, on: compute)
    let batch = Batch(training.examples.prefix(4))
    let decoder = Decoder(configuration, weights: weights)
    let list = TrainableList(weights, adapter: adapter.layout, includesWeights: false)
    var engine = StepEngine(decoder, rows: batch.tokens.count, sequences: 4, adapter: shape, training: list, on: compute)
    var sums = LossSums()
    _ = engine.accumulate(
      batch, decoder, adapter: &adapter, total: batch.totalWeight, dropout: DropoutStep(seed: 1, step: 1, firstRow: 0), losses: &sums)
    return engine.withGradients { gradients in
      list.entries.enumerated().map { (name: $1.name, values: gradients.values[$0].values) }
    }
  }
}
