internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitQuantization
internal import DibitTensor

/// A decoder and what an optimiser moves of it.
///
/// In quantisation-aware training these are not the decoder's own weights: every pass runs weights on the grid in which they will ship, through
/// the kernels that will run them, and after each step of the optimiser the decoder's weights are rounded anew. Gradients of the rounded weights
/// go straight through to the float masters (Bengio, Léonard and Courville, 2013); scales follow the masters or are trained as well, see
/// ``GridRounding``. Where only scales are trained there are no masters.
struct TrainedModel: ~Copyable {
  /// The decoder that passes run.
  var decoder: Decoder
  /// The floats that are rounded.
  private var masters: DecoderWeights?
  // [rows, groups] by parameter, without elements where it has none; empty where scales follow
  private var logScales = UniqueArray<Matrix>()
  /// The unit of each parameter's learning rate, where rates are in scales: the mean scale at the start, the root of the mean square of a
  /// matrix that is not rounded, and 1 for norms and biases.
  private(set) var rateUnits: [Float] = []

  /// A model whose scales are fitted, or begin as those of `start`: the same weights rounded already to these formats, whose codes they have
  /// at the beginning as well. Where codes are fixed the decoder's own weights are rounded already. ``round(on:)`` must come before the
  /// first pass.
  init(_ decoder: consuming Decoder, rounding: TrainedRounding?, from start: DecoderWeights? = nil, on compute: Compute) {
    self.decoder = decoder
    guard let rounding else { return }
    if rounding.codes != .fixed {
      masters = self.decoder.weights
      self.decoder.weights.prepare(for: rounding.scheme)
    }
    guard rounding.movesScales else { return }
    for parameter in self.decoder.weights.parameters {
      let weight = parameter.weight
      let grid = rounding.trains(parameter) ? weight.format.grid : nil
      logScales.append(Matrix(rows: grid == nil ? 0 : weight.rows, columns: grid?.groups(columns: weight.columns) ?? 0))
    }
    if rounding.codes == .fixed {
      takeLogScales(of: self.decoder.weights)
    } else if let start {
      take(start, on: compute)
    } else {
      fitScales(on: compute)
    }
    rateUnits = self.decoder.weights.parameters.map { parameter in
      if logScales[parameter.index].count > 0 { return GridRounding.meanSpacing(logScales[parameter.index], of: parameter.weight) }
      return parameter.isMatrix && rounding.trains(parameter) ? parameter.weight.rootMeanSquare : 1
    }
  }

  /// The weights that passes round, or run as they are.
  var trained: DecoderWeights { masters ?? decoder.weights }

  /// Bytes that are held beside the decoder.
  var byteCount: Int {
    var total = masters?.byteCount ?? 0
    for index in 0..<logScales.count { total += logScales[index].byteCount }
    return total
  }

  /// Calls `body` with the floats of a parameter; ``round(on:)`` must follow.
  mutating func updateTrained<E: Error>(_ index: Int, _ body: (inout MutableSpan<Float>) throws(E) -> Void) throws(E) {
    guard var weights = masters else {
      return try decoder.weights.update(index) { parameter throws(E) in try parameter.weight.withMutableValues(body) }
    }
    // Out of its place, so that writing does not copy.
    masters = nil
    defer { masters = weights }
    try weights.update(index) { parameter throws(E) in try parameter.weight.withMutableValues(body) }
  }

  /// Calls `body` with the logarithms of a parameter's scales; ``round(on:)`` must follow.
  mutating func updateLogScales<E: Error>(_ index: Int, _ body: (inout MutableSpan<Float>) throws(E) -> Void) throws(E) {
    var span = logScales[index].mutableSpan
    try body(&span)
  }

  /// Calls `body` with the numbers of a tensor that is trained.
  func read<E: Error>(_ role: Trainable.Role, _ body: (Span<Float>) throws(E) -> Void) throws(E) {
    switch role {
    case .weight(let index, _):
      let weight = trained.parameters[index].weight
      try body(weight.values)
    case .logScale(let index, _): try body(logScales[index].span)
    case .adapterA, .adapterB, .magnitude: break
    }
  }

  /// Brings the decoder's weights up to date where they are rounded: after whatever changed what is trained.
  mutating func round(on compute: Compute) {
    guard let masters else { return Self.setScales(of: &decoder.weights, logScales, on: compute) }
    guard !logScales.isEmpty else { return decoder.weights.round(masters, on: compute) }
    Self.round(&decoder.weights, masters, logScales, on: compute)
  }

  // The owners come apart here: a closure that has one field would lock the whole struct.
  private static func round(
    _ weights: inout DecoderWeights, _ masters: DecoderWeights, _ logScales: borrowing UniqueArray<Matrix>, on compute: Compute
  ) {
    weights.updateEach { parameter in
      let index = parameter.index
      guard parameter.weight.isPacked else { return parameter.copyValues(of: masters.parameters[index].weight) }
      GridRounding.setScales(logScales[index], of: &parameter.weight, on: compute)
      GridQuantization.round(masters.parameters[index].weight, into: &parameter.weight, scaleBits: nil, on: compute)
    }
  }

  /// The same where codes stay; nothing where there are no scales either.
  private static func setScales(of weights: inout DecoderWeights, _ logScales: borrowing UniqueArray<Matrix>, on compute: Compute) {
    guard !logScales.isEmpty else { return }
    weights.updateEach { parameter in
      guard parameter.weight.isPacked, logScales[parameter.index].count > 0 else { return }
      GridRounding.setScales(logScales[parameter.index], of: &parameter.weight, on: compute)
    }
  }

  /// Turns the gradients of the rounded weights into those of what is trained; nothing where they go straight through to the masters as they are.
  func finish(_ gradients: inout TrainableTensors, on compute: Compute) {
    guard !logScales.isEmpty, let masters else { return }
    let list = gradients.list
    for parameter in decoder.weights.parameters where parameter.weight.isPacked {
      guard let dense = list.weight(parameter.index), let scales = list.logScale(parameter.index) else { continue }
      let master = masters.parameters[parameter.index].weight
      // Two of one array cannot be written at a time.
      swap(&gradients.spare, &gradients.values[scales])
      GridRounding.backward(
        master, packed: parameter.weight, dWeight: &gradients.values[dense], dLogScales: &gradients.spare, on: compute)
      swap(&gradients.spare, &gradients.values[scales])
    }
  }

  /// The distance from a level, in scales, of what calibration moved to it. At the edge of the interval, 0.5, the noise of the first steps
  /// would carry half of that back over it. On a trellis chains keep their codes from twice as far, and still lose to that noise what calibration found.
  private static func pulled(on levels: GridLevels?) -> Float { levels?.isTrellis == true ? 0.3 : 0.2 }

  /// Takes over the scales of rounded weights, and moves masters so that they round to the same codes.
  private mutating func take(_ start: DecoderWeights, on compute: Compute) {
    guard var masters else { return }
    self.masters = nil
    for parameter in decoder.weights.parameters where parameter.weight.isPacked {
      let rounded = start.parameters[parameter.index].weight
      require(rounded.format == parameter.weight.format, "TrainedModel: \(rounded.format), expected \(parameter.weight.format)")
      GridRounding.takeLogScales(of: rounded, into: &logScales[parameter.index])
      // Logarithms have no sign.
      decoder.weights.update(parameter.index) { $0.weight.setScales(of: rounded) }
      let distance = Self.pulled(on: rounded.format.grid?.levels)
      masters.update(parameter.index) { GridRounding.pull(&$0.weight, toCodesOf: rounded, distance: distance, on: compute) }
    }
    self.masters = masters
  }

  /// Takes over the scales of rounded weights.
  private mutating func takeLogScales(of weights: DecoderWeights) {
    for parameter in weights.parameters where logScales[parameter.index].count > 0 {
      GridRounding.takeLogScales(of: parameter.weight, into: &logScales[parameter.index])
    }
  }

  /// Scales that suit the floats, to begin with.
  private mutating func fitScales(on compute: Compute) {
    guard let masters else { return }
    decoder.weights.updateEach { parameter in
      guard parameter.weight.isPacked else { return }
      GridQuantization.fitScales(of: masters.parameters[parameter.index].weight, into: &parameter.weight, on: compute)
      GridRounding.takeLogScales(of: parameter.weight, into: &logScales[parameter.index])
    }
  }
}

extension DecoderWeights {
  /// Gives each matrix that `scheme` packs its format; norms stay floats. ``round(_:on:)`` fills them.
  fileprivate mutating func prepare(for scheme: QuantizationScheme) {
    updateEach { parameter in
      let format = scheme.format(of: parameter.name, parameter.role)
      guard format.grid != nil else { return }
      parameter.weight = Weight(zerosWithRows: parameter.weight.rows, columns: parameter.weight.columns, format: format)
    }
  }

  /// Rounds `masters` to these formats; what is not packed is the master itself.
  ///
  /// Scales are so coarse that BF16 holds every level: the model can be kept as a float checkpoint, whose grid a conversion finds again.
  fileprivate mutating func round(_ masters: DecoderWeights, on compute: Compute) {
    updateEach { parameter in
      let master = masters.parameters[parameter.index].weight
      if let grid = parameter.weight.format.grid {
        GridQuantization.round(
          master, into: &parameter.weight, scaleBits: GridQuantization.scaleBits(forBFloatLevelsOf: grid.levels), on: compute)
      } else {
        parameter.copyValues(of: master)
      }
    }
  }
}

extension Weight {
  /// The root of the mean square of F32 elements.
  fileprivate var rootMeanSquare: Float {
    let numbers = values
    var sum = 0.0
    for index in numbers.indices { sum += Double(numbers[index] * numbers[index]) }
    return Float((sum / Double(max(count, 1))).squareRoot())
  }
}

extension Parameter {
  /// Takes the floats of a weight of the same shape.
  fileprivate mutating func copyValues(of other: Weight) {
    let values = other.values
    weight.withMutableValues { own in for i in own.indices { own[i] = values[i] } }
  }
}
