import BasicContainers
import DibitKernels
import DibitModel
import DibitTensor
import DibitTestSupport
import Testing

/// Texts of one pass under adapters of their own.
@Suite struct MixedAdapterTests {
  private static let texts: [[Int32]] = [[3, 14, 15, 9, 2, 6], [5, 35, 8], [9, 7, 9, 32, 3], [8, 4]]

  private func adapter(_ weights: DecoderWeights, rank: Int, decomposes: Bool, seed: UInt64) -> LoadedAdapter {
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.decomposesWeights) = (rank, decomposes)
    var adapter = Adapter(configuration, for: weights)
    var rng = SplitMix64(seed: seed)
    adapter.initialize(using: &rng)
    for entry in 0..<adapter.count {
      for row in 0..<adapter.b[entry].rows {
        for column in 0..<rank { adapter.b[entry][row, column] = rng.uniform(bound: 0.5) }
      }
    }
    adapter.initializeMagnitudes(of: weights, on: compute)
    for i in 0..<adapter.magnitudes.count {
      for column in 0..<adapter.magnitudes[i].columns { adapter.magnitudes[i][0, column] *= 1 + rng.uniform(bound: 0.2) }
    }
    adapter.updateGains(of: weights, on: compute)
    return LoadedAdapter(adapter)
  }

  @Test(
    "each text has what it has alone", arguments: ["llama", "afm7", "gpt_neox", "phi3"],
    [HiddenRows.all, .last, .rows([0, 5, 6, 10, 15])])
  func mixed(family: String, wanted: HiddenRows) throws {
    let (configuration, weights) = try makePackedModel(family)
    let decoder = Decoder(configuration, weights: weights)
    let first = adapter(weights, rank: 4, decomposes: false, seed: 1)
    // Different ranks, magnitudes, one text without an adapter, and one adapter twice.
    let adapters: [LoadedAdapter?] = [first, adapter(weights, rank: 7, decomposes: true, seed: 2), nil, first]
    func hidden(_ texts: [(tokens: [Int32], adapter: LoadedAdapter?)], _ wanted: HiddenRows) -> [[Float]] {
      let rows = texts.reduce(0) { $0 + $1.tokens.count }
      var runner = ModelRunner(decoder, ModelRunner.Limits(rows: rows, segments: texts.count), precision: .int8, on: compute)
      // Twice: the second pass must not remember the first.
      for _ in 0..<2 {
        runner.removeAll()
        var start = 0
        for text in texts {
          runner.append(text.tokens.span, start: start, adapter: text.adapter)
          start += text.tokens.count
        }
        decoder.forward(&runner, wanted: wanted)
      }
      let columns = configuration.hiddenSize
      let values = runner.hidden.values
      return stride(from: 0, to: values.count, by: columns).map { Array(values[$0..<$0 + columns]) }
    }
    let alone = zip(Self.texts, adapters).flatMap { hidden([(tokens: $0, adapter: $1)], .all) }
    #expect(hidden(Self.texts.map { (tokens: $0, adapter: nil) }, .all) != alone)
    let chosen: [Int] =
      switch wanted {
      case .all: Array(alone.indices)
      case .last: [5, 8, 13, 15]
      case .rows(let rows): rows
      }
    let together = hidden(zip(Self.texts, adapters).map { (tokens: $0, adapter: $1) }, wanted)
    #expect(together.count == chosen.count)
    // Products of floats may round differently for another number of rows, and then a code of an activation does.
    for (row, found) in zip(chosen, together) { #expect(relativeNorm(found, alone[row]) < 0.02, "row \(row)") }
  }
}
