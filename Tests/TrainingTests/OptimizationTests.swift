import DibitFiles
import DibitCheckpoint
import BasicContainers
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitTraining

@Suite struct OptimizationTests {
  private let training: TrainingCase

  init() throws { training = try TrainingCase("llama") }

  /// The steps of a run.
  private func steps(_ options: TrainingOptions, validation: Int = 0) throws -> (steps: [TrainingEvent.Step], result: TrainingResult) {
    var trainer = try training.trainer(options, validation: Array(training.examples.prefix(validation)))
    var steps: [TrainingEvent.Step] = []
    let result = try trainer.run { event in
      if case .step(let step) = event.kind { steps.append(step) }
      return true
    }
    return (steps, result)
  }

  @Test("cutting a step changes its loss and gradient by rounding only")
  func microBatches() throws {
    let whole = try steps(TrainingCase.options(epochs: 2)).steps
    for tokens in [1, 150, 400] {
      var options = TrainingCase.options(epochs: 2)
      options.optimization.microBatchTokens = tokens
      let cut = try steps(options).steps
      #expect(cut.map(\.tokens) == whole.map(\.tokens))
      for (a, b) in zip(cut, whole) {
        // Sums of some hundred products in another order. From the third step on activations of a byte round another way here and there.
        let tolerance: Float = a.step <= 2 ? 1e-5 : 1e-2
        #expect(abs(a.loss - b.loss) <= tolerance * b.loss, "step \(a.step), \(tokens) tokens")
        #expect(abs(a.contentLoss - b.contentLoss) <= tolerance * b.contentLoss)
        #expect(abs(a.gradientNorm - b.gradientNorm) <= 10 * tolerance * b.gradientNorm)
      }
    }
  }

  @Test func cuts() {
    func lengths(_ sequences: [Int], most: Int, tokens: Int) -> [[Int]] {
      var batches = StepBatches(sequences: most, tokens: tokens)
      // Twice, because memory is used again.
      for _ in 0..<2 {
        batches.removeAll()
        for length in sequences { batches.append(TrainingExample(text: [Int32](repeating: 1, count: length))) }
      }
      return (0..<batches.count).map { batches[$0].lengths }
    }
    #expect(lengths([3, 3, 3, 9, 1], most: 8, tokens: 6) == [[3, 3], [3], [9], [1]])
    #expect(lengths([3, 3, 3], most: 2, tokens: 100) == [[3, 3], [3]])
    #expect(lengths([], most: 2, tokens: 100) == [])
  }

  @Test("accumulating batches is a larger batch")
  func accumulation() throws {
    var options = TrainingCase.options(epochs: 2)
    let whole = try steps(options)
    (options.batchSize, options.accumulation) = (2, 4)
    let parts = try steps(options)
    #expect(parts.result.totalSteps == whole.result.totalSteps)
    for (a, b) in zip(parts.steps, whole.steps) { #expect(abs(a.loss - b.loss) <= (a.step <= 2 ? 1e-5 : 1e-2) * b.loss, "step \(a.step)") }
  }

  @Test func schedules() {
    let linear = Schedule(learningRate: 1, warmUpSteps: 2, totalSteps: 12, shape: .linear, finalRate: 0.5)
    #expect([1, 2, 7, 12, 20].map { linear.rate(step: $0) } == [0.5, 1, 0.75, 0.5, 0.5])
    let constant = Schedule(learningRate: 1, warmUpSteps: 2, totalSteps: 12, shape: .constant)
    #expect([1, 2, 7, 12].map { constant.rate(step: $0) } == [0.5, 1, 1, 1])
    let cosine = Schedule(learningRate: 1, warmUpSteps: 2, totalSteps: 12, finalRate: 0.5)
    #expect(abs(cosine.rate(step: 7) - 0.75) <= 1e-6)
    #expect(abs(cosine.rate(step: 12) - 0.5) <= 1e-6)
    var timed = Schedule(learningRate: 1, warmUpSteps: 2, totalSteps: 100, shape: .linear, finalRate: 0.5)
    (timed.fallingSteps, timed.initialRate) = (10, 0.5)
    #expect([1, 2, 7, 12, 13, 100].map { timed.rate(step: $0) } == [0.75, 1, 0.75, 0.5, 0.5, 0.5])
    #expect(Schedule.WarmUp.share(0.25).count(of: 8) == 2)
    #expect(Schedule.WarmUp.share(0).count(of: 8) == 1)
    #expect(Schedule.WarmUp.steps(5).count(of: 8) == 5)
  }

  @Test("the average trails the parameters by the formula")
  func average() throws {
    // Parameters after each step, and the average that comes of them.
    func values(_ options: TrainingOptions, stopping: Int? = nil) throws -> [Float] {
      var trainer = try training.trainer(options)
      _ = try trainer.run { event in
        if case .step(let step) = event.kind, step.step == stopping { return false }
        return true
      }
      let adapter = trainer.trainedAdapter()
      return adapter.b[0].values
    }
    var options = TrainingCase.options(epochs: 1)
    let live = try [1, 2, 3].map { try values(options, stopping: $0) } + [values(options)]
    options.optimization.averageDecay = 0.3
    let averaged = try values(options)
    var expected = [Float](repeating: 0, count: averaged.count)  // B begins at zero
    for (index, point) in live.enumerated() {
      let step = Float(index + 1)
      let keep = min(0.3, (1 + step) / (10 + step))
      for i in expected.indices { expected[i] += (1 - keep) * (point[i] - expected[i]) }
    }
    #expect(averaged == expected)
    #expect(averaged != live[3])
  }

  @Test("training ends when validation gets no better, and the best parameters are kept")
  func patience() throws {
    var options = TrainingCase.options(epochs: 30)
    (options.optimization.patience, options.optimization.keepsBest, options.validationInterval) = (3, true, 2)
    // A rate that is far too high after a good start: validation must get worse soon.
    (options.optimization.learningRate, options.optimization.watchdog.steps) = (0.3, 0)
    var trainer = try training.trainer(options, validation: Array(training.examples.prefix(8)))
    var validations: [TrainingEvent.Validation] = []
    var end: TrainingEvent.End?
    let result = try trainer.run { event in
      if case .validation(let validation) = event.kind { validations.append(validation) }
      if case .end(let found) = event.kind { end = found }
      return true
    }
    #expect(result.end == .stoppedEarly)
    #expect(result.steps < result.totalSteps)
    let best = try #require(validations.min { $0.contentLoss < $1.contentLoss })
    #expect(validations.suffix(3).allSatisfy { !$0.isBest })
    #expect(best.isBest)
    #expect(validations.count == validations.firstIndex(of: best).map { $0 + 4 })
    #expect(end == TrainingEvent.End(step: result.steps, reason: .stoppedEarly, keptStep: best.step))
    #expect(result.validationContentLoss == best.contentLoss)
    // What is kept is what was trained until then.
    options.optimization.patience = 0
    options.optimization.keepsBest = false
    var again = try training.trainer(options, validation: Array(training.examples.prefix(8)))
    _ = try again.run { event in
      if case .validation(let validation) = event.kind { return validation.step < best.step }
      return true
    }
    let kept = trainer.trainedAdapter()
    let expected = again.trainedAdapter()
    for i in 0..<kept.count {
      let (ours, theirs) = (kept.b[i].values, expected.b[i].values)
      #expect(ours == theirs)
    }
  }

  @Test func watchdog() {
    var dog = Watchdog()
    var options = WatchdogOptions()
    options.steps = 3
    for _ in 0..<9 { #expect(dog.hasDiverged(100, options) == nil) }
    #expect(dog.hasDiverged(1000, options) == nil, "nine losses make no median")
    var calm = Watchdog()
    for step in 0..<200 { #expect(calm.hasDiverged(Float(200 - step), options) == nil) }
    #expect(calm.isCalm)
    // The median of 101…1 is 51.
    #expect(calm.hasDiverged(154, options) == nil)
    #expect(!calm.isCalm)
    #expect(calm.hasDiverged(152, options) == nil)
    #expect(calm.isCalm, "one good step is enough")
    for _ in 0..<2 { #expect(calm.hasDiverged(1000, options) == nil) }
    #expect(calm.hasDiverged(1000, options) != nil)
    options.steps = 0
    for _ in 0..<20 { #expect(calm.hasDiverged(1000, options) == nil) }
    var learnt = Watchdog()
    options.steps = 1
    for _ in 0..<20 { #expect(learnt.hasDiverged(0.001, options) == nil) }
    #expect(learnt.hasDiverged(0.1, options) == nil, "small losses may jump")
  }

  @Test("a diverging run ends with the last good checkpoint kept")
  func divergence() throws {
    var options = TrainingCase.options(epochs: 200)
    (options.optimization.watchdog.steps, options.optimization.watchdog.factor) = (5, 1.05)
    (options.optimization.learningRate, options.optimization.schedule, options.optimization.warmUp) = (3, .constant, .steps(300))
    let store = try CheckpointStore(
      output: training.scratch("a"), inputs: .none, identity: RunIdentity(model: "", data: "", options: JSONObject()), interval: .steps(1),
      resumes: false,
      discards: false)
    var trainer = try training.trainer(options)
    var losses: [Float] = []
    do {
      _ = try trainer.run(checkpoints: store) { event in
        if case .step(let step) = event.kind { losses.append(step.loss) }
        return true
      }
      Issue.record("the run ended by itself with \(losses.suffix(5))")
    } catch .diverged(let step, let loss, let median, let checkpoint) {
      #expect(step == losses.count + 1)
      #expect(loss > 1.05 * median)
      // The five steps before were suspicious.
      #expect(checkpoint == step - 5)
    }
  }

  @Test("dropout leaves out its share, whatever is cut and whoever computes")
  func masks() {
    let (rows, columns) = (300, 129)
    var ones = Matrix(rows: rows, columns: columns)
    ones.fill(1)
    let mask = DropoutMask(key: 7, rate: 0.25, firstRow: 0)
    var whole = Matrix(rows: rows, columns: columns)
    mask.forward(ones, into: &whole, on: Compute(threads: 2))
    let values = whole.values
    let dropped = values.count { $0 == 0 }
    // Five deviations of a binomial distribution.
    let (n, p) = (Double(values.count), 0.25)
    #expect(abs(Double(dropped) - n * p) < 5 * (n * p * (1 - p)).squareRoot())
    #expect(values.allSatisfy { $0 == 0 || $0 == 1 / 0.75 })
    var one = Matrix(rows: rows, columns: columns)
    mask.forward(ones, into: &one, on: Compute(threads: 1))
    #expect(one.values == values)
    ones.setRows(100)
    for first in [0, 100, 200] {
      var part = Matrix(rows: 100, columns: columns)
      DropoutMask(key: 7, rate: 0.25, firstRow: first).forward(ones, into: &part, on: Compute(threads: 2))
      #expect(part.values == Array(values[first * columns..<(first + 100) * columns]))
      var sum = Matrix(rows: 100, columns: columns)
      sum.fill(1)
      DropoutMask(key: 7, rate: 0.25, firstRow: first).backward(ones, dx: &sum, on: Compute(threads: 2))
      #expect(sum.values == part.values.map { $0 + 1 })
    }
    var other = Matrix(rows: 100, columns: columns)
    DropoutMask(key: 8, rate: 0.25, firstRow: 0).forward(ones, into: &other, on: Compute(threads: 2))
    #expect(other.values != Array(values.prefix(100 * columns)))
  }

  @Test("with dropout, threads and cuts change nothing but rounding, and it learns")
  func dropout() throws {
    var options = TrainingCase.options(epochs: 12)
    options.adapter.dropout = 0.1
    func run(_ options: TrainingOptions, threads: Int) throws -> (losses: [Float], values: [Float]) {
      var trainer = try training.trainer(options, threads: threads)
      var losses: [Float] = []
      _ = try trainer.run { event in
        if case .step(let step) = event.kind { losses.append(step.loss) }
        return true
      }
      let adapter = trainer.trainedAdapter()
      return (losses, adapter.a[3].values + adapter.b[3].values)
    }
    let two = try run(options, threads: 2)
    let one = try run(options, threads: 1)
    #expect(two.values == one.values)
    options.optimization.microBatchTokens = 200
    let cut = try run(options, threads: 2)
    for (a, b) in zip(cut.losses, two.losses).prefix(2) { #expect(abs(a - b) <= 1e-5 * b) }
    options.adapter.dropout = 0
    options.optimization.microBatchTokens = 8192
    let without = try run(options, threads: 2)
    // B is zero before the first step: what A sees does not matter yet.
    #expect(without.losses[0] == two.losses[0])
    #expect(without.losses[3] != two.losses[3])
    #expect(try #require(two.losses.last) < two.losses[0] / 2)
  }

  @Test("the gradient under dropout is that of the masked loss")
  func dropoutGradient() throws {
    // Along the gradient the loss of the same masks rises by the norm.
    let weights = training.model.weights
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.dropout) = (4, 0.3)
    var adapter = Adapter(configuration, for: weights)
    var rng = SplitMix64(seed: 3)
    adapter.initialize(using: &rng)
    for i in 0..<adapter.count { for r in 0..<adapter.b[i].rows { for c in 0..<4 { adapter.b[i][r, c] = rng.uniform(bound: 0.1) } } }
    let batch = Batch(Array(training.examples.prefix(4)))
    let compute = Compute(threads: 2, activations: .float)
    let decoder = training.model.makeDecoder()
    let list = TrainableList(weights, adapter: adapter.layout, includesWeights: false)
    var engine = StepEngine(decoder, rows: batch.tokens.count, sequences: 4, adapter: configuration, training: list, on: compute)
    func loss() -> Double {
      engine.clearGradients()
      var sums = LossSums()
      return Double(
        engine.accumulate(
          batch, decoder, adapter: &adapter, total: batch.totalWeight, dropout: DropoutStep(seed: 9, step: 1, firstRow: 0), losses: &sums))
    }
    _ = loss()
    let norm = engine.withGradients { $0.norm(on: compute) }
    let direction = engine.withGradients { gradients in list.entries.indices.map { gradients.values[$0].values } }
    func move(_ distance: Float) { adapter.add(direction, of: list, times: distance / norm) }
    let h: Float = 2e-3
    move(h)
    let above = loss()
    move(-2 * h)
    let below = loss()
    // Two losses of six nats in single precision, and the third derivative; a wrong mask costs far more than a hundredth.
    let slope = (above - below) / Double(2 * h)
    #expect(abs(slope / Double(norm) - 1) < 0.01, "\(slope), norm \(norm)")
  }

  @Test func rankStabilisedScale() {
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.alpha) = (16, 8)
    #expect(configuration.scale == 0.5)
    configuration.stabilizesRank = true
    #expect(configuration.scale == 2)
  }
}

@Suite struct TrainingDefaultsTests {
  @Test("what nobody says follows from the model's size and the numbers of examples and labels")
  func rule() {
    for (weights, rate) in [(14_000_000, 2.8e-3), (110_000_000, 1e-3), (134_515_008, 9e-4), (1_240_000_000, 3e-4), (3_111_000_000, 1.9e-4)]
    {
      #expect(TrainingOptions(weights: weights, examples: 100, labels: 2).optimization.learningRate == Float(rate))
    }
    #expect(TrainingOptions(weights: 0, examples: 0, labels: 0).optimization.learningRate == 4e-3)
    #expect(TrainingOptions(weights: 1 << 50, examples: 0, labels: 0).optimization.learningRate == 5e-5)
    let passes = [
      (0, 2, 10), (40, 2, 10), (200, 2, 5), (240, 2, 4), (600, 2, 3), (2999, 2, 3), (3000, 2, 2), (100_000, 2, 2), (600, 0, 3),
      (385, 77, 9), (770, 77, 5), (1540, 77, 3), (384, 24, 3), (3000, 150, 3), (3000, 1500, 3), (100_000, 5000, 2),
    ]
    for (examples, labels, epochs) in passes {
      let options = TrainingOptions(weights: 110_000_000, examples: examples, labels: labels)
      #expect(options.epochs == epochs && options.batchSize == 8, "\(examples), \(labels)")
      #expect(options.adapter.rank == 16 && options.adapter.alpha == 16)
    }
  }
}
