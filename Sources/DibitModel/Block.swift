internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// A part of a block: it reads rows of the residual stream, `[n, C]`, and makes rows that are added to it.
///
/// A part lists its parameters when it is made, and its activations in one place. Beside what is required here it has, all in one file,
/// - `Activations`, the matrices that its forward pass writes and its backward pass reads;
/// - `prepare`, what other rows need of these rows, and `keepRows`, which keeps of that the rows that go on, where there is such;
/// - `forward` and `backward`, which is the forward pass read upwards, line by line.
///
/// These are no requirements, because a protocol cannot have an associated type whose values cannot be copied.
protocol BlockPart: Sendable {
  /// The part's linear layers.
  var linears: [LinearLayer] { get }
  /// Widths of the working memory that `forward` needs at once.
  var forwardWidths: [Int] { get }
  /// As ``forwardWidths``, of `backward`.
  var backwardWidths: [Int] { get }
}

/// The parts of an adapter's terms that are saved for the backward pass.
struct SavedTerms: Equatable, Sendable {
  /// The adapter's rank; 0 where nothing is saved.
  var rank = 0
  /// True when outputs are kept, from which the gradients of magnitudes follow.
  var savesOutputs = false
  /// True when a backward pass follows.
  var isRecording = false

  init() {}

  /// For a pass that trains an adapter of this shape, or none.
  init(_ adapter: AdapterConfiguration?, isRecording: Bool) {
    rank = adapter?.rank ?? 0
    savesOutputs = rank > 0 && adapter?.decomposesWeights ?? false && isRecording
    self.isRecording = isRecording
  }
}

/// A part between its norms, beside the residual stream: `x += norm(part(norm(x)))`, where a family has such norms.
struct ResidualBranch: Sendable {
  /// The parts that blocks are made of. Another one is a type of its own, a case here and its activations below.
  enum Part: Sendable {
    case attention(AttentionPart)
    case feedForward(FeedForwardPart)

    /// The interface that all of them have in common.
    var any: any BlockPart {
      switch self {
      case .attention(let part): part
      case .feedForward(let part): part
      }
    }
  }

  let inputNorm: NormLayer?
  let part: Part
  let outputNorm: NormLayer?
  /// `C`.
  let columns: Int

  struct Activations: ~Copyable, MatrixSet {
    var input = Matrix(rows: 0, columns: 0)  // [N, C] the residual stream, where a norm reads it
    var inputMoments = Matrix(rows: 0, columns: 0)  // [N, 1 or 2]
    var normed = Matrix(rows: 0, columns: 0)  // [N, C] what the part reads
    var output = Matrix(rows: 0, columns: 0)  // [N, C] what the part makes, where a norm reads it
    var outputMoments = Matrix(rows: 0, columns: 0)  // [N, 1 or 2]
    var attention = AttentionPart.Activations()
    var feedForward = FeedForwardPart.Activations()

    mutating func forEachMatrix(_ shape: (branch: ResidualBranch, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      let (branch, saved) = shape
      body(&input, saved.isRecording && branch.inputNorm != nil ? branch.columns : 0)
      body(&inputMoments, branch.inputNorm?.momentColumns ?? 0)
      body(&normed, branch.columns)
      body(&output, branch.outputNorm != nil ? branch.columns : 0)
      body(&outputMoments, branch.outputNorm?.momentColumns ?? 0)
      switch branch.part {
      case .attention(let part): attention.forEachMatrix((part, saved), body)
      case .feedForward(let part): feedForward.forEachMatrix((part, saved), body)
      }
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
    switch part {
    case .attention(let part): part.prepare(a.normed, saving: &a.attention, &pass)
    case .feedForward: break
    }
  }

  /// Keeps the rows that go on between ``enter`` and ``leave``.
  func keepRows(_ selected: borrowing Buffer<Int32>, count: Int, of a: inout Activations) {
    a.normed.keepRows(selected, count: count)
    switch part {
    case .attention(let part): part.keepRows(selected, count: count, of: &a.attention)
    case .feedForward: break
    }
  }

  /// Adds to the residual stream `x: [n, C]`.
  func leave(_ x: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    var y = pass.scratch.take(rows: x.rows, columns: columns)
    if let outputNorm {
      forward(a.normed, into: &a.output, &a.attention, &a.feedForward, &pass)
      outputNorm.forward(a.output, saving: &a.outputMoments, into: &y, pass)
    } else {
      forward(a.normed, into: &y, &a.attention, &a.feedForward, &pass)
    }
    if pass.needsOutput { x.add(y, on: pass.compute) }
    pass.scratch.give(y)
  }

  private func forward(
    _ x: borrowing Matrix, into y: inout Matrix, _ attention: inout AttentionPart.Activations,
    _ feedForward: inout FeedForwardPart.Activations, _ pass: inout Pass
  ) {
    switch part {
    case .attention(let part): part.forward(x, into: &y, saving: &attention, &pass)
    case .feedForward(let part): part.forward(x, into: &y, saving: &feedForward, &pass)
    }
  }

  /// ``leave`` upwards: overwrites `dNormed`, the gradient of what the part reads, from that of the residual stream behind it.
  func leaveBackward(
    _ dx: borrowing Matrix, saved a: borrowing Activations, into dNormed: inout Matrix, _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    guard let outputNorm else { return backward(dx, saved: a, into: &dNormed, pass, &d) }
    var dOutput = d.scratch.take(rows: dx.rows, columns: columns)
    dOutput.fill(0)
    outputNorm.backward(dx, x: a.output, saved: a.outputMoments, dx: &dOutput, pass, &d.gradients)
    backward(dOutput, saved: a, into: &dNormed, pass, &d)
    d.scratch.give(dOutput)
  }

  private func backward(
    _ dy: borrowing Matrix, saved a: borrowing Activations, into dNormed: inout Matrix, _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    switch part {
    case .attention(let part): part.backward(dy, x: a.normed, saved: a.attention, into: &dNormed, pass, &d)
    case .feedForward(let part): part.backward(dy, x: a.normed, saved: a.feedForward, into: &dNormed, pass, &d)
    }
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
