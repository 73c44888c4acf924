internal import DibitKernels
internal import DibitTensor

/// `down(activation(gate(x)) ⊙ up(x))`, or without a gate `down(activation(up(x)))`.
struct FeedForwardPart: BlockPart {
  /// The source of gate and up.
  enum Projection: Sendable {
    /// One linear layer for both.
    case fused(LinearLayer)
    /// A linear layer for each.
    case gated(gate: LinearLayer, up: LinearLayer)
    /// There is no gate.
    case plain(up: LinearLayer)
  }

  let projection: Projection
  let down: LinearLayer
  let linears: [LinearLayer]
  private let activation: Activation

  /// The feed-forward of a layer; its parameters are added to `list`.
  init(_ c: ModelConfiguration, layer: Int, _ list: inout ParameterList) {
    let (size, hidden) = (c.feedForwardSize(layer: layer), c.hiddenSize)
    if c.fusesGateUp {
      projection = .fused(list.linear(.gateUp, layer: layer, rows: 2 * size, columns: hidden))
    } else if c.isGated {
      let gate = list.linear(.gate, layer: layer, rows: size, columns: hidden)
      projection = .gated(gate: gate, up: list.linear(.up, layer: layer, rows: size, columns: hidden))
    } else {
      projection = .plain(up: list.linear(.up, layer: layer, rows: size, columns: hidden))
    }
    down = list.linear(.down, layer: layer, rows: hidden, columns: size)
    linears =
      switch projection {
      case .fused(let layer), .plain(let layer): [layer, down]
      case .gated(let gate, let up): [gate, up, down]
      }
    activation = c.activation
  }

  private var size: Int { down.columns }
  private var isGated: Bool { if case .plain = projection { false } else { true } }

  var forwardWidths: [Int] { if case .fused(let layer) = projection { [layer.rows] } else { [] } }

  var backwardWidths: [Int] {
    switch projection {
    case .fused(let layer): [size, size, size, layer.rows]
    case .gated: [size, size, size]
    case .plain: [size, size]
    }
  }

  struct Activations: ~Copyable, MatrixSet {
    var gate = Matrix(rows: 0, columns: 0)  // [N, F]
    var up = Matrix(rows: 0, columns: 0)  // [N, F]
    var activated = Matrix(rows: 0, columns: 0)  // [N, F] what down reads
    var terms = LinearLayer.Activations()

    mutating func forEachMatrix(_ shape: (part: FeedForwardPart, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      let (part, saved) = shape
      body(&gate, part.isGated ? part.size : 0)
      body(&up, part.size)
      body(&activated, part.size)
      terms.forEachMatrix((part.linears, saved), body)
    }
  }

  func forward(_ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    switch projection {
    case .fused(let layer):
      var fused = pass.scratch.take(rows: x.rows, columns: layer.rows)
      layer.forward(x, into: &fused, saving: &a.terms, &pass)
      a.gate.copyColumns(of: fused, from: 0)
      a.up.copyColumns(of: fused, from: size)
      pass.scratch.give(fused)
    case .gated(let gate, let up): LinearLayer.forward((gate, up), x, into: &a.gate, &a.up, saving: &a.terms, &pass)
    case .plain(let up): up.forward(x, into: &a.up, saving: &a.terms, &pass)
    }
    if isGated {
      activation.forward(gate: a.gate, up: a.up, into: &a.activated, on: pass.compute)
    } else {
      activation.forward(a.up, into: &a.activated, on: pass.compute)
    }
    down.forward(a.activated, into: &y, saving: &a.terms, &pass, needsOutput: pass.needsOutput)
  }

  func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, into dx: inout Matrix, _ pass: borrowing Pass,
    _ d: inout BackwardWork
  ) {
    var dActivated = d.scratch.take(rows: x.rows, columns: size)
    down.backward(dy, x: a.activated, saved: a.terms, dx: &dActivated, pass, &d)
    var dUp = d.scratch.take(rows: x.rows, columns: size)
    guard isGated else {
      activation.backward(dActivated, x: a.up, dx: &dUp, on: pass.compute)
      d.scratch.give(dActivated)
      if case .plain(let up) = projection { up.backward(dUp, x: x, saved: a.terms, dx: &dx, pass, &d) }
      return d.scratch.give(dUp)
    }
    var dGate = d.scratch.take(rows: x.rows, columns: size)
    activation.backward(dActivated, gate: a.gate, up: a.up, dgate: &dGate, dup: &dUp, on: pass.compute)
    d.scratch.give(dActivated)
    switch projection {
    case .plain: break
    case .gated(let gate, let up):
      up.backward(dUp, x: x, saved: a.terms, dx: &dx, pass, &d)
      gate.backward(dGate, x: x, saved: a.terms, dx: &dx, accumulating: true, pass, &d)
    case .fused(let layer):
      var dFused = d.scratch.take(rows: x.rows, columns: layer.rows)
      dFused.setColumns(from: 0, to: dGate)
      dFused.setColumns(from: size, to: dUp)
      layer.backward(dFused, x: x, saved: a.terms, dx: &dx, pass, &d)
      d.scratch.give(dFused)
    }
    d.scratch.give(dUp)
    d.scratch.give(dGate)
  }
}
