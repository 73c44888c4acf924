internal import BasicContainers
package import DibitKernels
internal import DibitTensor

extension Decoder {
  /// The forward pass read upwards: from `d.dHidden` to the gradients of everything that is trained, accumulated.
  ///
  /// `state` must have recorded the forward pass of the same `segments`, which must be whole sequences. Layers of which it kept the input
  /// alone are computed again, with the same bits.
  package func backward(
    segments: borrowing Segments, cache: inout KeyValueCache, adapter: borrowing Adapter, state: inout DecoderState,
    d: inout BackwardState, gradients: inout Gradients, on compute: Compute
  ) {
    require(state.isRecording, "Decoder.backward: the state did not record the forward pass")
    require(d.dHidden.rows == state.rows, "Decoder.backward: dHidden \(d.dHidden.shape), \(state.rows) rows")
    d.dStream.fill(0)
    norm.backward(
      weights.finalNorm, weights.parameters, d.dHidden, x: state.stream, saved: state.finalMoments, dx: &d.dStream, gradients: &gradients,
      on: compute)
    d.dKey.fill(0)
    d.dValue.fill(0)
    for layer in stride(from: configuration.layers - 1, through: 0, by: -1) {
      if layer < state.recomputed { recompute(layer, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute) }
      block(layer, segments, cache, adapter, state.blocks[state.place(of: layer)], state.angles, &d, &gradients, compute)
    }
    guard gradients.includesWeights else { return }
    if let table = weights.positionsIndex {
      Embedding.backward(
        state.positions.span.extracting(0..<state.rows), d.dStream, dWeight: &gradients.weights[table], on: compute)
    }
    if let scale = configuration.embeddingScale { d.dStream.multiply(by: scale, on: compute) }
    Embedding.backward(
      state.tokens.span.extracting(0..<state.rows), d.dStream, dWeight: &gradients.weights[weights.embeddingIndex], on: compute)
  }

  /// Turns `d.dStream` from the gradient of a block's output into that of its input.
  ///
  /// `d.dKey` and `d.dValue` collect from every layer that attends to the same keys and values; the layer that owns them passes
  /// them on and clears them.
  private func block(
    _ layer: Int, _ segments: borrowing Segments, _ cache: borrowing KeyValueCache, _ adapter: borrowing Adapter,
    _ a: borrowing BlockActivations, _ angles: borrowing UniqueArray<RoPE.Angles>, _ d: inout BackwardState, _ gradients: inout Gradients,
    _ compute: Compute
  ) {
    let source = configuration.keyValueLayer(of: layer)
    let linear = AdaptedLinear(weights, layer: layer, compute: compute)

    feedForward(linear, adapter, a, &d, &gradients)
    if configuration.isParallel {
      // Attention was added to the same sum: it sees the gradient before the feed-forward's share.
      output(linear, adapter, a, &d, &gradients)
      enter(linear.block.middleNorm, linear, a.input, a.middleMoments, &d, &gradients)
    } else {
      enter(linear.block.middleNorm, linear, a.middle, a.middleMoments, &d, &gradients)
      output(linear, adapter, a, &d, &gradients)
    }
    d.dQuery.fill(0)
    attention[layer].backward(
      d.dAttention, y: a.attention, q: a.query, keys: cache.keys[source], values: cache.values[source], segments: segments,
      saved: a.logSumExp, dq: &d.dQuery, dk: &d.dKey, dv: &d.dValue, on: compute)
    projectBackward(linear, angles, adapter, cache, a, &d, &gradients)
    enter(linear.block.inputNorm, linear, a.input, a.inputMoments, &d, &gradients)
  }

  /// From `d.dStream`, which stays, to `d.dNormed`, the gradient of what the feed-forward reads.
  private func feedForward(
    _ linear: AdaptedLinear, _ adapter: borrowing Adapter, _ a: borrowing BlockActivations, _ d: inout BackwardState,
    _ gradients: inout Gradients
  ) {
    if let norm = linear.block.feedForwardNorm {
      d.dProjected.fill(0)
      self.norm.backward(
        norm, linear.parameters, d.dStream, x: a.fed, saved: a.fedMoments, dx: &d.dProjected, gradients: &gradients, on: linear.compute)
      linear.backward(.down, adapter, d.dProjected, a.activated, a.adapted, &d.work, &d.dActivated, &gradients)
    } else {
      linear.backward(.down, adapter, d.dStream, a.activated, a.adapted, &d.work, &d.dActivated, &gradients)
    }
    d.dUp.fill(0)
    if configuration.isGated {
      d.dGate.fill(0)
      configuration.activation.backward(d.dActivated, gate: a.gate, up: a.up, dgate: &d.dGate, dup: &d.dUp, on: linear.compute)
    } else {
      configuration.activation.backward(d.dActivated, x: a.up, dx: &d.dUp, on: linear.compute)
    }
    if configuration.fusesGateUp {
      d.dGateUp.setColumns(from: 0, to: d.dGate)
      d.dGateUp.setColumns(from: configuration.feedForwardSize, to: d.dUp)
      linear.backward(.gateUp, adapter, d.dGateUp, a.middleNormed, a.adapted, &d.work, &d.dNormed, &gradients)
      return
    }
    linear.backward(.up, adapter, d.dUp, a.middleNormed, a.adapted, &d.work, &d.dNormed, &gradients)
    if configuration.isGated {
      linear.backward(.gate, adapter, d.dGate, a.middleNormed, a.adapted, &d.work, &d.dNormed, accumulating: true, &gradients)
    }
  }

  /// From `d.dStream`, which stays, to `d.dAttention`.
  private func output(
    _ linear: AdaptedLinear, _ adapter: borrowing Adapter, _ a: borrowing BlockActivations, _ d: inout BackwardState,
    _ gradients: inout Gradients
  ) {
    guard let norm = linear.block.outputNorm else {
      linear.backward(.output, adapter, d.dStream, a.attention, a.adapted, &d.work, &d.dAttention, &gradients)
      return
    }
    d.dProjected.fill(0)
    self.norm.backward(
      norm, linear.parameters, d.dStream, x: a.attended, saved: a.attendedMoments, dx: &d.dProjected, gradients: &gradients,
      on: linear.compute)
    linear.backward(.output, adapter, d.dProjected, a.attention, a.adapted, &d.work, &d.dAttention, &gradients)
  }

  /// Adds `d.dNormed`, through the norm where there is one, to `d.dStream`.
  private func enter(
    _ norm: ParameterPair?, _ linear: AdaptedLinear, _ x: borrowing Matrix, _ moments: borrowing Matrix, _ d: inout BackwardState,
    _ gradients: inout Gradients
  ) {
    guard let norm else {
      d.dStream.add(d.dNormed, on: linear.compute)
      return
    }
    self.norm.backward(
      norm, linear.parameters, d.dNormed, x: x, saved: moments, dx: &d.dStream, gradients: &gradients, on: linear.compute)
  }
}
