internal import BasicContainers
public import DibitKernels
internal import DibitTensor

extension Decoder {
  /// The forward pass read upwards: from `d.dHidden` to the gradients of everything that is trained, accumulated.
  ///
  /// `state` must have recorded the forward pass of the same `segments`, which must be whole sequences.
  public func backward(
    segments: borrowing Segments, cache: borrowing KeyValueCache, adapter: borrowing Adapter, state: borrowing DecoderState,
    d: inout BackwardState, gradients: inout Gradients, on compute: Compute
  ) {
    require(state.isRecording, "Decoder.backward: the state did not record the forward pass")
    require(d.dHidden.rows == state.rows, "Decoder.backward: dHidden \(d.dHidden.shape), \(state.rows) rows")
    d.dStream.fill(0)
    RMSNorm.backward(
      d.dHidden, x: state.stream, weight: weights.finalNorm.weight, saved: state.finalInverseRMS, dx: &d.dStream, on: compute)
    if gradients.includesWeights {
      RMSNorm.backwardWeight(
        d.dHidden, x: state.stream, saved: state.finalInverseRMS, dWeight: &gradients.weights[weights.finalNorm.index], on: compute)
    }
    d.dKey.fill(0)
    d.dValue.fill(0)
    for layer in stride(from: configuration.layers - 1, through: 0, by: -1) {
      block(layer, segments, cache, adapter, state.blocks[layer], state.positions, &d, &gradients, compute)
    }
    if gradients.includesWeights {
      Embedding.backward(
        state.tokens.span.extracting(0..<state.rows), d.dStream, dWeight: &gradients.weights[weights.embedding.index], on: compute)
    }
  }

  /// Turns `d.dStream` from the gradient of a block's output into that of its input.
  ///
  /// `d.dKey` and `d.dValue` collect from every layer that attends to the same keys and values; the layer that owns them passes
  /// them on and clears them.
  private func block(
    _ layer: Int, _ segments: borrowing Segments, _ cache: borrowing KeyValueCache, _ adapter: borrowing Adapter,
    _ a: borrowing BlockActivations, _ positions: borrowing Buffer<Int32>, _ d: inout BackwardState, _ gradients: inout Gradients,
    _ compute: Compute
  ) {
    let w = weights.blocks[layer]
    let source = configuration.keyValueLayer(of: layer)
    let linear = AdaptedLinear(layer: layer, compute: compute)

    d.dActivated.fill(0)
    linear.backward(.down, w.down, adapter, d.dStream, a.activated, a.low, &d.dLow, &d.dActivated, &gradients)
    d.dGate.fill(0)
    d.dUp.fill(0)
    SwiGLU.backward(d.dActivated, gate: a.gate, up: a.up, dgate: &d.dGate, dup: &d.dUp, on: compute)
    d.dNormed.fill(0)
    linear.backward(.up, w.up, adapter, d.dUp, a.middleNormed, a.low, &d.dLow, &d.dNormed, &gradients)
    linear.backward(.gate, w.gate, adapter, d.dGate, a.middleNormed, a.low, &d.dLow, &d.dNormed, &gradients)
    norm(w.middleNorm, d.dNormed, a.middle, a.middleInverseRMS, &d.dStream, &gradients, compute)

    d.dAttention.fill(0)
    linear.backward(.output, w.output, adapter, d.dStream, a.attention, a.low, &d.dLow, &d.dAttention, &gradients)
    d.dQuery.fill(0)
    attention.backward(
      d.dAttention, y: a.attention, q: a.query, keys: cache.keys[source], values: cache.values[source], segments: segments,
      saved: a.logSumExp, dq: &d.dQuery, dk: &d.dKey, dv: &d.dValue, on: compute)
    d.dNormed.fill(0)
    if let key = w.key, let value = w.value {
      cache.values[layer].backward(&d.dValue, on: compute)
      cache.keys[layer].backward(&d.dKey, on: compute)
      linear.backward(.value, value, adapter, d.dValue, a.normed, a.low, &d.dLow, &d.dNormed, &gradients)
      heads(
        .key, key, w.keyNorm, linear, adapter, a, a.rotatedKey, a.keyInverseRMS, positions, &d.dKey, &d.dRotatedKey, &d.dLow, &d.dNormed,
        &gradients)
      d.dKey.fill(0)
      d.dValue.fill(0)
    }
    heads(
      .query, w.query, w.queryNorm, linear, adapter, a, a.rotatedQuery, a.queryInverseRMS, positions, &d.dQuery, &d.dRotatedQuery, &d.dLow,
      &d.dNormed, &gradients)
    norm(w.inputNorm, d.dNormed, a.input, a.inputInverseRMS, &d.dStream, &gradients, compute)
  }

  /// Backward of projection, rotation and head norm of the queries or the keys; `dHeads` is used up.
  private func heads(
    _ kind: LinearKind, _ parameter: Parameter, _ headNorm: Parameter?, _ linear: AdaptedLinear, _ adapter: borrowing Adapter,
    _ a: borrowing BlockActivations, _ rotated: borrowing Matrix, _ inverseRMS: borrowing Matrix, _ positions: borrowing Buffer<Int32>,
    _ dHeads: inout Matrix, _ dRotated: inout Matrix, _ dLow: inout Matrix, _ dNormed: inout Matrix, _ gradients: inout Gradients
  ) {
    let at = positions.span.extracting(0..<dHeads.rows)
    guard let headNorm else {
      rope.backward(&dHeads, at: at, on: linear.compute)
      linear.backward(kind, parameter, adapter, dHeads, a.normed, a.low, &dLow, &dNormed, &gradients)
      return
    }
    dRotated.fill(0)
    norm(headNorm, dHeads, rotated, inverseRMS, &dRotated, &gradients, linear.compute)
    rope.backward(&dRotated, at: at, on: linear.compute)
    linear.backward(kind, parameter, adapter, dRotated, a.normed, a.low, &dLow, &dNormed, &gradients)
  }

  /// Backward of an RMSNorm and, when weights are trained, of its weight.
  private func norm(
    _ parameter: Parameter, _ dy: borrowing Matrix, _ x: borrowing Matrix, _ inverseRMS: borrowing Matrix, _ dx: inout Matrix,
    _ gradients: inout Gradients, _ compute: Compute
  ) {
    RMSNorm.backward(dy, x: x, weight: parameter.weight, saved: inverseRMS, dx: &dx, on: compute)
    if gradients.includesWeights {
      RMSNorm.backwardWeight(dy, x: x, saved: inverseRMS, dWeight: &gradients.weights[parameter.index], on: compute)
    }
  }
}
