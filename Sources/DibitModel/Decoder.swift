internal import BasicContainers
package import DibitKernels
package import DibitTensor

/// A decoder-only transformer: the one forward and the one backward pass that training, evaluation and generation share, for all families.
@safe
package struct Decoder: ~Copyable, Sendable {
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// Its parameters.
  package var weights: DecoderWeights
  let attention: [Attention]
  let ropes: [RoPE]
  let norm: Normalization
  let headNorm: Normalization

  /// A decoder over these weights.
  package init(_ configuration: ModelConfiguration, weights: DecoderWeights) {
    self.configuration = configuration
    self.weights = weights
    attention = (0..<configuration.layers).map { configuration.attention(layer: $0) }
    ropes = configuration.ropes.map { $0.makeRoPE(headSize: configuration.headSize) }
    norm = Normalization(kind: configuration.norm, epsilon: configuration.normEpsilon)
    headNorm = Normalization(kind: configuration.norm, epsilon: configuration.headNormEpsilon)
  }

  /// Runs `tokens` through the model: writes their keys and values to `cache` and the final hidden states of `wanted` rows to `state`.
  ///
  /// Rows that are not wanted stop where nothing reads them: at the last layer that has keys and values of its own. Attention gives the
  /// others the same bits as a pass that wants all, and so do packed weights; float weights may round differently for another number of
  /// rows. A pass that is recorded computes all. `segments` says which tokens belong together and where their rows of the cache lie. Token
  /// ids must lie in the vocabulary and positions in the context: callers check data before.
  package func forward(
    _ tokens: Span<Int32>, segments: borrowing Segments, cache: inout KeyValueCache, adapter: borrowing Adapter, state: inout DecoderState,
    wanted: HiddenRows = .all, on compute: Compute
  ) {
    let n = tokens.count
    require(n == segments.rows && n <= state.capacity, "Decoder: \(n) tokens, \(segments.rows) rows, capacity \(state.capacity)")
    require(wanted == .all || !state.isRecording, "Decoder: a recorded pass computes all rows")
    state.setRows(n)
    let selected = state.select(wanted, of: segments)
    for i in 0..<n { state.tokens[i] = tokens[i] }
    segments.forEach { row, count, _, position in
      for i in 0..<count { state.positions[row + i] = Int32(position + i) }
    }
    prepare(&state.angles, state.positions, n, compute)
    embed(tokens, state.positions, &state.stream, &state.work.projected, compute)
    let narrow = selected == nil ? configuration.layers : configuration.keyValueLayers - 1
    for layer in 0..<configuration.layers {
      let linear = AdaptedLinear(weights, layer: layer, compute: compute)
      let place = state.place(of: layer)
      if layer < state.recomputed { state.keepInput(of: layer) }
      // Queries go along with keys and values where no rows stop between them.
      let joins = layer < narrow && linear.has(.key)
      writeKeysValues(
        linear, segments, state.angles, &cache, adapter, &state.blocks[place], state.stream, &state.work, withQueries: joins)
      if layer == narrow, let selected {
        state.keepSelected(selected)
        guard selected > 0 else { return }
      }
      if layer < narrow {
        block(linear, segments, state.angles, cache, adapter, &state.blocks[place], &state.stream, &state.work, hasQueries: joins)
      } else {
        block(linear, state.narrowed, state.angles, cache, adapter, &state.blocks[place], &state.stream, &state.work, hasQueries: joins)
      }
    }
    norm.forward(
      weights.finalNorm, weights.parameters, state.stream, saving: &state.finalMoments, into: &state.hidden, on: compute)
  }

  /// Logits `[n, V]` of the hidden states `hidden: [n, C]`, for which `rounded` has room.
  package func logits(_ hidden: borrowing Matrix, rounded: inout QuantizedRows, into logits: inout Matrix, on compute: Compute) {
    let output = weights.output.weight
    rounded.round(hidden, for: output, on: compute)
    Linear.forward(hidden, rounded: rounded, weight: output, into: &logits, on: compute)
    if let cap = configuration.logitSoftCap { SoftCap.forward(&logits, cap: cap, on: compute) }
  }

  /// The same for a single call, which allocates its working memory.
  package func logits(_ hidden: borrowing Matrix, into logits: inout Matrix, on compute: Compute) {
    var rounded = QuantizedRows(capacity: hidden.rows, columns: hidden.columns)
    self.logits(hidden, rounded: &rounded, into: &logits, on: compute)
  }

  /// The angles of the first `n` positions, for each rotary embedding.
  private func prepare(_ angles: inout UniqueArray<RoPE.Angles>, _ positions: borrowing Buffer<Int32>, _ n: Int, _ compute: Compute) {
    for index in ropes.indices { ropes[index].prepare(&angles[index], at: positions.span.extracting(0..<n), on: compute) }
  }

  /// The rows of the tokens, scaled, and of their positions.
  private func embed(
    _ tokens: Span<Int32>, _ positions: borrowing Buffer<Int32>, _ x: inout Matrix, _ scratch: inout Matrix, _ compute: Compute
  ) {
    Embedding.forward(tokens, weight: weights.embedding.weight, into: &x, on: compute)
    if let scale = configuration.embeddingScale { x.multiply(by: scale, on: compute) }
    guard let table = weights.positionsIndex else { return }
    Embedding.forward(
      positions.span.extracting(0..<tokens.count), weight: weights.parameters[table].weight, into: &scratch, on: compute)
    x.add(scratch, on: compute)
  }

  /// The part of a block that every row goes through: the norm, and in a layer that has its own, keys and values, which go to the cache.
  private func writeKeysValues(
    _ linear: AdaptedLinear, _ segments: borrowing Segments, _ angles: borrowing UniqueArray<RoPE.Angles>, _ cache: inout KeyValueCache,
    _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ x: borrowing Matrix, _ work: inout DecoderState.Work, withQueries: Bool
  ) {
    if let norm = linear.block.inputNorm {
      a.input.copy(x)
      self.norm.forward(norm, linear.parameters, x, saving: &a.inputMoments, into: &a.normed, on: linear.compute)
    } else {
      a.normed.copy(x)
    }
    guard configuration.keyValueLayer(of: linear.layer) == linear.layer else { return }
    projectKeysValues(linear, angles, adapter, &a, &work, withQueries: withQueries)
    cache.keys[linear.layer].write(&a.key, segments: segments, on: linear.compute)
    cache.values[linear.layer].write(&a.value, segments: segments, on: linear.compute)
  }

  /// `x += o(attention(x))`, `x += down(activation(gate(x)) up(x))`, with norms before or behind each, one after the other or side by side.
  private func block(
    _ linear: AdaptedLinear, _ segments: borrowing Segments, _ angles: borrowing UniqueArray<RoPE.Angles>, _ cache: borrowing KeyValueCache,
    _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ x: inout Matrix, _ work: inout DecoderState.Work, hasQueries: Bool
  ) {
    blockUpToDown(linear, segments, angles, cache, adapter, &a, &x, &work, hasQueries: hasQueries)
    down(linear, adapter, &a, &work)
    x.add(work.projected, on: linear.compute)
  }

  /// The last projection of a block, to `work.projected`.
  private func down(
    _ linear: AdaptedLinear, _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ work: inout DecoderState.Work
  ) {
    linear.round(a.activated, for: .down, into: &work.rounded)
    linear.forward(.down, adapter, a.activated, work.rounded, &a.adapted, &work.projected)
    guard let norm = linear.block.feedForwardNorm else { return }
    a.fed.copy(work.projected)
    self.norm.forward(norm, linear.parameters, a.fed, saving: &a.fedMoments, into: &work.projected, on: linear.compute)
  }

  /// Writes once more the activations of a layer of which only the input was kept. Keys and values in the cache are written again too.
  func recompute(
    _ layer: Int, segments: borrowing Segments, cache: inout KeyValueCache, adapter: borrowing Adapter, state: inout DecoderState,
    on compute: Compute
  ) {
    let linear = AdaptedLinear(weights, layer: layer, compute: compute)
    let joins = linear.has(.key)
    state.restoreInput(of: layer)
    writeKeysValues(linear, segments, state.angles, &cache, adapter, &state.blocks[0], state.stream, &state.work, withQueries: joins)
    blockUpToDown(linear, segments, state.angles, cache, adapter, &state.blocks[0], &state.stream, &state.work, hasQueries: joins)
    finish(linear, adapter, &state.blocks[0], &state.work)
  }

  /// The way back reads what the last projection gives only where a norm or a magnitude follows, and otherwise no more than its adapter's
  /// `x Aᵀ`.
  private func finish(
    _ linear: AdaptedLinear, _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ work: inout DecoderState.Work
  ) {
    if linear.block.feedForwardNorm == nil, !adapter.configuration.decomposesWeights {
      linear.saveLow(.down, adapter, a.activated, &a.adapted)
    } else {
      down(linear, adapter, &a, &work)
    }
  }

  /// A block up to what its last projection reads.
  private func blockUpToDown(
    _ linear: AdaptedLinear, _ segments: borrowing Segments, _ angles: borrowing UniqueArray<RoPE.Angles>, _ cache: borrowing KeyValueCache,
    _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ x: inout Matrix, _ work: inout DecoderState.Work, hasQueries: Bool
  ) {
    let (layer, compute) = (linear.layer, linear.compute)
    let source = configuration.keyValueLayer(of: layer)
    projectQueries(linear, angles, adapter, &a, &work, areThere: hasQueries)
    attention[layer].forward(
      a.query, keys: cache.keys[source], values: cache.values[source], segments: segments, saving: &a.logSumExp, into: &a.attention,
      on: compute)
    linear.round(a.attention, for: .output, into: &work.rounded)
    linear.forward(.output, adapter, a.attention, work.rounded, &a.adapted, &work.projected)
    if let norm = linear.block.outputNorm {
      a.attended.copy(work.projected)
      self.norm.forward(norm, linear.parameters, a.attended, saving: &a.attendedMoments, into: &work.projected, on: compute)
    }
    if !configuration.isParallel { x.add(work.projected, on: compute) }

    if let norm = linear.block.middleNorm {
      if !configuration.isParallel { a.middle.copy(x) }
      self.norm.forward(norm, linear.parameters, x, saving: &a.middleMoments, into: &a.middleNormed, on: compute)
    } else {
      a.middleNormed.copy(x)
    }
    if configuration.isParallel { x.add(work.projected, on: compute) }
    activate(linear, adapter, &a, &work)
  }

  /// `activation(gate(x)) up(x)`, or `activation(up(x))`.
  private func activate(
    _ linear: AdaptedLinear, _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ work: inout DecoderState.Work
  ) {
    if configuration.fusesGateUp {
      linear.round(a.middleNormed, for: .gateUp, into: &work.rounded)
      linear.forward(.gateUp, adapter, a.middleNormed, work.rounded, &a.adapted, &work.gateUp)
      a.gate.copyColumns(of: work.gateUp, from: 0)
      a.up.copyColumns(of: work.gateUp, from: configuration.feedForwardSize)
    } else {
      linear.round(a.middleNormed, for: .up, into: &work.rounded)
      if configuration.isGated {
        linear.forward((.gate, .up), adapter, a.middleNormed, work.rounded, &a.adapted, &a.gate, &a.up)
      } else {
        linear.forward(.up, adapter, a.middleNormed, work.rounded, &a.adapted, &a.up)
      }
    }
    if configuration.isGated {
      configuration.activation.forward(gate: a.gate, up: a.up, into: &a.activated, on: linear.compute)
    } else {
      configuration.activation.forward(a.up, into: &a.activated, on: linear.compute)
    }
  }
}
