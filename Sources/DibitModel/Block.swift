internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// A part between its norms, beside the residual stream: `x += norm(part(norm(x)))`, where a family has such norms.
struct ResidualBranch: Sendable {
  let inputNorm: NormLayer?
  let part: AnyBlockPart
  let outputNorm: NormLayer?
  /// `C`.
  let columns: Int

  struct Activations: ~Copyable, MatrixSet {
    var input = Matrix(rows: 0, columns: 0)  // [N, C] the residual stream, where a norm reads it
    var inputMoments = Matrix(rows: 0, columns: 0)  // [N, 1 or 2]
    var normed = Matrix(rows: 0, columns: 0)  // [N, C] what the part reads
    var output = Matrix(rows: 0, columns: 0)  // [N, C] what the part makes, where a norm reads it
    var outputMoments = Matrix(rows: 0, columns: 0)  // [N, 1 or 2]
    var part = AnyBlockPart.Activations()

    mutating func forEachMatrix(_ shape: (branch: ResidualBranch, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      let (branch, saved) = shape
      body(&input, saved.isRecording && branch.inputNorm != nil ? branch.columns : 0)
      body(&inputMoments, branch.inputNorm?.momentColumns ?? 0)
      body(&normed, branch.columns)
      body(&output, branch.outputNorm != nil ? branch.columns : 0)
      body(&outputMoments, branch.outputNorm?.momentColumns ?? 0)
      part.forEachMatrix((branch.part, saved), body)
    }
  }

  /// Reads the residual stream `x: [n, C]`, and computes what other rows need of it.
  func enter(_ x: borrowing Matrix, saving a: inout Activations, _ pass: inout Pass) {
    read(x, saving: &a, pass)
    prepare(&a, &pass)
  }

  /// Reads the residual stream `x: [n, C]`.
  func read(_ x: borrowing Matrix, saving a: inout Activations, _ pass: borrowing Pass) {
    if let inputNorm {
      if pass.saved.isRecording { a.input.copy(x) }
      inputNorm.forward(x, saving: &a.inputMoments, into: &a.normed, pass)
    } else {
      a.normed.copy(x)
    }
  }

  /// Computes what other rows need of what was read.
  func prepare(_ a: inout Activations, _ pass: inout Pass) {
    part.prepare(a.normed, saving: &a.part, &pass)
  }

  /// Keeps the rows that go on between ``enter`` and ``leave``.
  func keepRows(_ selected: borrowing Buffer<Int32>, count: Int, of a: inout Activations) {
    a.normed.keepRows(selected, count: count)
    part.keepRows(selected, count: count, of: &a.part)
  }

  /// Adds to the residual stream `x: [n, C]`.
  func leave(_ x: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    var y = pass.scratch.take(rows: x.rows, columns: columns)
    if let outputNorm {
      part.forward(a.normed, into: &a.output, saving: &a.part, &pass)
      outputNorm.forward(a.output, saving: &a.outputMoments, into: &y, pass)
    } else {
      part.forward(a.normed, into: &y, saving: &a.part, &pass)
    }
    if pass.needsOutput { x.add(y, on: pass.compute) }
    pass.scratch.give(y)
  }

  /// ``leave`` with the inputs of the part's last linear layer, see ``LinearLayer/forward(_:into:_:)``.
  func finish(_ x: inout Matrix, with inputs: borrowing QuantizedRows, saving a: inout Activations, _ pass: inout Pass) {
    let linears = part.any.linears
    let last = linears[linears.count - 1]
    var y = pass.scratch.take(rows: x.rows, columns: columns)
    if let outputNorm {
      last.forward(inputs, into: &a.output, pass)
      outputNorm.forward(a.output, saving: &a.outputMoments, into: &y, pass)
    } else {
      last.forward(inputs, into: &y, pass)
    }
    x.add(y, on: pass.compute)
    pass.scratch.give(y)
  }

  /// ``leave`` upwards: overwrites `dNormed`, the gradient of what the part reads, from that of the residual stream behind it.
  func leaveBackward(
    _ dx: borrowing Matrix, saved a: borrowing Activations, into dNormed: inout Matrix, _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    guard let outputNorm else { return part.backward(dx, x: a.normed, saved: a.part, into: &dNormed, pass, &d) }
    var dOutput = d.scratch.take(rows: dx.rows, columns: columns)
    dOutput.fill(0)
    outputNorm.backward(dx, x: a.output, saved: a.outputMoments, dx: &dOutput, pass, &d.gradients)
    part.backward(dOutput, x: a.normed, saved: a.part, into: &dNormed, pass, &d)
    d.scratch.give(dOutput)
  }

  /// ``enter`` upwards: adds to the gradient of the residual stream, `dx`.
  func enterBackward(
    _ dNormed: borrowing Matrix, saved a: borrowing Activations, dx: inout Matrix, _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    if let inputNorm {
      inputNorm.backward(dNormed, x: a.input, saved: a.inputMoments, dx: &dx, pass, &d.gradients)
    } else {
      dx.add(dNormed, on: pass.compute)
    }
  }
}

/// A block of a decoder: branches that read the residual stream one after the other, or in parallel.
struct Block: Sendable {
  let layer: Int
  /// True when all branches read the same residual stream, and are added to it together.
  let isParallel: Bool
  let branches: [ResidualBranch]
  /// `C`.
  let columns: Int

  /// The block of a layer; its parameters are added to `list`, norms first.
  init(_ c: ModelConfiguration, layer: Int, _ list: inout ParameterList) {
    self.layer = layer
    isParallel = c.isParallel
    columns = c.hiddenSize
    let (before, after) = (c.normPlacement != .after, c.normPlacement != .before)
    let norms = [(NormKind.attentionInput, NormKind.attentionOutput), (.feedForwardInput, .feedForwardOutput)].map { input, output in
      (
        input: list.norm(input, layer: layer, columns: c.hiddenSize, if: before),
        output: list.norm(output, layer: layer, columns: c.hiddenSize, if: after)
      )
    }
    let attention = AttentionPart(c, layer: layer, &list)
    let feedForward = FeedForwardPart(c, layer: layer, &list)
    branches = zip(norms, [.attention(attention), .feedForward(feedForward)]).map { norm, part in
      ResidualBranch(inputNorm: norm.input, part: part, outputNorm: norm.output, columns: c.hiddenSize)
    }
  }

  /// The linear layers of all branches.
  var linears: [LinearLayer] { branches.flatMap { $0.part.any.linears } }

  /// The activations of all branches.
  struct Activations: ~Copyable, MatrixSet {
    var branches = UniqueArray<ResidualBranch.Activations>()

    init() { for _ in 0..<2 { branches.append(ResidualBranch.Activations()) } }

    mutating func forEachMatrix(_ shape: (block: Block, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      for i in shape.block.branches.indices { branches[i].forEachMatrix((shape.block.branches[i], shape.saved), body) }
    }
  }

  /// Turns the residual stream `x: [n, C]` before some branches into that behind them.
  func forward(_ which: Range<Int>, _ x: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    for i in which {
      branches[i].enter(x, saving: &a.branches[i], &pass)
      if pass.narrows, i == 0 {
        let count = pass.narrow()
        x.keepRows(pass.selected, count: count)
        branches[i].keepRows(pass.selected, count: count, of: &a.branches[i])
        a.setRows(count, for: (self, pass.saved))
        guard count > 0 else { return }
      }
      if !isParallel { branches[i].leave(&x, saving: &a.branches[i], &pass) }
    }
    if isParallel { for i in which { branches[i].leave(&x, saving: &a.branches[i], &pass) } }
  }

  /// Writes once more what ``forward`` saved, from `x`, which is not needed afterwards.
  func recompute(_ x: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    for i in branches.indices {
      branches[i].enter(x, saving: &a.branches[i], &pass)
      if !isParallel { leaveAgain(i, &x, saving: &a, &pass) }
    }
    if isParallel { for i in branches.indices { leaveAgain(i, &x, saving: &a, &pass) } }
  }

  private func leaveAgain(_ i: Int, _ x: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    // The way back reads what the last projection gives only where a norm or a magnitude follows.
    pass.needsOutput = i < branches.count - 1 || branches[i].outputNorm != nil
    branches[i].leave(&x, saving: &a.branches[i], &pass)
    pass.needsOutput = true
  }

  /// Turns `dx: [n, C]` from the gradient of the residual stream behind the block into that before it.
  func backward(_ dx: inout Matrix, saved a: borrowing Activations, _ pass: borrowing Pass, _ d: inout BackwardWork) {
    var dNormed = d.scratch.take(rows: dx.rows, columns: columns)
    if isParallel {
      // All branches were added to the same sum: each sees the gradient before any other's share.
      var dOutput = d.scratch.take(rows: dx.rows, columns: columns)
      dOutput.copy(dx)
      for i in branches.indices.reversed() {
        branches[i].leaveBackward(dOutput, saved: a.branches[i], into: &dNormed, pass, &d)
        branches[i].enterBackward(dNormed, saved: a.branches[i], dx: &dx, pass, &d)
      }
      d.scratch.give(dOutput)
    } else {
      for i in branches.indices.reversed() {
        branches[i].leaveBackward(dx, saved: a.branches[i], into: &dNormed, pass, &d)
        branches[i].enterBackward(dNormed, saved: a.branches[i], dx: &dx, pass, &d)
      }
    }
    d.scratch.give(dNormed)
  }

  /// Widths of the working memory that the passes need at once, with an adapter of which `saved` says what is kept.
  func widths(_ saved: SavedTerms, dropsInputs: Bool, backward: Bool) -> [[Int]] {
    branches.map { branch in
      let part = branch.part.any
      var widths = backward ? part.backwardWidths + [columns] : part.forwardWidths + [columns]
      if backward, isParallel { widths.append(columns) }
      if backward, branch.outputNorm != nil { widths.append(columns) }
      if backward, saved.savesOutputs { widths.append(part.linears.map(\.rows).max() ?? 0) }
      if dropsInputs { widths.append(part.linears.map(\.columns).max() ?? 0) }
      return widths
    }
  }
}
