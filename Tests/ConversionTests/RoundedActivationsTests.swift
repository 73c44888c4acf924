import DibitConversion
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

/// A packed model run on rounded activations, beside the same weights expanded to floats.
@Suite struct RoundedActivationsTests {
  /// The root mean square and the largest difference of all logits of a text, over their standard deviation.
  private func distance(_ model: String, _ activations: ActivationPrecision) throws -> (rms: Double, worst: Double) {
    let stored = try StoredModel.open(model)
    var rng = SplitMix64(seed: 1)
    let tokens = (0..<40).map { _ in Int32(rng.below(stored.configuration.vocabularySize)) }
    func logits(_ precision: ActivationPrecision) throws -> [Double] {
      let compute = Compute(threads: 2, activations: precision)
      var session = Session(
        stored.configuration, weights: stored.weights, adapter: .none(for: stored.weights), precision: .float32, on: compute)
      var all: [Double] = []
      for token in tokens {
        try session.append([token])
        all += session.lastLogits.map { Double($0) }
      }
      return all
    }
    let (exact, found) = (try logits(.float), try logits(activations))
    let mean = exact.reduce(0, +) / Double(exact.count)
    let deviation = (exact.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(exact.count)).squareRoot()
    let squares = zip(exact, found).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } / Double(exact.count)
    let worst = zip(exact, found).reduce(0) { max($0, abs($1.0 - $1.1)) }
    return (squares.squareRoot() / deviation, worst / deviation)
  }

  /// Two bytes are as good as floats. One byte has noise of half a percent in each product, which these small random models, whose
  /// attention is nearly one-hot, make up to ten times as large on its way to the logits.
  @Test(arguments: ExportTests.families)
  func logitsStayClose(family: String) throws {
    let scratch = Scratch()
    try convert(try ExportTests().source(family, in: scratch), scratch("model"), scheme(2, group: 64))
    let wide = try distance(scratch("model"), .int16)
    #expect(wide.rms < 1e-3 && wide.worst < 1e-2, "int16: \(wide)")
    let narrow = try distance(scratch("model"), .int8)
    #expect(narrow.rms < 5e-2 && narrow.rms > wide.rms, "int8: \(narrow)")
  }
}
