internal import BasicContainers
package import DibitKernels
package import DibitTensor

/// A decoder-only transformer, for all families: a loop over blocks, forward and backward. Training, evaluation and generation share it.
@safe
package struct Decoder: ~Copyable, Sendable {
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// Its parameters.
  package var weights: DecoderWeights
  /// The blocks that compute with them.
  package let layout: DecoderLayout
  private let ropes: [RoPE]

  /// A decoder over these weights.
  package init(_ configuration: ModelConfiguration, weights: DecoderWeights) {
    self.configuration = configuration
    self.weights = weights
    layout = DecoderLayout(configuration)
    ropes = configuration.ropes.map { $0.makeRoPE(headSize: configuration.headSize) }
  }

  /// Runs the tokens of `runner` through the model: writes their keys and values to its cache and the final hidden states of `wanted` rows to
  /// ``ModelRunner/hidden``.
  ///
  /// Rows that are not wanted stop where nothing reads them: at the last layer that has keys and values of its own. Attention gives the
  /// others the same bits as a pass that wants all, and so do packed weights; float weights may round differently for another number of
  /// rows. A pass that is recorded computes all. With `layers` it ends behind as many, with ``ModelRunner/stream`` and no hidden states.
  package func forward(_ runner: inout ModelRunner, wanted: HiddenRows = .all, through layers: Int? = nil) {
    require(wanted == .all || !runner.isRecording && layers == nil, "Decoder: a recorded pass computes all rows")
    begin(&runner)
    runner.pass.select(wanted)
    embed(runner.pass, &runner.stream)
    run(0..<(layers ?? configuration.layers), &runner)
    if layers == nil, runner.rows > 0 {
      layout.finalNorm.forward(runner.stream, saving: &runner.finalMoments, into: &runner.hidden, runner.pass)
    }
    runner.pass.parameters = []
  }

  /// Runs some layers alone: turns `hidden: [n, C]`, the residual stream before the first of them, into that behind the last one,
  /// ``ModelRunner/stream``. The runner holds as many rows.
  package func forward(_ runner: inout ModelRunner, layers: Range<Int>, from hidden: borrowing Matrix) {
    begin(&runner)
    runner.pass.select(.all)
    runner.stream.copy(hidden)
    run(layers, &runner)
    runner.pass.parameters = []
  }

  /// Runs some branches of one layer alone: turns `hidden: [n, C]`, the residual stream before the first of them, into that behind the last
  /// one, ``ModelRunner/stream``. Those of a parallel block run together.
  package func forward(_ runner: inout ModelRunner, layer: Int, branches: Range<Int>, from hidden: borrowing Matrix) {
    begin(&runner)
    runner.pass.select(.all)
    runner.stream.copy(hidden)
    layout.blocks[layer].forward(branches, &runner.stream, saving: &runner.blocks[runner.index(of: layer)], &runner.pass)
    runner.pass.parameters = []
  }

  /// The same for branches whose last linear layers, packed ones, read `inputs`, one for each branch: only these are run.
  package func finish(
    _ runner: inout ModelRunner, layer: Int, branches: Range<Int>, from hidden: borrowing Matrix, with inputs: Span<QuantizedRows>
  ) {
    begin(&runner)
    runner.stream.copy(hidden)
    let (block, index) = (layout.blocks[layer], runner.index(of: layer))
    for branch in branches {
      block.branches[branch].finish(
        &runner.stream, with: inputs[branch - branches.lowerBound], saving: &runner.blocks[index].branches[branch], &runner.pass)
    }
    runner.pass.parameters = []
  }

  /// Writes what a branch of a layer reads of the residual stream `hidden: [n, C]` to ``ModelRunner/hidden``: all but its last linear layers
  /// read that. With `preparing` what other rows and layers need of it is computed too, which is keys and values.
  package func read(_ runner: inout ModelRunner, layer: Int, branch: Int, from hidden: borrowing Matrix, preparing: Bool = false) {
    begin(&runner)
    runner.pass.select(.all)
    let (part, index) = (layout.blocks[layer].branches[branch], runner.index(of: layer))
    part.read(hidden, saving: &runner.blocks[index].branches[branch], runner.pass)
    if preparing { part.prepare(&runner.blocks[index].branches[branch], &runner.pass) }
    runner.showRead(index, branch)
    runner.pass.parameters = []
  }

  /// Writes the final norm of the residual stream `hidden: [n, C]`, which is behind the last layer, to ``ModelRunner/hidden``.
  package func normalize(_ runner: inout ModelRunner, from hidden: borrowing Matrix) {
    begin(&runner)
    layout.finalNorm.forward(hidden, saving: &runner.finalMoments, into: &runner.hidden, runner.pass)
    runner.pass.parameters = []
  }

  /// The branches of a layer that can be run one after the other: each one alone, or all where they read the same stream.
  package func steps(of layer: Int) -> [Range<Int>] {
    let block = layout.blocks[layer]
    return block.isParallel ? [block.branches.indices] : block.branches.indices.map { $0..<$0 + 1 }
  }

  /// The linear layers of a branch: those that read what ``read(_:layer:branch:from:preparing:)`` writes, and the last one, which reads what
  /// the part makes of their outputs.
  package func linears(of layer: Int, branch: Int) -> (first: [Parameter], last: Parameter) {
    let linears = layout.blocks[layer].branches[branch].part.any.linears.map { weights.parameters[$0.weight] }
    return (Array(linears.dropLast()), linears[linears.count - 1])
  }

  /// True where the last linear layer of a branch adds to the residual stream, with no norm between.
  package func addsDirectly(layer: Int, branch: Int) -> Bool { layout.blocks[layer].branches[branch].outputNorm == nil }

  /// Gets a pass ready that has been put together.
  private func begin(_ runner: inout ModelRunner) {
    runner.pass.widen()
    let rows = runner.pass.segments.rows
    runner.setRows(rows)
    runner.pass.parameters = weights.parameters
    runner.pass.prepareAngles(ropes, rows: rows)
  }

  /// The rows of the tokens, scaled, and of their positions.
  private func embed(_ pass: borrowing Pass, _ x: inout Matrix) {
    let rows = x.rows
    Embedding.forward(pass.tokens.span.extracting(0..<rows), weight: weights.embedding.weight, into: &x, on: pass.compute)
    if let scale = configuration.embeddingScale { x.multiply(by: scale, on: pass.compute) }
    guard let table = layout.positions else { return }
    Embedding.add(pass.positions.span.extracting(0..<rows), weight: weights.parameters[table].weight, to: &x, on: pass.compute)
  }

  /// Runs some layers on the residual stream of `runner`.
  private func run(_ layers: Range<Int>, _ runner: inout ModelRunner) {
    for layer in layers {
      if layer < runner.recomputed { runner.keepInput(of: layer) }
      runner.pass.narrows = runner.pass.selectedCount != nil && layer == configuration.keyValueLayers - 1
      let block = layout.blocks[layer]
      block.forward(block.branches.indices, &runner.stream, saving: &runner.blocks[runner.index(of: layer)], &runner.pass)
      if runner.pass.narrows {
        runner.pass.narrows = false
        runner.setRows(runner.stream.rows)
        guard runner.rows > 0 else { return }
      }
    }
  }
}

extension Decoder {
  /// The forward pass read upwards: from `d.dHidden` to the gradients of everything that is trained, accumulated in `d`.
  ///
  /// `runner` must have recorded the forward pass of whole sequences. Layers of which it kept the input alone are computed again, with the
  /// same bits.
  package func backward(_ runner: inout ModelRunner, _ d: inout BackwardState) {
    beginBackward(&runner, &d)
    backward(&runner, layers: 0..<configuration.layers, &d)
    endBackward(runner, &d)
  }

  /// The beginning of ``backward(_:_:)``: turns `d.dHidden` into the gradient of the residual stream behind the last layer, `d.dStream`.
  package func beginBackward(_ runner: inout ModelRunner, _ d: inout BackwardState) {
    require(d.dHidden.rows == runner.rows, "Decoder.backward: dHidden \(d.dHidden.shape), \(runner.rows) rows")
    runner.pass.parameters = weights.parameters
    d.dStream.fill(0)
    layout.finalNorm.backward(
      d.dHidden, x: runner.stream, saved: runner.finalMoments, dx: &d.dStream, runner.pass, &d.work.gradients)
    runner.pass.parameters = []
  }

  /// Runs some layers upwards alone: turns ``BackwardState/dStream``, the gradient of the residual stream behind the last of them, into that
  /// before the first one. What else a loss says of the stream at a layer is added to it between two such calls.
  package func backward(_ runner: inout ModelRunner, layers: Range<Int>, _ d: inout BackwardState) {
    require(runner.isRecording, "Decoder.backward: the runner did not record the forward pass")
    require(runner.recording != .newest || layers.count == 1, "Decoder.backward: of \(layers) only the layer that ran last was recorded")
    require(d.dStream.rows == runner.rows, "Decoder.backward: dStream \(d.dStream.shape), \(runner.rows) rows")
    runner.pass.parameters = weights.parameters
    runBackward(layers, &runner, &d)
    runner.pass.parameters = []
  }

  /// The end of ``backward(_:_:)``: the gradients of what embeds the tokens, from ``BackwardState/dStream`` before the first layer.
  package func endBackward(_ runner: borrowing ModelRunner, _ d: inout BackwardState) { embedBackward(runner.pass, &d) }

  private func runBackward(_ layers: Range<Int>, _ runner: inout ModelRunner, _ d: inout BackwardState) {
    for layer in layers.reversed() {
      let index = runner.index(of: layer)
      if layer < runner.recomputed {
        runner.restoreInput(of: layer)
        layout.blocks[layer].recompute(&runner.stream, saving: &runner.blocks[index], &runner.pass)
      }
      layout.blocks[layer].backward(&d.dStream, saved: runner.blocks[index], runner.pass, &d.work)
    }
  }

  private func embedBackward(_ pass: borrowing Pass, _ d: inout BackwardState) {
    let rows = d.dStream.rows
    if let table = layout.positions, let index = d.work.gradients.list.weight(table) {
      Embedding.backward(
        pass.positions.span.extracting(0..<rows), d.dStream, dWeight: &d.work.gradients.values[index], on: pass.compute)
    }
    guard let index = d.work.gradients.list.weight(layout.embedding) else { return }
    if let scale = configuration.embeddingScale { d.dStream.multiply(by: scale, on: pass.compute) }
    Embedding.backward(pass.tokens.span.extracting(0..<rows), d.dStream, dWeight: &d.work.gradients.values[index], on: pass.compute)
  }
}

extension Decoder {
  /// Logits `[n, V]` of the hidden states `hidden: [n, C]`, for which `rounded` has room.
  package func logits(_ hidden: borrowing Matrix, rounded: inout QuantizedRows, into logits: inout Matrix, on compute: Compute) {
    self.logits(hidden, head: weights.output.weight, rounded: &rounded, into: &logits, on: compute)
  }

  /// The same for the tokens whose rows `head: [m, C]` holds: logits `[n, m]`.
  private func logits(
    _ hidden: borrowing Matrix, head: Weight, rounded: inout QuantizedRows, into logits: inout Matrix, on compute: Compute
  ) {
    rounded.round(hidden, for: head, on: compute)
    Linear.forward(hidden, rounded: rounded, weight: head, into: &logits, on: compute)
    if let cap = configuration.logitSoftCap { SoftCap.forward(&logits, cap: cap, on: compute) }
  }

  /// Makes ``ModelRunner/logits`` of some of the last pass's hidden states, at most as many as the runner has room for.
  package func logits(of rows: Range<Int>, in runner: inout ModelRunner) {
    runner.logits.setRows(rows.count)
    runner.gatherLogitRows(rows)
    logits(runner.logitRows, rounded: &runner.pass.rounded, into: &runner.logits, on: runner.compute)
  }

  /// Logits `[1, V]` of one of the last pass's hidden states, in memory of the caller's own.
  package func logits(of row: Int, in runner: inout ModelRunner, into logits: inout Matrix) {
    runner.gatherLogitRows(row..<row + 1)
    self.logits(runner.logitRows, rounded: &runner.pass.rounded, into: &logits, on: runner.compute)
  }

  /// Logits `[n, m]` of all hidden states of the last pass, for the tokens whose rows `head: [m, C]` holds.
  package func logits(head: Weight, in runner: inout ModelRunner, into logits: inout Matrix) {
    logits.setRows(runner.rows)
    self.logits(runner.hidden, head: head, rounded: &runner.pass.rounded, into: &logits, on: runner.compute)
  }

  /// Logits `[n, V]` of all hidden states of the last pass.
  package func logits(in runner: inout ModelRunner, into logits: inout Matrix) {
    self.logits(head: weights.output.weight, in: &runner, into: &logits)
  }
}

extension ModelRunner {
  fileprivate mutating func gatherLogitRows(_ rows: Range<Int>) {
    logitRows.setRows(rows.count)
    for row in rows { logitRows.copyRow(row, of: hidden, to: row - rows.lowerBound) }
  }

  /// Shows in ``hidden`` what a branch has read.
  fileprivate mutating func showRead(_ index: Int, _ branch: Int) { Self.copy(blocks, index, branch, to: &hidden) }

  /// Keeps the stream as it goes into a layer that is recomputed.
  fileprivate mutating func keepInput(of layer: Int) { Self.copy(stream, to: &inputs, at: layer) }

  /// Brings that stream back.
  fileprivate mutating func restoreInput(of layer: Int) { Self.copy(inputs, at: layer, to: &stream) }

  // The owners come apart here: an element of one field would lock the whole struct.

  private static func copy(_ all: borrowing UniqueArray<Block.Activations>, _ index: Int, _ branch: Int, to x: inout Matrix) {
    x.copy(all[index].branches[branch].normed)
  }

  private static func copy(_ x: borrowing Matrix, to all: inout UniqueArray<Matrix>, at index: Int) { all[index].copy(x) }

  private static func copy(_ all: borrowing UniqueArray<Matrix>, at index: Int, to x: inout Matrix) { x.copy(all[index]) }
}
