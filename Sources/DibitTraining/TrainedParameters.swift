internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// A model and an adapter with all that an optimiser remembers of what it trains among them: the adapter, or every weight.
struct TrainedParameters: ~Copyable {
  var model: TrainedModel
  var adapter: Adapter
  let trainsWeights: Bool
  var moment1: Gradients
  var moment2: Gradients
  /// The running average; empty without one.
  var average: Gradients
  /// The parameters of the best validation; empty where the last ones are kept.
  var best: Gradients
  private let options: OptimizationOptions

  init(decoder: consuming Decoder, adapter: consuming Adapter, trainsWeights: Bool, options: OptimizationOptions) {
    let (weights, shape) = (decoder.weights, adapter.configuration)
    func room(_ isNeeded: Bool) -> Gradients {
      Gradients(weights, adapter: isNeeded ? shape : nil, includesWeights: isNeeded && trainsWeights)
    }
    moment1 = room(true)
    moment2 = room(true)
    average = room(options.averageDecay > 0)
    best = room(options.keepsBest)
    model = TrainedModel(decoder, rounding: trainsWeights ? options.rounding : nil)
    self.adapter = adapter
    self.trainsWeights = trainsWeights
    self.options = options
    if options.averageDecay > 0 { copyLive(to: .average) }
  }

  /// Room for the gradients of a step.
  func makeGradients() -> Gradients {
    Gradients(model.trained, adapter: adapter.configuration, includesWeights: trainsWeights)
  }

  /// The numbers that are trained.
  var elementCount: Int { trainsWeights ? model.trained.elementCount : adapter.elementCount }

  /// One step of the optimiser, `step` counted from 1.
  mutating func step(_ gradients: borrowing Gradients, learningRate: Float, step: Int, gradientScale: Float, on compute: Compute) {
    let optimizer = options.optimizer
    for i in 0..<adapter.count {
      optimizer.step(
        &adapter.a[i], gradient: gradients.adapter.a[i], moment1: &moment1.adapter.a[i], moment2: &moment2.adapter.a[i],
        learningRate: learningRate, step: step, gradientScale: gradientScale, on: compute)
      optimizer.step(
        &adapter.b[i], gradient: gradients.adapter.b[i], moment1: &moment1.adapter.b[i], moment2: &moment2.adapter.b[i],
        learningRate: learningRate, step: step, gradientScale: gradientScale, on: compute)
    }
    for i in 0..<adapter.magnitudes.count {
      optimizer.step(
        &adapter.magnitudes[i], gradient: gradients.adapter.magnitudes[i], moment1: &moment1.adapter.magnitudes[i],
        moment2: &moment2.adapter.magnitudes[i], learningRate: learningRate, step: step, gradientScale: gradientScale, decays: false,
        on: compute)
    }
    if trainsWeights {
      Self.stepWeights(
        options, &model, gradients, &moment1.weights, &moment2.weights, learningRate, step, gradientScale, compute)
    }
    if options.averageDecay > 0 {
      // The first steps are far from where the run ends: they count for less.
      let keep = min(options.averageDecay, Float(1 + step) / Float(10 + step))
      forEachPair(.average) { live, average in
        for i in average.indices { average[i] += (1 - keep) * (live[i] - average[i]) }
      }
    }
    update(on: compute)
  }

  /// Brings what follows from the parameters up to date: after whatever changed them, and before the first pass.
  mutating func update(on compute: Compute) {
    model.round(on: compute)
    adapter.updateGains(of: model.decoder.weights, on: compute)
  }

  private static func stepWeights(
    _ options: OptimizationOptions, _ model: inout TrainedModel, _ gradients: borrowing Gradients, _ moment1: inout UniqueArray<Matrix>,
    _ moment2: inout UniqueArray<Matrix>, _ learningRate: Float, _ step: Int, _ gradientScale: Float, _ compute: Compute
  ) {
    let embeddingRate = learningRate * options.embeddingRateFactor
    model.updateTrained { weights in
      let embedding = weights.embedding.index
      weights.updateEach { parameter in
        let i = parameter.index
        options.optimizer.step(
          &parameter.weight, gradient: gradients.weights[i], moment1: &moment1[i], moment2: &moment2[i],
          learningRate: i == embedding ? embeddingRate : learningRate, step: step, gradientScale: gradientScale,
          decays: parameter.decays, on: compute)
      }
    }
  }
}

extension TrainedParameters {
  /// A copy of the parameters that is kept beside them.
  enum Copy { case average, best }

  /// Keeps the parameters as they are now as the best ones.
  mutating func rememberBest() { copyLive(to: .best) }

  /// Goes back to the best parameters.
  mutating func recallBest(on compute: Compute) {
    exchange(.best)
    update(on: compute)
  }

  /// Puts the average in the place of the parameters and the other way round; nothing without an average.
  mutating func exchangeAverage(on compute: Compute) {
    guard options.averageDecay > 0 else { return }
    exchange(.average)
    update(on: compute)
  }

  private mutating func copyLive(to copy: Copy) {
    forEachPair(copy) { live, other in for i in other.indices { other[i] = live[i] } }
  }

  private mutating func exchange(_ copy: Copy) {
    forEachPair(copy) { live, other in
      for i in other.indices { (live[i], other[i]) = (other[i], live[i]) }
    }
  }

  /// Calls `body` with each trained tensor and its place in a copy.
  private mutating func forEachPair(_ copy: Copy, _ body: (inout MutableSpan<Float>, inout MutableSpan<Float>) -> Void) {
    switch copy {
    case .average: Self.forEachPair(&adapter, &model, trainsWeights, &average, body)
    case .best: Self.forEachPair(&adapter, &model, trainsWeights, &best, body)
    }
  }

  private static func forEachPair(
    _ adapter: inout Adapter, _ model: inout TrainedModel, _ trainsWeights: Bool, _ copy: inout Gradients,
    _ body: (inout MutableSpan<Float>, inout MutableSpan<Float>) -> Void
  ) {
    for i in 0..<adapter.count {
      pair(&adapter.a[i], &copy.adapter.a[i], body)
      pair(&adapter.b[i], &copy.adapter.b[i], body)
    }
    for i in 0..<adapter.magnitudes.count { pair(&adapter.magnitudes[i], &copy.adapter.magnitudes[i], body) }
    guard trainsWeights else { return }
    pairWeights(&model, &copy.weights, body)
  }

  private static func pairWeights(
    _ model: inout TrainedModel, _ copies: inout UniqueArray<Matrix>,
    _ body: (inout MutableSpan<Float>, inout MutableSpan<Float>) -> Void
  ) {
    model.updateTrained { weights in
      weights.updateEach { parameter in
        let i = parameter.index
        parameter.weight.withMutableValues { live in
          var other = copies[i].mutableSpan
          body(&live, &other)
        }
      }
    }
  }

  private static func pair(
    _ live: inout Matrix, _ copy: inout Matrix, _ body: (inout MutableSpan<Float>, inout MutableSpan<Float>) -> Void
  ) {
    var a = live.mutableSpan
    var b = copy.mutableSpan
    body(&a, &b)
  }
}
