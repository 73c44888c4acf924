internal import BasicContainers
public import DibitKernels
public import DibitTensor

/// A decoder-only transformer: the one forward and the one backward pass that training, evaluation and generation share.
@safe
public struct Decoder: ~Copyable, Sendable {
  /// The model's shape.
  public let configuration: ModelConfiguration
  /// Its parameters.
  public var weights: DecoderWeights
  let attention: Attention
  let rope: RoPE

  /// A decoder over these weights; builds the rotary tables for the whole context.
  public init(_ configuration: ModelConfiguration, weights: DecoderWeights) {
    self.configuration = configuration
    self.weights = weights
    attention = configuration.attention
    rope = configuration.makeRoPE(positions: configuration.contextLength)
  }

  /// Runs `tokens` through the model: writes their keys and values to `cache` and their final hidden states to `state`.
  ///
  /// `segments` says which tokens belong together and where their rows of the cache lie. Token ids must lie in the vocabulary and
  /// positions in the context: callers check data before.
  public func forward(
    _ tokens: Span<Int32>, segments: borrowing Segments, cache: inout KeyValueCache, adapter: borrowing Adapter, state: inout DecoderState,
    on compute: Compute
  ) {
    let n = tokens.count
    require(n == segments.rows && n <= state.capacity, "Decoder: \(n) tokens, \(segments.rows) rows, capacity \(state.capacity)")
    state.setRows(n)
    for i in 0..<n { state.tokens[i] = tokens[i] }
    segments.forEach { row, count, _, position in
      for i in 0..<count { state.positions[row + i] = Int32(position + i) }
    }
    Embedding.forward(tokens, weight: weights.embedding.weight, into: &state.stream, on: compute)
    for layer in 0..<configuration.layers {
      block(
        layer, segments, state.positions, &cache, adapter, &state.blocks[state.isRecording ? layer : 0], &state.stream, &state.projected,
        compute)
    }
    RMSNorm.forward(
      state.stream, weight: weights.finalNorm.weight, epsilon: configuration.normEpsilon, saving: &state.finalInverseRMS,
      into: &state.hidden,
      on: compute)
  }

  /// Logits `[n, V]` of the hidden states `hidden: [n, C]`.
  public func logits(_ hidden: borrowing Matrix, into logits: inout Matrix, on compute: Compute) {
    Linear.forward(hidden, weight: weights.output.weight, into: &logits, on: compute)
  }

  /// `x += o(attention(norm(x)))`, `x += down(swiglu(gate(norm(x)), up(norm(x))))`.
  private func block(
    _ layer: Int, _ segments: borrowing Segments, _ positions: borrowing Buffer<Int32>, _ cache: inout KeyValueCache,
    _ adapter: borrowing Adapter, _ a: inout BlockActivations, _ x: inout Matrix, _ projected: inout Matrix, _ compute: Compute
  ) {
    let w = weights.blocks[layer]
    let epsilon = configuration.normEpsilon
    let source = configuration.keyValueLayer(of: layer)
    let linear = AdaptedLinear(layer: layer, compute: compute)

    a.input.copy(x)
    RMSNorm.forward(x, weight: w.inputNorm.weight, epsilon: epsilon, saving: &a.inputInverseRMS, into: &a.normed, on: compute)
    queries(w, linear, positions, adapter, &a, compute)
    if let key = w.key, let value = w.value {
      keys(w, key, linear, positions, adapter, &a, compute)
      linear.forward(.value, value, adapter, a.normed, &a.low, &a.value)
      cache.keys[layer].write(&a.key, segments: segments, on: compute)
      cache.values[layer].write(&a.value, segments: segments, on: compute)
    }
    attention.forward(
      a.query, keys: cache.keys[source], values: cache.values[source], segments: segments, saving: &a.logSumExp, into: &a.attention,
      on: compute)
    linear.forward(.output, w.output, adapter, a.attention, &a.low, &projected)
    x.add(projected, on: compute)

    a.middle.copy(x)
    RMSNorm.forward(x, weight: w.middleNorm.weight, epsilon: epsilon, saving: &a.middleInverseRMS, into: &a.middleNormed, on: compute)
    linear.forward(.gate, w.gate, adapter, a.middleNormed, &a.low, &a.gate)
    linear.forward(.up, w.up, adapter, a.middleNormed, &a.low, &a.up)
    SwiGLU.forward(gate: a.gate, up: a.up, into: &a.activated, on: compute)
    linear.forward(.down, w.down, adapter, a.activated, &a.low, &projected)
    x.add(projected, on: compute)
  }

  /// Projects, turns and, where the family does so, normalises the query heads.
  private func queries(
    _ w: BlockWeights, _ linear: AdaptedLinear, _ positions: borrowing Buffer<Int32>, _ adapter: borrowing Adapter,
    _ a: inout BlockActivations, _ compute: Compute
  ) {
    let at = positions.span.extracting(0..<a.query.rows)
    guard let norm = w.queryNorm else {
      linear.forward(.query, w.query, adapter, a.normed, &a.low, &a.query)
      rope.forward(&a.query, at: at, on: compute)
      return
    }
    linear.forward(.query, w.query, adapter, a.normed, &a.low, &a.rotatedQuery)
    rope.forward(&a.rotatedQuery, at: at, on: compute)
    RMSNorm.forward(
      a.rotatedQuery, weight: norm.weight, epsilon: configuration.headNormEpsilon, saving: &a.queryInverseRMS, into: &a.query, on: compute)
  }

  /// As ``queries``, for the key heads.
  private func keys(
    _ w: BlockWeights, _ key: Parameter, _ linear: AdaptedLinear, _ positions: borrowing Buffer<Int32>, _ adapter: borrowing Adapter,
    _ a: inout BlockActivations, _ compute: Compute
  ) {
    let at = positions.span.extracting(0..<a.key.rows)
    guard let norm = w.keyNorm else {
      linear.forward(.key, key, adapter, a.normed, &a.low, &a.key)
      rope.forward(&a.key, at: at, on: compute)
      return
    }
    linear.forward(.key, key, adapter, a.normed, &a.low, &a.rotatedKey)
    rope.forward(&a.rotatedKey, at: at, on: compute)
    RMSNorm.forward(
      a.rotatedKey, weight: norm.weight, epsilon: configuration.headNormEpsilon, saving: &a.keyInverseRMS, into: &a.key, on: compute)
  }
}
