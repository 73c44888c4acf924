internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The numbers that are trained: an adapter's, or every weight of a model.
struct TrainedValues: ~Copyable {
  var model: TrainedModel
  var adapter: Adapter
  /// The tensors among them that are trained.
  let list: TrainableList

  /// Calls `body` with each trained tensor for writing, in the order of ``list``; ``TrainedParameters/update(on:)`` must follow.
  mutating func forEach<E: Error>(_ body: (_ index: Int, _ values: inout MutableSpan<Float>) throws(E) -> Void) throws(E) {
    for index in list.entries.indices {
      switch list.entries[index].role {
      case .adapterA(let entry): try Self.apply(body, index, &adapter.a[entry])
      case .adapterB(let entry): try Self.apply(body, index, &adapter.b[entry])
      case .magnitude(let entry): try Self.apply(body, index, &adapter.magnitudes[entry])
      case .weight(let parameter, _):
        try model.updateTrained(parameter) { values throws(E) in try body(index, &values) }
      case .logScale(let parameter, _):
        try model.updateLogScales(parameter) { values throws(E) in try body(index, &values) }
      }
    }
  }

  private static func apply<E: Error>(
    _ body: (_ index: Int, _ values: inout MutableSpan<Float>) throws(E) -> Void, _ index: Int, _ matrix: inout Matrix
  ) throws(E) {
    var span = matrix.mutableSpan
    try body(index, &span)
  }
}

/// The numbers that are trained, with all that an optimiser remembers of them and the copies that are kept beside them.
struct TrainedParameters: ~Copyable {
  var values: TrainedValues
  var moment1: TrainableTensors
  var moment2: TrainableTensors
  /// The running average; empty without one.
  var average: TrainableTensors
  /// The parameters of the best validation; empty where the last ones are kept.
  var best: TrainableTensors
  private let options: OptimizationOptions
  private let optimizer: any Optimizer

  /// Trains all weights of the decoder, or else the adapter; by default with the optimiser of `options`. Rounded weights begin as those
  /// of `start`, if there is one.
  init(
    decoder: consuming Decoder, adapter: consuming Adapter, trainsWeights: Bool, options: OptimizationOptions,
    optimizer: (any Optimizer)? = nil, from start: DecoderWeights? = nil, on compute: Compute
  ) {
    let rounding = trainsWeights ? options.rounding : nil
    let list = TrainableList(decoder.weights, adapter: adapter.layout, includesWeights: trainsWeights, rounding: rounding)
    let optimizer = optimizer ?? options.optimizer
    moment1 = TrainableTensors(list, if: optimizer.momentCount > 0)
    moment2 = TrainableTensors(list, if: optimizer.momentCount > 1)
    average = TrainableTensors(list, if: options.averageDecay > 0)
    best = TrainableTensors(list, if: options.keepsBest)
    values = TrainedValues(
      model: TrainedModel(decoder, rounding: rounding, from: start, on: compute), adapter: adapter, list: list)
    self.options = options
    self.optimizer = optimizer
    if options.averageDecay > 0 { Self.copy(&values, to: &average) }
  }

  /// The numbers that are trained.
  var elementCount: Int { values.list.elementCount }

  /// The number of copies of the trained numbers that are kept beside them: moments, and an average or the best ones so far.
  var copies: Int {
    (moment1.areAllocated ? 1 : 0) + (moment2.areAllocated ? 1 : 0) + (average.areAllocated ? 1 : 0) + (best.areAllocated ? 1 : 0)
  }

  /// Turns the gradients of a step's passes into those of what is trained, before ``step(_:learningRate:step:gradientScale:on:)``.
  func finish(_ gradients: inout TrainableTensors, on compute: Compute) { values.model.finish(&gradients, on: compute) }

  /// One step of the optimiser, `step` counted from 1.
  mutating func step(_ gradients: borrowing TrainableTensors, learningRate: Float, step: Int, gradientScale: Float, on compute: Compute) {
    let update = OptimizerUpdate(learningRate: learningRate, step: step, gradientScale: gradientScale, decays: true)
    Self.step(&values, gradients, &moment1, &moment2, optimizer, update, options, compute)
    if options.averageDecay > 0 {
      // The first steps are far from where the run ends: they count for less.
      let keep = min(options.averageDecay, Float(1 + step) / Float(10 + step))
      Self.mix(&values, into: &average, keeping: keep)
    }
    self.update(on: compute)
  }

  /// Brings what follows from the parameters up to date: after whatever changed them, and before the first pass.
  mutating func update(on compute: Compute) {
    values.model.round(on: compute)
    values.adapter.updateGains(of: values.model.decoder.weights, on: compute)
  }

  /// Keeps the parameters as they are now as the best ones.
  mutating func rememberBest() { Self.copy(&values, to: &best) }

  /// Goes back to the best parameters.
  mutating func recallBest(on compute: Compute) {
    Self.exchange(&values, with: &best)
    update(on: compute)
  }

  /// Puts the average in the place of the parameters and the other way round; nothing without an average.
  mutating func exchangeAverage(on compute: Compute) {
    guard options.averageDecay > 0 else { return }
    Self.exchange(&values, with: &average)
    update(on: compute)
  }

  // The owners come apart here: a closure that has one field would lock the whole struct.

  private static func step(
    _ values: inout TrainedValues, _ gradients: borrowing TrainableTensors, _ moment1: inout TrainableTensors,
    _ moment2: inout TrainableTensors, _ optimizer: any Optimizer, _ update: OptimizerUpdate, _ options: OptimizationOptions,
    _ compute: Compute
  ) {
    let (list, units) = (values.list, options.ratesAreInScales ? values.model.rateUnits : [])
    values.forEach { index, numbers in
      var update = update
      if case .weight(let parameter, _) = list.entries[index].role, !units.isEmpty { update.learningRate *= units[parameter] }
      update.decays = list.entries[index].decays
      update.learningRate *= options.rateFactor(of: list.entries[index].role)
      optimizer.step(
        &numbers, gradient: gradients.values[index], moment1: &moment1.values[index], moment2: &moment2.values[index], update, on: compute)
    }
  }

  private static func mix(_ values: inout TrainedValues, into average: inout TrainableTensors, keeping keep: Float) {
    values.forEach { index, live in
      var mean = average.values[index].mutableSpan
      for i in mean.indices { mean[i] += (1 - keep) * (live[i] - mean[i]) }
    }
  }

  private static func copy(_ values: inout TrainedValues, to copy: inout TrainableTensors) {
    values.forEach { index, live in
      var other = copy.values[index].mutableSpan
      for i in other.indices { other[i] = live[i] }
    }
  }

  private static func exchange(_ values: inout TrainedValues, with copy: inout TrainableTensors) {
    values.forEach { index, live in
      var other = copy.values[index].mutableSpan
      for i in other.indices { (live[i], other[i]) = (other[i], live[i]) }
    }
  }
}
