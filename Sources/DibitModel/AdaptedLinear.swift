internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// One block's linear layers with the adapter's term beside the frozen weight: `y = x Wᵀ + b + s (x Aᵀ) Bᵀ`.
struct AdaptedLinear {
  let layer: Int
  let block: BlockWeights
  let parameters: [Parameter]
  let compute: Compute

  init(_ weights: DecoderWeights, layer: Int, compute: Compute) {
    self.layer = layer
    self.compute = compute
    block = weights.blocks[layer]
    parameters = weights.parameters
  }

  /// Whether the block has such a layer.
  func has(_ kind: LinearKind) -> Bool { block.linear(kind) != nil }

  private func places(_ kind: LinearKind) -> ParameterPair {
    guard let pair = block.linear(kind) else { fatalError("AdaptedLinear: layer \(layer) has no \(kind)") }
    return pair
  }

  /// Rounds `x`, once for all layers that read it, where the weight of `kind` asks for that.
  func round(_ x: borrowing Matrix, for kind: LinearKind, into rounded: inout QuantizedRows) {
    rounded.round(x, for: weight(kind), on: compute)
  }

  /// Overwrites `y: [n, out]`; saves `x Aᵀ` and what else the backward pass needs in `saved`. `rounded` holds what ``round(_:for:into:)`` made of `x`.
  func forward(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ rounded: borrowing QuantizedRows,
    _ saved: inout AdapterActivations, _ y: inout Matrix
  ) {
    Linear.forward(x, rounded: rounded, weight: weight(kind), into: &y, on: compute)
    finish(kind, adapter, x, &saved, &y)
  }

  /// The same for two layers that read the same `x`, side by side.
  func forward(
    _ kinds: (LinearKind, LinearKind), _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ rounded: borrowing QuantizedRows,
    _ saved: inout AdapterActivations, _ y0: inout Matrix, _ y1: inout Matrix
  ) {
    Linear.forward(x, rounded: rounded, weights: weight(kinds.0), weight(kinds.1), into: &y0, &y1, on: compute)
    finish(kinds.0, adapter, x, &saved, &y0)
    finish(kinds.1, adapter, x, &saved, &y1)
  }

  /// The same for three.
  func forward(
    _ kinds: (LinearKind, LinearKind, LinearKind), _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ rounded: borrowing QuantizedRows,
    _ saved: inout AdapterActivations, _ y0: inout Matrix, _ y1: inout Matrix, _ y2: inout Matrix
  ) {
    Linear.forward(
      x, rounded: rounded, weights: weight(kinds.0), weight(kinds.1), weight(kinds.2), into: &y0, &y1, &y2, on: compute)
    finish(kinds.0, adapter, x, &saved, &y0)
    finish(kinds.1, adapter, x, &saved, &y1)
    finish(kinds.2, adapter, x, &saved, &y2)
  }

  private func weight(_ kind: LinearKind) -> Weight { parameters[places(kind).weight].weight }

  /// Adds to `x Wᵀ` in `y` what else the layer has: its bias, and the adapter's term.
  private func finish(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ saved: inout AdapterActivations, _ y: inout Matrix
  ) {
    let bias = places(kind).bias
    let entry = adapter.entry(layer, kind)
    // A magnitude belongs to the adapted weight, and not to the bias.
    if let entry, adapter.configuration.decomposesWeights {
      add(entry, kind, adapter, x, &saved, &y)
      if saved.outputs[kind.rawValue].capacity > 0 { saved.outputs[kind.rawValue].copy(y) }
      DoRA.forward(adapter.gains[entry], into: &y, on: compute)
    }
    if let bias { Bias.forward(parameters[bias].weight, into: &y, on: compute) }
    if let entry, !adapter.configuration.decomposesWeights { add(entry, kind, adapter, x, &saved, &y) }
  }

  /// Adds the adapter's term.
  private func add(
    _ entry: Int, _ kind: LinearKind, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ saved: inout AdapterActivations,
    _ y: inout Matrix
  ) {
    let isDropped = adapter.dropout?.apply(layer, kind, rows: x.rows, columns: x.columns) { mask, work in
      mask.forward(x, into: &work, on: compute)
      LoRA.forward(
        work, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saving: &saved.low[kind.rawValue], into: &y,
        on: compute)
    }
    if isDropped == true { return }
    LoRA.forward(
      x, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saving: &saved.low[kind.rawValue], into: &y,
      on: compute)
  }

  /// Saves `x Aᵀ` and nothing else; enough for a layer without a magnitude.
  func saveLow(_ kind: LinearKind, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ saved: inout AdapterActivations) {
    guard let entry = adapter.entry(layer, kind) else { return }
    let isDropped = adapter.dropout?.apply(layer, kind, rows: x.rows, columns: x.columns) { mask, masked in
      mask.forward(x, into: &masked, on: compute)
      Gemm.nt(masked, adapter.a[entry], into: &saved.low[kind.rawValue], on: compute)
    }
    if isDropped == true { return }
    Gemm.nt(x, adapter.a[entry], into: &saved.low[kind.rawValue], on: compute)
  }

  /// Overwrites `dx: [n, in]`, or adds to it when `accumulating`, and accumulates the gradients of whatever is trained.
  func backward(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ dy: borrowing Matrix, _ x: borrowing Matrix, _ saved: borrowing AdapterActivations,
    _ work: inout BackwardState.Work, _ dx: inout Matrix, accumulating: Bool = false, _ gradients: inout Gradients
  ) {
    guard let entry = adapter.entry(layer, kind), adapter.configuration.decomposesWeights else {
      return backwardDirection(kind, adapter, dy, x, saved, &work, &dx, accumulating: accumulating, &gradients)
    }
    // Out of its place while `work` is lent on.
    var scaled = work.takeScaled(rows: dy.rows, columns: dy.columns)
    DoRA.backward(
      dy, x: saved.outputs[kind.rawValue], gain: adapter.gains[entry], magnitude: adapter.magnitudes[entry],
      dMagnitude: &gradients.adapter.magnitudes[entry], into: &scaled, on: compute)
    backwardDirection(kind, adapter, scaled, x, saved, &work, &dx, accumulating: accumulating, &gradients)
    work.putBack(scaled)
  }

  /// The same behind the magnitude.
  private func backwardDirection(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ dy: borrowing Matrix, _ x: borrowing Matrix, _ saved: borrowing AdapterActivations,
    _ work: inout BackwardState.Work, _ dx: inout Matrix, accumulating: Bool = false, _ gradients: inout Gradients
  ) {
    let pair = places(kind)
    let weight = parameters[pair.weight].weight
    let usesBFloat = Linear.usesBFloat(weight, on: compute)
    if usesBFloat {
      work.bfloat.rows.round(dy, on: compute)
      Linear.backward(work.bfloat.rows, weight: weight, dx: &dx, accumulating: accumulating, on: compute)
    } else {
      if !accumulating { dx.fill(0) }
      Linear.backward(dy, weight: weight, dx: &dx, on: compute)
    }
    if gradients.includesWeights {
      if usesBFloat {
        work.bfloat.inputs.round(x, factor: 1, on: compute)
        Linear.backwardWeight(dy, work.bfloat.inputs, dWeight: &gradients.weights[pair.weight], on: compute)
      } else {
        Linear.backwardWeight(dy, x, dWeight: &gradients.weights[pair.weight], on: compute)
      }
      if let bias = pair.bias { Bias.backward(dy, dBias: &gradients.weights[bias], on: compute) }
    }
    guard let entry = adapter.entry(layer, kind) else { return }
    let isDropped = adapter.dropout?.apply(layer, kind, rows: x.rows, columns: x.columns) { mask, masked in
      mask.forward(x, into: &masked, on: compute)
      backwardParameters(entry, kind, adapter, dy, masked, saved, &work, usesBFloat, &gradients)
      backwardInput(entry, adapter, work, usesBFloat, &masked, accumulating: false)
      mask.backward(masked, dx: &dx, on: compute)
    }
    if isDropped == true { return }
    backwardParameters(entry, kind, adapter, dy, x, saved, &work, usesBFloat, &gradients)
    backwardInput(entry, adapter, work, usesBFloat, &dx, accumulating: true)
  }

  /// Accumulates the gradients of `A` and `B`, whose input was `x`, and leaves in `work` what ``backwardInput`` needs.
  private func backwardParameters(
    _ entry: Int, _ kind: LinearKind, _ adapter: borrowing Adapter, _ dy: borrowing Matrix, _ x: borrowing Matrix,
    _ saved: borrowing AdapterActivations, _ work: inout BackwardState.Work, _ usesBFloat: Bool, _ gradients: inout Gradients
  ) {
    let scale = adapter.configuration.scale
    if usesBFloat {
      LoRA.backwardParameters(
        dy, x: x, b: adapter.b[entry], scale: scale, saved: saved.low[kind.rawValue], work: &work.bfloat, dh: &work.dLow,
        da: &gradients.adapter.a[entry], db: &gradients.adapter.b[entry], on: compute)
    } else {
      LoRA.backwardParameters(
        dy, x: x, b: adapter.b[entry], scale: scale, saved: saved.low[kind.rawValue], dh: &work.dLow,
        da: &gradients.adapter.a[entry], db: &gradients.adapter.b[entry], on: compute)
    }
  }

  /// The gradient of what went into `A`.
  private func backwardInput(
    _ entry: Int, _ adapter: borrowing Adapter, _ work: borrowing BackwardState.Work, _ usesBFloat: Bool, _ dx: inout Matrix,
    accumulating: Bool
  ) {
    if usesBFloat {
      LoRA.backwardInput(work.bfloat, a: adapter.a[entry], accumulating: accumulating, dx: &dx, on: compute)
    } else {
      LoRA.backwardInput(work.dLow, a: adapter.a[entry], accumulating: accumulating, dx: &dx, on: compute)
    }
  }
}
