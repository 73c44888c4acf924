internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// A linear layer with the adapter's term beside the frozen weight: `y = x Wᵀ + b + s (x Aᵀ) Bᵀ`, or with magnitudes
/// `y = g ⊙ (x Wᵀ + s (x Aᵀ) Bᵀ) + b`. What a recovery adds to the weight belongs to `W`.
struct LinearLayer: Sendable {
  let kind: LinearKind
  let layer: Int
  /// The index of `W: [rows, columns]`.
  let weight: Int
  /// The index of `b`.
  let bias: Int?
  let rows: Int
  let columns: Int

  /// The values of the adapter's terms of a part's linear layers that the backward pass needs.
  struct Activations: ~Copyable, MatrixSet {
    var terms = UniqueArray<Term>()

    /// Of one layer.
    struct Term: ~Copyable, Sendable {
      var projected = Matrix(rows: 0, columns: 0)  // [N, R] x Aᵀ
      var output = Matrix(rows: 0, columns: 0)  // [N, out] what a magnitude is multiplied with
    }

    init() { for _ in LinearKind.allCases { terms.append(Term()) } }

    mutating func forEachMatrix(_ shape: (layers: [LinearLayer], saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      let (layers, saved) = shape
      // All kinds, so that parts which have others need no memory of another shape where nothing is saved.
      for kind in LinearKind.allCases {
        let layer = layers.first { $0.kind == kind }
        body(&terms[kind.rawValue].projected, layer == nil ? 0 : saved.rank)
        body(&terms[kind.rawValue].output, saved.savesOutputs ? layer?.rows ?? 0 : 0)
      }
    }
  }

  /// Overwrites `y: [n, rows]`. Without `needsOutput` `y` has no meaning, and only what the backward pass reads is made.
  func forward(
    _ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass, needsOutput: Bool = true
  ) {
    guard needsOutput || pass.adapter.configuration.decomposesWeights else { return project(x, saving: &a, &pass) }
    pass.round(x, for: self)
    Linear.forward(x, rounded: pass.rounded, weight: pass.weight(weight), into: &y, on: pass.compute)
    addTerms(x, into: &y, saving: &a, &pass)
  }

  /// The same for two layers that read the same `x`, side by side.
  static func forward(
    _ layers: (LinearLayer, LinearLayer), _ x: borrowing Matrix, into y0: inout Matrix, _ y1: inout Matrix,
    saving a: inout Activations, _ pass: inout Pass
  ) {
    pass.round(x, for: layers.1)
    Linear.forward(
      x, rounded: pass.rounded, weights: pass.weight(layers.0.weight), pass.weight(layers.1.weight), into: &y0, &y1, on: pass.compute)
    layers.0.addTerms(x, into: &y0, saving: &a, &pass)
    layers.1.addTerms(x, into: &y1, saving: &a, &pass)
  }

  /// The same for three.
  static func forward(
    _ layers: (LinearLayer, LinearLayer, LinearLayer), _ x: borrowing Matrix, into y0: inout Matrix, _ y1: inout Matrix,
    _ y2: inout Matrix, saving a: inout Activations, _ pass: inout Pass
  ) {
    pass.round(x, for: layers.1)
    Linear.forward(
      x, rounded: pass.rounded, weights: pass.weight(layers.0.weight), pass.weight(layers.1.weight), pass.weight(layers.2.weight),
      into: &y0, &y1, &y2, on: pass.compute)
    layers.0.addTerms(x, into: &y0, saving: &a, &pass)
    layers.1.addTerms(x, into: &y1, saving: &a, &pass)
    layers.2.addTerms(x, into: &y2, saving: &a, &pass)
  }

  /// The same with a packed weight and the codes of `x`, where there is neither an adapter nor a recovery.
  func forward(_ x: borrowing QuantizedRows, into y: inout Matrix, _ pass: borrowing Pass) {
    Linear.forward(x, weight: pass.weight(weight), into: &y, on: pass.compute)
    if let bias { Bias.forward(pass.weight(bias), into: &y, on: pass.compute) }
  }

  /// Adds to `x Wᵀ` in `y` what else the layer has: what a recovery adds to the weight, its bias, and the adapters' terms.
  private func addTerms(_ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    pass.recovery.add(to: weight, pass.parameters, x, rounded: pass.rounded, into: &y, on: pass.compute)
    if pass.adapterRuns.isEmpty {
      addTrainedTerms(x, into: &y, saving: &a, &pass)
    } else {
      let bias = bias
      // A magnitude belongs to the adapted weight, and not to the bias.
      for run in pass.adapterRuns where run.adapter.adapter.configuration.decomposesWeights { add(run, x, into: &y, &pass) }
      if let bias { Bias.forward(pass.weight(bias), into: &y, on: pass.compute) }
      for run in pass.adapterRuns where !run.adapter.adapter.configuration.decomposesWeights { add(run, x, into: &y, &pass) }
    }
    pass.observer?.observe(layer: layer, kind: kind, input: x, output: y)
  }

  /// The term of an adapter that others share, for its rows.
  private func add(_ run: AdapterRun, _ x: borrowing Matrix, into y: inout Matrix, _ pass: inout Pass) {
    let loaded = run.adapter
    guard let entry = loaded.adapter.entry(layer, kind) else { return }
    let scale = loaded.adapter.configuration.scale
    if pass.usesBFloat {
      LoRA.forward(
        rows: run.rows, a: loaded.adapter.a[entry], b: loaded.adapter.b[entry], scale: scale, work: &pass.adapted,
        projected: &pass.projected, into: &y, on: pass.compute)
    } else {
      LoRA.forward(
        x, rows: run.rows, a: loaded.adapter.a[entry], b: loaded.adapter.b[entry], scale: scale, work: &pass.projected, into: &y,
        on: pass.compute)
    }
    guard loaded.adapter.configuration.decomposesWeights else { return }
    DoRA.forward(loaded.adapter.gains[entry], rows: run.rows, into: &y, on: pass.compute)
  }

  /// The bias, and the term of the adapter that is trained.
  private func addTrainedTerms(_ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    let entry = pass.adapter.entry(layer, kind)
    // A magnitude belongs to the adapted weight, and not to the bias.
    if let entry, pass.adapter.configuration.decomposesWeights {
      addTrained(entry, x, into: &y, saving: &a, &pass)
      if a.terms[kind.rawValue].output.capacity > 0 { a.terms[kind.rawValue].output.copy(y) }
      DoRA.forward(pass.adapter.gains[entry], into: &y, on: pass.compute)
    }
    if let bias { Bias.forward(pass.weight(bias), into: &y, on: pass.compute) }
    if let entry, !pass.adapter.configuration.decomposesWeights { addTrained(entry, x, into: &y, saving: &a, &pass) }
  }

  private func addTrained(_ entry: Int, _ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    guard let mask = pass.mask(layer, kind) else { return term(entry, x, into: &y, saving: &a, pass) }
    var masked = pass.scratch.take(rows: x.rows, columns: x.columns)
    mask.forward(x, into: &masked, on: pass.compute)
    term(entry, masked, into: &y, saving: &a, pass)
    pass.scratch.give(masked)
  }

  private func term(_ entry: Int, _ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: borrowing Pass) {
    LoRA.forward(
      x, a: pass.adapter.a[entry], b: pass.adapter.b[entry], scale: pass.adapter.configuration.scale,
      saving: &a.terms[kind.rawValue].projected, into: &y, on: pass.compute)
  }

  /// Saves `x Aᵀ` and nothing else; enough for a layer without a magnitude.
  private func project(_ x: borrowing Matrix, saving a: inout Activations, _ pass: inout Pass) {
    guard let entry = pass.adapter.entry(layer, kind) else { return }
    guard let mask = pass.mask(layer, kind) else {
      return Gemm.nt(x, pass.adapter.a[entry], into: &a.terms[kind.rawValue].projected, on: pass.compute)
    }
    var masked = pass.scratch.take(rows: x.rows, columns: x.columns)
    mask.forward(x, into: &masked, on: pass.compute)
    Gemm.nt(masked, pass.adapter.a[entry], into: &a.terms[kind.rawValue].projected, on: pass.compute)
    pass.scratch.give(masked)
  }

  /// Overwrites `dx: [n, columns]`, or adds to it when `accumulating`, and accumulates the gradients of whatever is trained.
  func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, dx: inout Matrix, accumulating: Bool = false,
    _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    pass.observer?.observe(layer: layer, kind: kind, input: x, gradient: dy)
    guard let entry = pass.adapter.entry(layer, kind), pass.adapter.configuration.decomposesWeights else {
      return backwardDirection(dy, x: x, saved: a, dx: &dx, accumulating: accumulating, pass, &d)
    }
    var scaled = d.scratch.take(rows: dy.rows, columns: dy.columns)
    DoRA.backward(
      dy, x: a.terms[kind.rawValue].output, gain: pass.adapter.gains[entry], magnitude: pass.adapter.magnitudes[entry],
      dMagnitude: &d.gradients.values[d.gradients.list.magnitude(entry)], into: &scaled, on: pass.compute)
    backwardDirection(scaled, x: x, saved: a, dx: &dx, accumulating: accumulating, pass, &d)
    d.scratch.give(scaled)
  }

  /// The same behind the magnitude.
  private func backwardDirection(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, dx: inout Matrix, accumulating: Bool,
    _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    let (weight, compute) = (pass.weight(self.weight), pass.compute)
    let usesBFloat = Linear.usesBFloat(weight, on: compute)
    if usesBFloat {
      d.bfloat.rows.round(dy, on: compute)
      Linear.backward(d.bfloat.rows, weight: weight, dx: &dx, accumulating: accumulating, on: compute)
    } else {
      if !accumulating { dx.fill(0) }
      Linear.backward(dy, weight: weight, dx: &dx, on: compute)
    }
    if let factors = pass.recovery.factors(of: self.weight, pass.parameters) {
      d.backward(dy, through: factors, usesBFloat, dx: &dx, on: compute)
    }
    d.gradients.addProduct(dy, x, pairs: &d.bfloat.inputs, of: weight, self.weight, on: compute)
    if let bias, let index = d.gradients.list.weight(bias) { Bias.backward(dy, dBias: &d.gradients.values[index], on: compute) }
    guard let entry = pass.adapter.entry(layer, kind) else { return }
    guard let mask = pass.mask(layer, kind) else {
      backwardParameters(entry, dy, x: x, saved: a, usesBFloat, pass, &d)
      return backwardInput(entry, dx: &dx, accumulating: true, usesBFloat, pass, d)
    }
    var masked = d.scratch.take(rows: x.rows, columns: x.columns)
    mask.forward(x, into: &masked, on: compute)
    backwardParameters(entry, dy, x: masked, saved: a, usesBFloat, pass, &d)
    backwardInput(entry, dx: &masked, accumulating: false, usesBFloat, pass, d)
    mask.backward(masked, dx: &dx, on: compute)
    d.scratch.give(masked)
  }

  /// Accumulates the gradients of `A` and `B`, whose input was `x`, and leaves in `d` what ``backwardInput`` needs.
  private func backwardParameters(
    _ entry: Int, _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, _ usesBFloat: Bool,
    _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    let scale = pass.adapter.configuration.scale
    let (indexA, indexB) = (d.gradients.list.a(entry), d.gradients.list.b(entry))
    if usesBFloat {
      LoRA.backwardB(
        dy, scale: scale, saved: a.terms[kind.rawValue].projected, work: &d.bfloat, db: &d.gradients.values[indexB], on: pass.compute)
      LoRA.backwardA(
        x: x, b: pass.adapter.b[entry], scale: scale, work: &d.bfloat, dh: &d.dProjected, da: &d.gradients.values[indexA], on: pass.compute)
    } else {
      LoRA.backwardB(dy, scale: scale, saved: a.terms[kind.rawValue].projected, db: &d.gradients.values[indexB], on: pass.compute)
      LoRA.backwardA(
        dy, x: x, b: pass.adapter.b[entry], scale: scale, dh: &d.dProjected, da: &d.gradients.values[indexA], on: pass.compute)
    }
  }

  /// The gradient of what went into `A`.
  private func backwardInput(
    _ entry: Int, dx: inout Matrix, accumulating: Bool, _ usesBFloat: Bool, _ pass: borrowing Pass, _ d: borrowing BackwardWork
  ) {
    if usesBFloat {
      LoRA.backwardInput(d.bfloat, a: pass.adapter.a[entry], accumulating: accumulating, dx: &dx, on: pass.compute)
    } else {
      LoRA.backwardInput(d.dProjected, a: pass.adapter.a[entry], accumulating: accumulating, dx: &dx, on: pass.compute)
    }
  }
}
