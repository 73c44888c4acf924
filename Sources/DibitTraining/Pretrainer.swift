internal import BasicContainers
public import DibitKernels
public import DibitModel
internal import DibitTensor

/// How a model is trained from scratch on plain text.
public struct PretrainingOptions: Equatable, Sendable {
  /// Training steps.
  public var steps = 1000
  /// Sequences of a step.
  public var batchSize = 16
  /// Tokens of a sequence.
  public var sequenceLength = 256
  /// The peak learning rate.
  public var learningRate: Float = 3e-3
  /// The share of all steps that warms up.
  public var warmUp: Float = 0.02
  /// Moments and weight decay.
  public var optimizer = AdamW()
  /// The largest gradient norm; a longer gradient is scaled down to it.
  public var clipNorm: Float = 1
  /// Steps between two looks at the validation text.
  public var validationInterval = 250
  /// The seed of everything random.
  public var seed: UInt64 = 0

  /// Values that suit a model of some million parameters.
  public init() {}
}

/// Trains all weights of a float decoder on text.
public struct Pretrainer: ~Copyable {
  private let options: PretrainingOptions
  private let text: [Int32]
  private let validation: [Int32]
  private let schedule: Schedule
  private let compute: Compute
  private var engine: StepEngine
  private var gradients: Gradients
  private var moment1: UniqueArray<Matrix>
  private var moment2: UniqueArray<Matrix>
  private let noAdapter: Adapter

  /// A trainer over a text of token ids; `validation` is held out.
  ///
  /// - Throws: ``TrainingError/tooLittleText(tokens:needed:)``.
  public init(
    _ decoder: borrowing Decoder, text: [Int32], validation: [Int32], options: PretrainingOptions, on compute: Compute
  ) throws(TrainingError) {
    guard text.count > options.sequenceLength + 1 else { throw .tooLittleText(tokens: text.count, needed: options.sequenceLength + 2) }
    self.options = options
    self.text = text
    self.validation = validation
    self.compute = compute
    schedule = Schedule(
      learningRate: options.learningRate, warmUpSteps: max(1, Int(options.warmUp * Float(options.steps))), totalSteps: options.steps)
    let rows = options.batchSize * (options.sequenceLength + 1)
    engine = StepEngine(decoder, rows: rows, sequences: options.batchSize, rank: 0, on: compute)
    gradients = Gradients(decoder.weights, adapter: nil, includesWeights: true)
    noAdapter = .none(for: decoder.weights)
    moment1 = UniqueArray()
    moment2 = UniqueArray()
    for parameter in decoder.weights.parameters {
      moment1.append(Matrix(rows: parameter.weight.rows, columns: parameter.weight.columns))
      moment2.append(Matrix(rows: parameter.weight.rows, columns: parameter.weight.columns))
    }
  }

  /// Random weights for a configuration: normal with deviation 1/√in for matrices, smaller by √(2 layers) where a block adds to the
  /// residual stream; ones for norms.
  public static func initialWeights(_ configuration: ModelConfiguration, seed: UInt64) -> DecoderWeights {
    var rng = SplitMix64(seed: seed, purpose: "pretrain.initialize")
    let residual = 1 / Float(2 * configuration.layers).squareRoot()
    return DecoderWeights(
      configuration,
      provide: { name, rows, columns in
        if rows == 1 { return Weight(rows: 1, columns: columns, values: [Float](repeating: 1, count: columns)) }
        let isResidual = name.module.hasSuffix("down_proj") || LinearKind.output.moduleNames.contains { name.module.hasSuffix($0) }
        let deviation = (isResidual ? residual : 1) / Float(columns).squareRoot()
        return Weight(rows: rows, columns: columns, values: (0..<rows * columns).map { _ in rng.normal() * deviation })
      }, provideScale: { _ in nil })
  }

  /// Trains `decoder`'s weights; `report` is told every step and stops the run after it by returning false.
  public mutating func run(_ decoder: inout Decoder, report: (TrainingEvent) -> Bool = { _ in true }) throws(TrainingError)
    -> TrainingResult
  {
    var result = TrainingResult()
    result.totalSteps = options.steps
    var rng = SplitMix64(seed: options.seed, purpose: "pretrain.order")
    for step in 1...max(1, options.steps) {
      let batch = Batch(
        text: (0..<options.batchSize).map { _ in
          let start = rng.below(text.count - options.sequenceLength)
          return text[start..<start + options.sequenceLength + 1]
        })
      gradients.clear()
      let loss = engine.accumulate(batch, decoder, adapter: noAdapter, into: &gradients)
      guard loss.isFinite else { throw .diverged(step: step) }
      let norm = update(&decoder, step: step)
      result.steps = step
      result.tokens += options.batchSize * options.sequenceLength
      result.trainingLoss = step == 1 ? loss : 0.98 * result.trainingLoss + 0.02 * loss
      guard
        report(
          .step(
            step, of: options.steps, loss: result.trainingLoss, learningRate: schedule.rate(step: step), gradientNorm: norm,
            tokens: result.tokens))
      else { break }
      guard step % options.validationInterval == 0 || step == options.steps, let loss = validate(decoder) else { continue }
      result.validationLoss = loss
      guard report(.validation(epoch: step, loss: loss, contentLoss: loss)) else { break }
    }
    if decoder.configuration.quantizesKeyValues { setKeyValueScales(&decoder) }
    return result
  }

  /// Mean loss in nats per token over up to 64 sequences of the held-out text; nil when there is none.
  private mutating func validate(_ decoder: borrowing Decoder) -> Float? {
    let length = options.sequenceLength + 1
    let starts = Array(stride(from: 0, through: validation.count - length, by: length).prefix(64))
    guard !starts.isEmpty else { return nil }
    var sums = LossSums()
    var pending: [ArraySlice<Int32>] = []
    for start in starts {
      pending.append(validation[start..<start + length])
      guard pending.count == options.batchSize else { continue }
      sums.add(engine.evaluate(Batch(text: pending), decoder, adapter: noAdapter))
      pending = []
    }
    if !pending.isEmpty { sums.add(engine.evaluate(Batch(text: pending), decoder, adapter: noAdapter)) }
    return sums.mean
  }

  private mutating func update(_ decoder: inout Decoder, step: Int) -> Float {
    let norm = gradients.norm(on: compute)
    let scale = norm > options.clipNorm ? options.clipNorm / norm : 1
    let rate = schedule.rate(step: step)
    Self.step(
      options.optimizer, &decoder.weights, gradients, &moment1, &moment2, learningRate: rate, step: step, gradientScale: scale, on: compute)
    return norm
  }

  private static func step(
    _ optimizer: AdamW, _ weights: inout DecoderWeights, _ gradients: borrowing Gradients, _ moment1: inout UniqueArray<Matrix>,
    _ moment2: inout UniqueArray<Matrix>, learningRate: Float, step: Int, gradientScale: Float, on compute: Compute
  ) {
    weights.updateEach { parameter in
      let i = parameter.index
      optimizer.step(
        &parameter.weight, gradient: gradients.weights[i], moment1: &moment1[i], moment2: &moment2[i], learningRate: learningRate,
        step: step,
        gradientScale: gradientScale, decays: parameter.decays, on: compute)
    }
  }

  /// Static int8 scales for keys and values: the largest magnitude seen in a last look at the text, over 127.
  private mutating func setKeyValueScales(_ decoder: inout Decoder) {
    var rng = SplitMix64(seed: options.seed, purpose: "pretrain.calibrate")
    let layers = decoder.configuration.keyValueLayers
    var (keys, values) = ([Float](repeating: 0, count: layers), [Float](repeating: 0, count: layers))
    for _ in 0..<4 {
      let batch = Batch(
        text: (0..<options.batchSize).map { _ in
          let start = rng.below(text.count - options.sequenceLength)
          return text[start..<start + options.sequenceLength + 1]
        })
      _ = engine.evaluate(batch, decoder, adapter: noAdapter)
      for layer in 0..<layers {
        let largest = engine.largestMagnitudes(layer: layer)
        (keys[layer], values[layer]) = (max(keys[layer], largest.key), max(values[layer], largest.value))
      }
    }
    for layer in 0..<layers {
      decoder.weights.blocks[layer].keyScale = keys[layer] / 127
      decoder.weights.blocks[layer].valueScale = values[layer] / 127
    }
  }
}
