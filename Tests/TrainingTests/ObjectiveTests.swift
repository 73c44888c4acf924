import BasicContainers
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitTraining

/// What training minimises, and by what, as arguments.
@Suite struct ObjectiveTests {
  private static let layers = 1

  /// A teacher that differs from the model: the weights as floats, a little moved.
  private func teacher(_ training: TrainingCase, rows: Int, sequences: Int, layers: Int? = nil, moved: Float = 0.3, on compute: Compute)
    -> ModelTeacher
  {
    var weights = training.model.weights
    var rng = SplitMix64(seed: 7)
    weights.updateEach { parameter in
      parameter.weight = parameter.weight.floats(on: compute)
      guard parameter.isMatrix else { return }
      let bound = moved / Float(parameter.weight.columns).squareRoot()
      parameter.weight.withMutableValues { values in for i in values.indices { values[i] += rng.uniform(bound: bound) } }
    }
    return ModelTeacher(
      training.model.configuration, weights: weights, rows: rows, sequences: sequences, layers: layers, on: compute)
  }

  enum Kind: String, CaseIterable { case divergence, mixture, squaredError }

  private func objective(_ kind: Kind, _ training: TrainingCase, _ batch: Batch, on compute: Compute) -> Objective {
    let (rows, sequences) = (batch.tokens.count, batch.lengths.count)
    return switch kind {
    case .divergence: .divergence(from: teacher(training, rows: rows, sequences: sequences, on: compute))
    case .mixture: .divergence(from: teacher(training, rows: rows, sequences: sequences, on: compute), targetShare: 0.3)
    case .squaredError:
      .squaredError(from: teacher(training, rows: rows, sequences: sequences, layers: Self.layers, on: compute), layers: Self.layers)
    }
  }

  @Test("the gradient is the slope of the loss along itself", arguments: Kind.allCases)
  func slopes(kind: Kind) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2, activations: .float, gradients: .float)
    let batch = Batch(training.examples.prefix(3))
    var floats = training.model.weights
    floats.updateEach { $0.weight = $0.weight.floats(on: compute) }
    let decoder = Decoder(training.model.configuration, weights: floats)
    var shape = AdapterConfiguration()
    shape.rank = 4
    var adapter = Adapter(shape, for: floats)
    var rng = SplitMix64(seed: 3)
    adapter.initialize(using: &rng)
    for i in 0..<adapter.count { for r in 0..<adapter.b[i].rows { for c in 0..<4 { adapter.b[i][r, c] = rng.uniform(bound: 0.1) } } }
    let list = TrainableList(floats, adapter: adapter.layout, includesWeights: false)
    var engine = StepEngine(
      decoder, rows: batch.tokens.count, sequences: batch.lengths.count, adapter: shape, training: list,
      objective: objective(kind, training, batch, on: compute), on: compute)
    func loss() -> Double {
      engine.clearGradients()
      var sums = LossSums()
      let loss = Double(engine.accumulate(batch, decoder, adapter: &adapter, total: batch.totalWeight, losses: &sums))
      // The same without a gradient.
      let evaluated = engine.evaluate(batch, decoder, adapter: &adapter)
      #expect(abs(Double(evaluated.mean) - loss) <= 1e-5 * loss)
      return loss
    }
    _ = loss()
    let norm = engine.withGradients { $0.norm(on: compute) }
    #expect(norm > 0)
    let direction = engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
    func move(_ distance: Float) { adapter.add(direction, of: list, times: distance / norm) }
    let h: Float = 2e-3
    move(h)
    let above = loss()
    move(-2 * h)
    let below = loss()
    #expect(abs((above - below) / Double(2 * h) - Double(norm)) < 0.01 * Double(norm), "\((above - below) / Double(2 * h)), \(norm)")
    if kind == .squaredError {
      // Layers behind the one that is compared have no part in it.
      for entry in list.entries where !entry.name.contains("layers.0.") {
        guard case .adapterA(let index) = entry.role else { continue }
        #expect(direction[list.a(index)].allSatisfy { $0 == 0 }, "\(entry.name)")
      }
    }
  }

  @Test("a teacher runs under its adapter, and has nothing to teach to itself", arguments: [false, true])
  func underAnAdapter(isItself: Bool) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2)
    let batch = Batch(training.examples.prefix(3))
    let decoder = training.model.makeDecoder()
    var shape = AdapterConfiguration()
    shape.rank = 4
    func adapter() -> Adapter {
      var adapter = Adapter(shape, for: decoder.weights)
      var rng = SplitMix64(seed: 3)
      adapter.initialize(using: &rng)
      for i in 0..<adapter.count { for r in 0..<adapter.b[i].rows { for c in 0..<4 { adapter.b[i][r, c] = rng.uniform(bound: 0.3) } } }
      return adapter
    }
    let (rows, sequences) = (batch.tokens.count, batch.lengths.count)
    let teacher = TeacherModel(
      training.model.configuration, weights: training.model.weights, adapter: isItself ? LoadedAdapter(adapter()) : nil)
    var own = adapter()
    var engine = StepEngine(
      decoder, rows: rows, sequences: sequences, adapter: shape,
      training: TrainableList(decoder.weights, adapter: own.layout, includesWeights: false),
      objective: teacher.objective(for: (rows, sequences), on: compute).objective, on: compute)
    let loss = engine.evaluate(batch, decoder, adapter: &own).mean
    // Keys and values that are trained through are rounded as in the model that ships; a teacher's are floats.
    if isItself { #expect(loss < 1e-3) } else { #expect(loss > 0.05) }
  }

  @Test("a teacher that keeps what it made of sequences says the same of them in any batch", arguments: [0, 5, 1000])
  func keeping(capacity: Int) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2).withoutBLAS
    let examples = Array(training.examples.prefix(6))
    let rows = examples.reduce(0) { $0 + $1.tokens.count }
    func teacher(keeping capacity: Int) -> ModelTeacher {
      ModelTeacher(training.model.configuration, weights: training.model.weights, rows: rows, sequences: 6, keeping: capacity, on: compute)
    }
    /// The logits of each example's first and last tokens.
    func logits(_ teacher: ModelTeacher, of order: [Int]) -> [[Float]] {
      let batch = Batch(order.map { examples[$0] }[...])
      teacher.run(batch.tokens.span, lengths: batch.lengths)
      var (asked, start) = ([Int](), 0)
      for length in batch.lengths {
        asked += [start, start + length - 1]
        start += length
      }
      var logits = Matrix(rows: asked.count, columns: training.model.configuration.vocabularySize)
      teacher.logits(of: asked.span, into: &logits)
      return asked.indices.map { row in (0..<logits.columns).map { logits[row, $0] } }
    }
    let (plain, keeping) = (teacher(keeping: 0), teacher(keeping: capacity))
    for order in [[0, 1, 2], [3, 4, 5], [5, 0, 3, 1], [2], [4, 2, 0, 1, 3, 5]] {
      #expect(logits(keeping, of: order) == logits(plain, of: order))
    }
  }

  @Test("an adapter beside packed weights comes closer to a teacher of floats")
  func distillation() throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 2)
    var options = TrainingCase.options(epochs: 8)
    options.optimization.microBatchTokens = 2048
    let source = ExampleEpochs(training.examples, validation: [], options: options)
    let capacity = source.capacity
    let decoder = training.model.makeDecoder()
    var adapter = Adapter(options.adapter, for: decoder.weights)
    var rng = SplitMix64(seed: 1)
    adapter.initialize(using: &rng)
    var loop = TrainingLoop(
      .adapter, source, decoder: decoder, adapter: adapter, trainsWeights: false, options: options.optimization,
      objective: .divergence(
        from: teacher(training, rows: capacity.rows, sequences: capacity.sequences, moved: 1, on: compute)), on: compute)
    var losses: [Float] = []
    _ = try loop.run(checkpoints: nil) { event in
      if case .step(let step) = event.kind { losses.append(step.loss) }
      return true
    }
    #expect(losses[losses.count - 1] < losses[0] / 2, "\(losses[0]), \(losses[losses.count - 1])")
  }

  @Test("another optimiser moves what is trained and has no moments in a checkpoint", arguments: [false, true])
  func optimizer(trainsWeights: Bool) throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 1, gradients: .float)
    var floats = training.model.weights
    floats.updateEach { $0.weight = $0.weight.floats(on: compute) }
    var adapter = trainsWeights ? Adapter.none(for: floats) : Adapter(AdapterConfiguration(), for: floats)
    var rng = SplitMix64(seed: 3)
    adapter.initialize(using: &rng)
    var parameters = TrainedParameters(
      decoder: Decoder(training.model.configuration, weights: floats), adapter: adapter, trainsWeights: trainsWeights,
      options: OptimizationOptions(), optimizer: GradientDescent(), on: compute)
    #expect(parameters.copies == 0)
    #expect(parameters.declarations.allSatisfy { $0.name.hasPrefix("parameters/") })
    #expect(parameters.declarations.count == parameters.values.list.entries.count)
    func values() -> [[Float]] {
      var all: [[Float]] = []
      parameters.values.forEach { _, numbers in all.append(numbers.indices.map { numbers[$0] }) }
      return all
    }
    let before = values()
    var gradients = TrainableTensors(parameters.values.list)
    for i in 0..<gradients.values.count { gradients.values[i].fill(Float(i + 1)) }
    parameters.step(gradients, learningRate: 0.5, step: 1, gradientScale: 0.25, on: compute)
    for (i, (old, new)) in zip(before, values()).enumerated() {
      #expect(zip(old, new).allSatisfy { $1 == $0 - 0.125 * Float(i + 1) }, "\(parameters.values.list.entries[i].name)")
    }
  }
}
