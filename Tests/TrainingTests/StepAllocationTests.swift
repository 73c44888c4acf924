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
    var rounding: TrainedRounding?
    var dropout: Float = 0
    var decomposesWeights = false
    var keptLayers: Int?
    var testDescription: String {
      "\(threads) threads, \(trainsWeights ? "weights" : "adapter"), rounded \(rounding != nil), "
        + "codes by \(rounding?.codes.rawValue ?? "nothing"), scales \(rounding?.movesScales == true), dropout \(dropout), "
        + "magnitudes \(decomposesWeights), kept \(keptLayers.map { "\($0)" } ?? "all")"
    }
  }

  static let cases = [
    Case(), Case(threads: 1), Case(dropout: 0.1), Case(decomposesWeights: true), Case(keptLayers: 1), Case(trainsWeights: true),
    Case(trainsWeights: true, rounding: TrainedRounding(QuantizationScheme())),
    Case(trainsWeights: true, rounding: TrainedRounding(QuantizationScheme(), movesScales: true)),
    Case(trainsWeights: true, rounding: TrainedRounding(QuantizationScheme(), codes: .fixed)),
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
    if let rounding = one.rounding, rounding.codes == .fixed {
      weights = weights.rounded(to: rounding.scheme, on: compute)
    } else if one.trainsWeights {
      weights.updateEach { $0.weight = $0.weight.floats(on: compute) }
    }
    var adapter = one.trainsWeights ? Adapter.none(for: weights) : Adapter(options.adapter, for: weights)
    adapter.initializeMagnitudes(of: weights, on: compute)
    let shape = one.trainsWeights ? nil : adapter.configuration
    (options.batchSize, options.accumulation, options.optimization.microBatchTokens) = (4, 2, 200)
    var source = ExampleEpochs(training.examples, validation: [], options: options)
    var batches = source.makeBatches()
    let capacity = source.capacity
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: weights), adapter: adapter, trainsWeights: one.trainsWeights,
      options: options.optimization, on: compute)
    parameters.update(on: compute)
    let list = parameters.values.list
    var engine = StepEngine(
      parameters.values.model.decoder, rows: capacity.rows, sequences: capacity.sequences, adapter: shape, training: list,
      recording: one.keptLayers.map { .last($0) } ?? .all, on: compute)
    var sums = LossSums()
    // An epoch first, so that every batch has had its size.
    let epoch = source.totalSteps / options.epochs
    var before = 0
    for step in 1...2 * epoch {
      if step == epoch + 1 { before = allocation_count_of_thread() }
      source.next(into: &batches)
      engine.clearGradients()
      for index in 0..<batches.count {
        _ = engine.accumulate(
          batches[index], parameters.values.model.decoder, adapter: &parameters.values.adapter, total: batches.totalWeight,
          dropout: DropoutStep(seed: 1, step: step, firstRow: 0), losses: &sums)
      }
      engine.updateGradients { parameters.finish(&$0, on: compute) }
      let norm = engine.withGradients { $0.norm(on: compute) }
      engine.withGradients {
        parameters.step($0, learningRate: 1e-3, step: step, gradientScale: norm > 1 ? 1 / norm : 1, on: compute)
      }
    }
    #expect(allocation_count_of_thread() - before == 0)
  }
}
