import BasicContainers
import ComplexModule
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import RealModule
import Testing

/// Gradients of the family that ships, whose reference has none: reused keys and values, the norm behind RoPE, int8 keys and values.
///
/// Each parameter is moved along a direction of random signs: one derivative that every element of its gradient has a share in.
@Suite struct AFM7GradientTests {
  private static let rank = 3

  @Test("loss and all gradients agree with the complex step through the formulas", arguments: [false, true], [false, true])
  func gradients(ofAdapter: Bool, layersDiffer: Bool) throws {
    let source = try ModelSource.open(ParityTests.folder + "/afm7")
    var (configuration, weights) = (source.configuration, try source.weights())
    if layersDiffer {
      // Feed-forwards of three widths, one of them in two layers.
      configuration.layerSettings[0].feedForwardSize = 40
      configuration.layerSettings[2].feedForwardSize = 24
      configuration.layerSettings[3].feedForwardSize = 40
      weights = randomWeights(configuration, scales: weights.keyValueScales)
    }
    #expect(configuration.reusingLayers == 3 && configuration.headNorm == .afterRoPE && weights.keyValueScales[0].key != nil)
    // Two sequences; the first and the last tokens of the vocabulary, one that comes twice, rows without a target.
    let sequences: [(tokens: [Int], targets: [Int])] = [([0, 7, 95, 7, 31], [7, -1, 7, 31, 2]), ([64, 5, 40], [5, 40, -1])]
    var adapter = makeAdapter(weights)
    let oracle = AFM7Oracle(
      configuration: configuration, weights: weights, scale: Double(adapter.configuration.scale), entry: entries(adapter, configuration),
      sequences: sequences)
    let numbers = AFM7Oracle.Numbers<Double>(
      weights: weights.parameters.map { doubles([Float](copying: $0.weight.values)) },
      a: (0..<adapter.count).map { doubles(adapter.a[$0].values) }, b: (0..<adapter.count).map { doubles(adapter.b[$0].values) })
    let pass = Pass(configuration, weights, &adapter, sequences, includesWeights: !ofAdapter)
    let expected = oracle.loss(numbers)
    #expect(abs(pass.loss - expected) <= 1e-6 * expected, "\(pass.loss), \(expected)")

    var rng = SplitMix64(seed: 3)
    func check(
      _ name: String, _ gradient: [Float], _ move: (_ numbers: inout AFM7Oracle.Numbers<Complex<Double>>, _ step: [Double]) -> Void
    ) {
      let signs = gradient.map { _ in rng.below(2) == 0 ? 1.0 : -1.0 }
      let h = 0x1p-200
      var moved = AFM7Oracle.Numbers(
        weights: numbers.weights.map { $0.map { Complex($0) } }, a: numbers.a.map { $0.map { Complex($0) } },
        b: numbers.b.map { $0.map { Complex($0) } })
      move(&moved, signs.map { $0 * h })
      let expected = oracle.loss(moved).imaginary / h
      let found = zip(gradient, signs).reduce(0) { $0 + Double($1.0) * $1.1 }
      let size = gradient.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
      #expect(size > 0, "\(name) has no gradient")
      #expect(abs(found - expected) <= ParityTests.tolerance * size, "\(name): \(found), \(expected) of \(size)")
    }
    func step(_ values: inout [Complex<Double>], _ by: [Double]) { for i in by.indices { values[i].imaginary = by[i] } }
    if ofAdapter {
      for entry in 0..<adapter.count {
        check(adapter.modules[entry] + ".A", pass.gradient { $0.a(entry) }) { step(&$0.a[entry], $1) }
        check(adapter.modules[entry] + ".B", pass.gradient { $0.b(entry) }) { step(&$0.b[entry], $1) }
      }
    } else {
      for parameter in weights.parameters {
        check(parameter.name.tensor, pass.gradient { $0.weight(parameter.index) ?? 0 }) { step(&$0.weights[parameter.index], $1) }
      }
    }
  }

  private func randomWeights(_ configuration: ModelConfiguration, scales: [KeyValueScales]) -> DecoderWeights {
    var rng = SplitMix64(seed: 6)
    var weights = DecoderWeights(
      configuration,
      provide: { declaration in
        let bound = 1.5 / Float(declaration.columns).squareRoot()
        let values = (0..<declaration.rows * declaration.columns).map { _ in
          declaration.isMatrix ? rng.uniform(bound: bound) : 1 + rng.uniform(bound: 0.3)
        }
        return Weight(rows: declaration.rows, columns: declaration.columns, values: values)
      }, provideScale: { _ in nil })
    weights.keyValueScales = scales
    return weights
  }

  /// Every linear layer, with a `B` that is not zero.
  private func makeAdapter(_ weights: DecoderWeights) -> Adapter {
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.alpha) = (Self.rank, 6)
    var adapter = Adapter(configuration, for: weights)
    var rng = SplitMix64(seed: 2)
    adapter.initialize(using: &rng)
    for i in 0..<adapter.count {
      for row in 0..<adapter.b[i].rows { for column in 0..<Self.rank { adapter.b[i][row, column] = rng.uniform(bound: 0.1) } }
    }
    return adapter
  }

  private func entries(_ adapter: borrowing Adapter, _ c: ModelConfiguration) -> (Int, LinearKind) -> Int? {
    let table = (0..<c.layers).map { layer in LinearKind.allCases.map { adapter.entry(layer, $0) } }
    return { table[$0][$1.rawValue] }
  }

  /// A forward and a backward pass of the decoder.
  private struct Pass: ~Copyable {
    let loss: Double
    private let passes: GradientRunner

    init(
      _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ adapter: inout Adapter,
      _ sequences: [(tokens: [Int], targets: [Int])], includesWeights: Bool
    ) {
      let decoder = Decoder(configuration, weights: weights)
      let tokens = sequences.flatMap { $0.tokens.map { Int32($0) } }
      let targets = sequences.flatMap { $0.targets.map { Int32($0) } }
      let list = TrainableList(weights, adapter: adapter.layout, includesWeights: includesWeights)
      var passes = GradientRunner(
        decoder, rows: tokens.count, sequences: sequences.count, adapter: adapter.configuration, training: list, chunk: 4,
        on: Compute(threads: 2))
      passes.forward(tokens.span, lengths: sequences.map(\.tokens.count), decoder, adapter: &adapter)
      let each = [Float](repeating: 1 / Float(targets.count { $0 >= 0 }), count: targets.count)
      loss = passes.beginBackward(targets: targets.span, weights: each.span, decoder)
      passes.endBackward(decoder, adapter: &adapter)
      self.passes = passes
    }

    func gradient(_ index: (TrainableList) -> Int) -> [Float] {
      passes.backward.work.gradients.values[index(passes.backward.work.gradients.list)].values
    }
  }
}
