import BasicContainers
import CAllocationCount
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import Testing

@testable import DibitTraining

/// Everything is allocated before the first step: passes over a batch, the gradient's norm and the optimiser take no memory from the heap.
@Suite struct StepAllocationTests {
  /// Unoptimised Swift puts captured variables and temporaries on the heap.
  static var counts: Bool {
    #if DEBUG
      false
    #else
      allocation_count_of_thread() >= 0
    #endif
  }

  struct Case: CustomTestStringConvertible, Sendable {
    var threads = 2
    var trainsWeights = false
    var rounding: QuantizationScheme?
    var dropout: Float = 0
    var decomposesWeights = false
    var keptLayers: Int?
    var testDescription: String {
      "\(threads) threads, \(trainsWeights ? "weights" : "adapter"), rounded \(rounding != nil), dropout \(dropout), "
        + "magnitudes \(decomposesWeights), kept \(keptLayers.map { "\($0)" } ?? "all")"
    }
  }

  static let cases = [
    Case(), Case(threads: 1), Case(dropout: 0.1), Case(decomposesWeights: true), Case(keptLayers: 1), Case(trainsWeights: true),
    Case(trainsWeights: true, rounding: QuantizationScheme()),
  ]

  @Test("a step allocates nothing", .enabled(if: counts), arguments: cases)
  func step(_ one: Case) throws {
    let training = try TrainingCase()
    var options = TrainingCase.options()
    (options.adapter.dropout, options.adapter.decomposesWeights) = (one.dropout, one.decomposesWeights)
    options.optimization.rounding = one.rounding
    // OpenBLAS allocates in some of its kernels: what it does is its own matter.
    let compute = Compute(threads: one.threads, usesBLAS: false, floats: .bfloat16)
    var weights = training.model.weights
    if one.trainsWeights { weights.updateEach { $0.weight = $0.weight.floats(on: compute) } }
    var adapter = one.trainsWeights ? Adapter.none(for: weights) : Adapter(options.adapter, for: weights)
    adapter.initializeMagnitudes(of: weights, on: compute)
    let batch = Batch(Array(training.examples.prefix(4)))
    let rank = adapter.configuration.rank
    if one.dropout > 0 { adapter.dropout = AdapterDropout(adapter, capacity: batch.tokens.count, seed: 1) }
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: weights), adapter: adapter, trainsWeights: one.trainsWeights,
      options: options.optimization)
    parameters.update(on: compute)
    var engine = StepEngine(
      parameters.model.decoder, rows: batch.tokens.count, sequences: 4, rank: rank, trainsWeights: one.trainsWeights,
      savesOutputs: one.decomposesWeights, recording: one.keptLayers.map { .last($0) } ?? .all, on: compute)
    var gradients = parameters.makeGradients()
    var sums = LossSums()
    func pass(_ step: Int) {
      gradients.clear()
      parameters.adapter.dropout?.begin(step: step, firstRow: 0)
      _ = engine.accumulate(
        batch, parameters.model.decoder, adapter: parameters.adapter, total: batch.totalWeight, into: &gradients, losses: &sums)
      parameters.adapter.dropout?.end()
      _ = gradients.norm(on: compute)
      parameters.step(gradients, learningRate: 1e-3, step: step, gradientScale: 1, on: compute)
    }
    for step in 1...3 { pass(step) }
    let before = allocation_count_of_thread()
    for step in 4...8 { pass(step) }
    #expect(allocation_count_of_thread() - before == 0)
  }
}
