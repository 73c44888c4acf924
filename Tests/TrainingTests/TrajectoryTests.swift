import BasicContainers
import DibitFiles
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
@testable import DibitTraining
import Testing

/// Ten steps against PyTorch's: see Tests/Fixtures/make_trajectories.py.
@Suite struct TrajectoryTests {
  struct Step {
    let loss: Double
    let norm: Double
    let rate: Double
  }

  private let folder = String(#filePath.dropLast("TrainingTests/TrajectoryTests.swift".count)) + "Fixtures/parity/llama"
  private let json: JSONValue

  init() throws { json = try JSONValue(parsing: readFile(folder + "/trajectories.json", limit: 1 << 20)) }

  private func expected(_ key: String) throws -> [Step] {
    try #require(json[key]?.array).map { step in
      Step(
        loss: try #require(step["loss"]?.double), norm: try #require(step["gradient_norm"]?.double),
        rate: try #require(step["learning_rate"]?.double))
    }
  }

  private func options() throws -> OptimizationOptions {
    let json = try #require(json["options"])
    func number(_ key: String) throws -> Float { Float(try #require(json[key]?.double)) }
    var options = OptimizationOptions()
    (options.learningRate, options.finalLearningRate) = (try number("learning_rate"), try number("final_learning_rate"))
    (options.clipNorm, options.optimizer.weightDecay) = (try number("grad_clip"), try number("weight_decay"))
    options.warmUp = .steps(try #require(json["warmup_steps"]?.int))
    return options
  }

  enum Trained: String, CaseIterable { case weights, adapter, dora }

  private func run(_ trained: Trained, options: OptimizationOptions, on compute: Compute) throws -> [Step] {
    let source = try ModelSource.open(folder)
    let weights = try source.weights()
    let batches = try #require(json["tokens"]?.array).map { batch in
      try #require(batch.array).map { try #require($0.array).map { Int32(try #require($0.int)) } }
    }
    var loop = TrainingLoop(
      trained == .weights ? .weights : .adapter, FixedBatches(batches), decoder: Decoder(source.configuration, weights: weights),
      adapter: try adapter(trained, weights), trainsWeights: trained == .weights, options: options, on: compute)
    #expect((loop.plan.keptLayers == loop.plan.layers) == options.keepsActivations)
    var steps: [Step] = []
    _ = try loop.run(checkpoints: nil) { event in
      if case .step(let step) = event.kind {
        steps.append(Step(loss: Double(step.loss), norm: Double(step.gradientNorm), rate: Double(step.learningRate)))
      }
      return true
    }
    return steps
  }

  /// PEFT's adapter; with magnitudes, as DoRA begins: at the norms of the base's rows.
  private func adapter(_ trained: Trained, _ weights: DecoderWeights) throws -> Adapter {
    if trained == .weights { return .none(for: weights) }
    if trained == .adapter { return try StoredAdapter.readPEFT(folder + "/peft", weights: weights, on: Compute(threads: 1)) }
    let stored = try StoredAdapter.readPEFT(folder + "/peft", weights: weights, on: Compute(threads: 1))
    var configuration = stored.configuration
    configuration.decomposesWeights = true
    var adapter = Adapter(configuration, for: weights)
    adapter.initializeMagnitudes(of: weights, on: Compute(threads: 1))
    for i in 0..<adapter.count {
      adapter.a[i].copy(stored.a[i])
      adapter.b[i].copy(stored.b[i])
    }
    return adapter
  }

  @Test("ten steps in floats have PyTorch's losses within 1e-4", arguments: Trained.allCases, [1, 2])
  func floats(trained: Trained, threads: Int) throws {
    let expected = try expected(trained.rawValue)
    let found = try run(trained, options: try options(), on: Compute(threads: threads, gradients: .float))
    #expect(found.count == expected.count && expected.count == 10)
    for (step, (a, b)) in zip(found, expected).enumerated() {
      #expect(abs(a.loss - b.loss) <= 1e-4 * b.loss, "step \(step + 1): \(a.loss), \(b.loss)")
      #expect(abs(a.norm - b.norm) <= 1e-3 * b.norm, "step \(step + 1): \(a.norm), \(b.norm)")
      #expect(abs(a.rate - b.rate) <= 1e-6 * b.rate)
    }
  }

  @Test("magnitudes learn the same where all layers are computed twice")
  func recomputed() throws {
    var options = try options()
    options.keepsActivations = false
    let found = try run(.dora, options: options, on: Compute(threads: 2))
    let whole = try run(.dora, options: try self.options(), on: Compute(threads: 2))
    #expect(found.map(\.loss) == whole.map(\.loss) && found.map(\.norm) == whole.map(\.norm))
  }

  @Test("ten steps of all weights in BF16 stay near", .enabled(if: Compute(threads: 1, floats: .bfloat16).floats == .bfloat16))
  func bfloat() throws {
    let expected = try expected("weights")
    let found = try run(.weights, options: try options(), on: Compute(threads: 2, floats: .bfloat16))
    for (step, (a, b)) in zip(found, expected).enumerated() {
      // Random weights of 32 channels, where a rounding of 2^-9 shows more than in any model that has learnt something.
      #expect(abs(a.loss - b.loss) <= 0.02 * b.loss, "step \(step + 1): \(a.loss), \(b.loss)")
    }
    #expect(zip(found, expected).contains { $0.loss != $1.loss })
  }

  @Test("ten steps on the grid learn, with scales that follow and that move", arguments: [false, true])
  func quantized(movesScales: Bool) throws {
    var options = try options()
    options.rounding = TrainedRounding(QuantizationScheme(), movesScales: movesScales)
    let found = try run(.weights, options: options, on: Compute(threads: 2))
    #expect(try #require(found.last).loss < 0.7 * found[0].loss)
    #expect(found.allSatisfy { $0.norm.isFinite })
  }
}

/// The same batches as another implementation's run.
private struct FixedBatches: StepSource {
  private let steps: [[[Int32]]]
  private var taken = 0

  init(_ tokens: [[[Int32]]]) { steps = tokens }

  var totalSteps: Int { steps.count }
  var dataPosition: DataPosition {
    get { DataPosition(epoch: min(taken, 1), position: taken, generator: 0) }
    set { taken = newValue.position }
  }
  var capacity: (rows: Int, sequences: Int) {
    (steps.map { $0.reduce(0) { $0 + $1.count } }.max() ?? 0, steps.map(\.count).max() ?? 0)
  }
  var passes: Int { 1 }
  var counts: (training: Int, validation: Int) { (steps.count, 0) }
  var totalTokens: (training: Int, validation: Int) { (steps.joined().reduce(0) { $0 + $1.count }, 0) }
  func makeBatches() -> StepBatches { StepBatches(sequences: capacity.sequences, tokens: capacity.rows) }
  mutating func next(into batches: inout StepBatches) {
    batches.removeAll()
    for sequence in steps[taken] { batches.append(text: sequence[...]) }
    taken += 1
  }
  func validates(after step: Int) -> Bool { false }
  func validation(into batches: inout StepBatches) {}
}
