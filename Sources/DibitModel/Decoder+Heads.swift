internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

extension Decoder {
  /// Keys and values of a layer that has its own: projected, normalised and turned. One fused projection gives the queries as well, and so
  /// do separate ones where the caller asks for them, projected only.
  func projectKeysValues(
    _ linear: AdaptedLinear, _ angles: borrowing UniqueArray<RoPE.Angles>, _ adapter: borrowing Adapter, _ a: inout BlockActivations,
    _ work: inout DecoderState.Work, withQueries: Bool
  ) {
    let norms = configuration.normalizesHeads
    if configuration.fusesQueryKeyValue {
      let (q, k) = (configuration.queryColumns, configuration.keyColumns)
      linear.round(a.normed, for: .queryKeyValue, into: &work.rounded)
      linear.forward(.queryKeyValue, adapter, a.normed, work.rounded, &a.adapted, &work.queryKeyValue)
      if norms {
        a.rawQuery.copyColumns(of: work.queryKeyValue, from: 0)
        a.rawKey.copyColumns(of: work.queryKeyValue, from: q)
      } else {
        a.query.copyColumns(of: work.queryKeyValue, from: 0)
        a.key.copyColumns(of: work.queryKeyValue, from: q)
      }
      a.value.copyColumns(of: work.queryKeyValue, from: q + k)
    } else {
      linear.round(a.normed, for: .key, into: &work.rounded)
      switch (withQueries, norms) {
      case (true, true):
        linear.forward((.query, .key, .value), adapter, a.normed, work.rounded, &a.adapted, &a.rawQuery, &a.rawKey, &a.value)
      case (true, false): linear.forward((.query, .key, .value), adapter, a.normed, work.rounded, &a.adapted, &a.query, &a.key, &a.value)
      case (false, true): linear.forward((.key, .value), adapter, a.normed, work.rounded, &a.adapted, &a.rawKey, &a.value)
      case (false, false): linear.forward((.key, .value), adapter, a.normed, work.rounded, &a.adapted, &a.key, &a.value)
      }
    }
    turn(linear.block.keyNorm, linear, angles, &a.rawKey, &a.keyMoments, &a.key)
  }

  /// Queries: projected unless they are there already or a fused projection has made them, normalised and turned.
  func projectQueries(
    _ linear: AdaptedLinear, _ angles: borrowing UniqueArray<RoPE.Angles>, _ adapter: borrowing Adapter, _ a: inout BlockActivations,
    _ work: inout DecoderState.Work, areThere: Bool
  ) {
    if !configuration.fusesQueryKeyValue, !areThere {
      // The keys' projection has rounded the same rows, unless there was none or only some rows go on.
      if !linear.has(.key) || work.rounded.rows != a.normed.rows { linear.round(a.normed, for: .query, into: &work.rounded) }
      if configuration.normalizesHeads {
        linear.forward(.query, adapter, a.normed, work.rounded, &a.adapted, &a.rawQuery)
      } else {
        linear.forward(.query, adapter, a.normed, work.rounded, &a.adapted, &a.query)
      }
    }
    turn(linear.block.queryNorm, linear, angles, &a.rawQuery, &a.queryMoments, &a.query)
  }

  /// Head norm and RoPE in the order of the family, from `raw` to `heads`; without a norm, RoPE turns `heads` in place.
  private func turn(
    _ norm: ParameterPair?, _ linear: AdaptedLinear, _ angles: borrowing UniqueArray<RoPE.Angles>, _ raw: inout Matrix,
    _ moments: inout Matrix,
    _ heads: inout Matrix
  ) {
    let rope = configuration.layerSettings[linear.layer].rope
    guard let norm else {
      if let rope { ropes[rope].forward(&heads, by: angles[rope], on: linear.compute) }
      return
    }
    if configuration.headNorm == .afterRoPE, let rope { ropes[rope].forward(&raw, by: angles[rope], on: linear.compute) }
    headNorm.forward(norm, linear.parameters, raw, saving: &moments, into: &heads, on: linear.compute)
    if configuration.headNorm != .afterRoPE, let rope { ropes[rope].forward(&heads, by: angles[rope], on: linear.compute) }
  }

  /// From `d.dQuery`, `d.dKey` and `d.dValue` to `d.dNormed`. `d.dKey` and `d.dValue` are used up in a layer that owns them.
  func projectBackward(
    _ linear: AdaptedLinear, _ angles: borrowing UniqueArray<RoPE.Angles>, _ adapter: borrowing Adapter, _ cache: borrowing KeyValueCache,
    _ a: borrowing BlockActivations, _ d: inout BackwardState, _ gradients: inout Gradients
  ) {
    let owns = linear.has(.key) || configuration.fusesQueryKeyValue
    let norms = configuration.normalizesHeads
    if owns {
      cache.values[linear.layer].backward(&d.dValue, on: linear.compute)
      cache.keys[linear.layer].backward(&d.dKey, on: linear.compute)
      turnBackward(linear.block.keyNorm, linear, angles, a.rawKey, a.keyMoments, &d.dKey, &d.dRawKey, &gradients)
    }
    turnBackward(linear.block.queryNorm, linear, angles, a.rawQuery, a.queryMoments, &d.dQuery, &d.dRawQuery, &gradients)
    if configuration.fusesQueryKeyValue {
      let (q, k) = (configuration.queryColumns, configuration.keyColumns)
      if norms {
        d.dQueryKeyValue.setColumns(from: 0, to: d.dRawQuery)
        d.dQueryKeyValue.setColumns(from: q, to: d.dRawKey)
      } else {
        d.dQueryKeyValue.setColumns(from: 0, to: d.dQuery)
        d.dQueryKeyValue.setColumns(from: q, to: d.dKey)
      }
      d.dQueryKeyValue.setColumns(from: q + k, to: d.dValue)
      linear.backward(.queryKeyValue, adapter, d.dQueryKeyValue, a.normed, a.adapted, &d.work, &d.dNormed, &gradients)
    } else {
      if owns {
        linear.backward(.value, adapter, d.dValue, a.normed, a.adapted, &d.work, &d.dNormed, &gradients)
        if norms {
          linear.backward(.key, adapter, d.dRawKey, a.normed, a.adapted, &d.work, &d.dNormed, accumulating: true, &gradients)
        } else {
          linear.backward(.key, adapter, d.dKey, a.normed, a.adapted, &d.work, &d.dNormed, accumulating: true, &gradients)
        }
      }
      if norms {
        linear.backward(.query, adapter, d.dRawQuery, a.normed, a.adapted, &d.work, &d.dNormed, accumulating: owns, &gradients)
      } else {
        linear.backward(.query, adapter, d.dQuery, a.normed, a.adapted, &d.work, &d.dNormed, accumulating: owns, &gradients)
      }
    }
    if owns {
      d.dKey.fill(0)
      d.dValue.fill(0)
    }
  }

  /// The way back of ``turn``: the gradient before the norm goes to `dRaw`, or without a norm stays in `dHeads`.
  private func turnBackward(
    _ norm: ParameterPair?, _ linear: AdaptedLinear, _ angles: borrowing UniqueArray<RoPE.Angles>, _ raw: borrowing Matrix,
    _ moments: borrowing Matrix,
    _ dHeads: inout Matrix, _ dRaw: inout Matrix, _ gradients: inout Gradients
  ) {
    let rope = configuration.layerSettings[linear.layer].rope
    guard let norm else {
      if let rope { ropes[rope].backward(&dHeads, by: angles[rope], on: linear.compute) }
      return
    }
    if configuration.headNorm != .afterRoPE, let rope { ropes[rope].backward(&dHeads, by: angles[rope], on: linear.compute) }
    dRaw.fill(0)
    headNorm.backward(norm, linear.parameters, dHeads, x: raw, saved: moments, dx: &dRaw, gradients: &gradients, on: linear.compute)
    if configuration.headNorm == .afterRoPE, let rope { ropes[rope].backward(&dRaw, by: angles[rope], on: linear.compute) }
  }
}
