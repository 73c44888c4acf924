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
    if Linear.usesRounded(parameters[places(kind).weight].weight, on: compute) { rounded.quantize(x, on: compute) }
  }

  /// Overwrites `y: [n, out]`; saves `x Aᵀ` in `low`. `rounded` holds what ``round(_:for:into:)`` made of `x`.
  func forward(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ x: borrowing Matrix, _ rounded: borrowing QuantizedRows,
    _ low: inout UniqueArray<Matrix>, _ y: inout Matrix
  ) {
    let pair = places(kind)
    Linear.forward(x, rounded: rounded, weight: parameters[pair.weight].weight, into: &y, on: compute)
    if let bias = pair.bias { Bias.forward(parameters[bias].weight, into: &y, on: compute) }
    guard let entry = adapter.entry(layer, kind) else { return }
    let isDropped = adapter.dropout?.apply(layer, kind, rows: x.rows, columns: x.columns) { mask, work in
      mask.forward(x, into: &work, on: compute)
      LoRA.forward(
        work, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saving: &low[kind.rawValue], into: &y,
        on: compute)
    }
    if isDropped == true { return }
    LoRA.forward(
      x, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saving: &low[kind.rawValue], into: &y, on: compute)
  }

  /// Accumulates `dx: [n, in]` and the gradients of whatever is trained; `dLow: [n, R]` is working memory.
  func backward(
    _ kind: LinearKind, _ adapter: borrowing Adapter, _ dy: borrowing Matrix, _ x: borrowing Matrix, _ low: borrowing UniqueArray<Matrix>,
    _ dLow: inout Matrix, _ dx: inout Matrix, _ gradients: inout Gradients
  ) {
    let pair = places(kind)
    Linear.backward(dy, weight: parameters[pair.weight].weight, dx: &dx, on: compute)
    if gradients.includesWeights {
      Linear.backwardWeight(dy, x, dWeight: &gradients.weights[pair.weight], on: compute)
      if let bias = pair.bias { Bias.backward(dy, dBias: &gradients.weights[bias], on: compute) }
    }
    guard let entry = adapter.entry(layer, kind) else { return }
    let isDropped = adapter.dropout?.apply(layer, kind, rows: x.rows, columns: x.columns) { mask, work in
      mask.forward(x, into: &work, on: compute)
      LoRA.backwardParameters(
        dy, x: work, b: adapter.b[entry], scale: adapter.configuration.scale, saved: low[kind.rawValue], dh: &dLow,
        da: &gradients.adapter.a[entry], db: &gradients.adapter.b[entry], on: compute)
      work.fill(0)
      Gemm.nn(dLow, adapter.a[entry], into: &work, on: compute)  // of what the mask left
      mask.backward(work, dx: &dx, on: compute)
    }
    if isDropped == true { return }
    LoRA.backward(
      dy, x: x, a: adapter.a[entry], b: adapter.b[entry], scale: adapter.configuration.scale, saved: low[kind.rawValue], dh: &dLow,
      da: &gradients.adapter.a[entry], db: &gradients.adapter.b[entry], dx: &dx, on: compute)
  }
}
