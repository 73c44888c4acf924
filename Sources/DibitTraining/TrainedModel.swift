internal import DibitKernels
internal import DibitModel
internal import DibitQuantization
internal import DibitTensor

/// A decoder and the weights of it that an optimiser moves.
///
/// In quantisation-aware training these are not the decoder's own: every pass runs weights on the grid in which they will ship, through the
/// kernels that will run them. Gradients of the rounded weights go straight through to the float masters (Bengio, Léonard and Courville,
/// 2013), and after each step of the optimiser the decoder's weights are rounded anew.
struct TrainedModel: ~Copyable {
  /// The decoder that passes run.
  var decoder: Decoder
  private var masters: DecoderWeights?

  /// ``round(on:)`` must come before the first pass.
  init(_ decoder: consuming Decoder, rounding: QuantizationScheme?) {
    self.decoder = decoder
    guard let rounding else { return }
    masters = self.decoder.weights
    self.decoder.weights.prepare(for: rounding)
  }

  /// The weights that the optimiser moves.
  var trained: DecoderWeights { masters ?? decoder.weights }

  /// Calls `body` with the numbers of a parameter that the optimiser moves; ``round(on:)`` must follow.
  mutating func updateTrained<E: Error>(_ index: Int, _ body: (inout MutableSpan<Float>) throws(E) -> Void) throws(E) {
    guard var weights = masters else {
      return try decoder.weights.update(index) { parameter throws(E) in try parameter.weight.withMutableValues(body) }
    }
    // Out of its place, so that writing does not copy.
    masters = nil
    defer { masters = weights }
    try weights.update(index) { parameter throws(E) in try parameter.weight.withMutableValues(body) }
  }

  /// Brings the decoder's weights up to date where they are rounded: after whatever changed the trained ones.
  mutating func round(on compute: Compute) { if let masters { decoder.weights.round(masters, on: compute) } }
}

extension DecoderWeights {
  /// Gives each matrix that `scheme` packs its format; norms stay floats. ``round(_:on:)`` fills them.
  fileprivate mutating func prepare(for scheme: QuantizationScheme) {
    updateEach { parameter in
      let format = scheme.format(of: parameter.role)
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
        let values = master.values
        parameter.weight.withMutableValues { own in for i in own.indices { own[i] = values[i] } }
      }
    }
  }
}
