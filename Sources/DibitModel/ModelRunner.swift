internal import BasicContainers
package import DibitKernels
package import DibitTensor

/// The rows whose final hidden states a pass is asked for: the others stop at the last layer that has keys and values of its own.
package enum HiddenRows: Equatable, Sendable {
  case all
  /// The last row of each segment.
  case last
  /// These rows, in ascending order; with none, a pass does nothing but fill the cache.
  case rows([Int])
}

/// The activations that a forward pass keeps for a backward pass.
package enum Recording: Equatable, Sendable {
  /// Nothing.
  case none
  /// Every layer's activations.
  case all
  /// The activations of so many last layers; of the others what goes in, from which the backward pass computes the rest again.
  case last(Int)
  /// Those of the layer that ran last: for passes of one layer alone.
  case newest

  /// Layers of `layers` whose activations are computed again.
  func recomputed(of layers: Int) -> Int {
    switch self {
    case .none, .all, .newest: 0
    case .last(let kept): max(0, layers - kept)
    }
  }

  /// The number of first layers that write their activations to the same memory.
  func sharing(of layers: Int) -> Int {
    switch self {
    case .none, .newest: layers
    case .all, .last: recomputed(of: layers)
    }
  }
}

/// Runs passes of a decoder: puts together what goes through it at a time, and holds all that passes write. Sessions, scoring, measuring and
/// training use it alike.
///
/// A pass is ``removeAll()``, ``append(_:start:past:prefix:adapter:)`` for each text in it, and ``Decoder/forward(_:wanted:)``. Everything is
/// allocated when the runner is made.
@safe
package struct ModelRunner: ~Copyable, Sendable {
  /// The most rows of a pass.
  package let capacity: Int
  /// The activations that are kept for a backward pass.
  package let recording: Recording
  /// Rows of the pass, or of those that it kept to its end.
  package private(set) var rows = 0
  /// The residual stream `[n, C]`: what the next layers read.
  package internal(set) var stream: Matrix
  /// The final normed hidden states `[n, C]` of the last pass, of the rows that it was asked for.
  package internal(set) var hidden: Matrix
  /// Logits `[r, V]` of the rows that ``Decoder/logits(of:in:)`` was asked for last.
  package var logits: Matrix
  /// The first layers, whose activations the backward pass computes again.
  let recomputed: Int
  var pass: Pass
  var finalMoments: Matrix  // [N, 1 or 2]
  var inputs: UniqueArray<Matrix>  // [N, C] what goes into each recomputed layer
  /// Activations: one set for all layers that keep none and need the same widths, then one for each layer that keeps its own.
  var blocks: UniqueArray<Block.Activations>
  var logitRows: Matrix  // [r, C] hidden states whose logits are made
  private let shapes: [Block]  // of `blocks`
  private let indices: [Int]  // into `blocks`, by layer

  /// The sizes that a runner has room for.
  package struct Limits: Sendable {
    /// Rows of a pass.
    package var rows: Int
    /// Segments of a pass.
    package var segments: Int
    /// Rows of the cache; nil for as many as a pass has.
    package var cacheRows: Int?
    /// Rows of logits that exist at a time.
    package var logitRows = 0

    /// Room for `rows` rows in `segments` segments.
    package init(rows: Int, segments: Int, cacheRows: Int? = nil, logitRows: Int = 0) {
      (self.rows, self.segments, self.cacheRows, self.logitRows) = (rows, segments, cacheRows, logitRows)
    }
  }

  /// A runner of passes that train nothing; keys and values are kept in `precision`.
  package init(_ decoder: borrowing Decoder, _ limits: Limits, precision: KeyValuePrecision, on compute: Compute) {
    self.init(
      decoder.configuration, decoder.layout, limits,
      KeyValueCache(
        decoder.configuration, weights: decoder.weights, capacity: limits.cacheRows ?? limits.rows, forTraining: false, precision: precision
      ),
      .none(for: decoder.weights), recording: .none, SavedTerms(), on: compute)
  }

  /// A runner of passes that train an adapter like `adapter`, or parameters, or whose results are compared with those that do.
  package init(
    _ decoder: borrowing Decoder, _ limits: Limits, adapter: AdapterConfiguration?, recording: Recording, on compute: Compute
  ) {
    self.init(
      decoder.configuration, decoder.layout, limits,
      KeyValueCache(
        decoder.configuration, weights: decoder.weights, capacity: limits.cacheRows ?? limits.rows, forTraining: true),
      .none(for: decoder.weights), recording: recording, SavedTerms(adapter, isRecording: recording != .none),
      dropsInputs: adapter?.dropout ?? 0 > 0, on: compute)
  }

  private init(
    _ configuration: ModelConfiguration, _ layout: DecoderLayout, _ limits: Limits, _ cache: consuming KeyValueCache,
    _ adapter: consuming Adapter, recording: Recording, _ saved: SavedTerms, dropsInputs: Bool = false, on compute: Compute
  ) {
    let (rows, channels) = (limits.rows, configuration.hiddenSize)
    capacity = rows
    self.recording = recording
    recomputed = recording.recomputed(of: configuration.layers)
    var angles = UniqueArray<RoPE.Angles>()
    for rope in configuration.ropes { angles.append(RoPE.Angles(capacity: rows, pairs: rope.pairs)) }
    let linears = layout.blocks.flatMap(\.linears)
    pass = Pass(
      compute, rows: rows, segments: limits.segments, angles: angles, cache: cache, adapter: adapter,
      recovery: RecoveryWork(layout, rows: rows), saved: saved,
      columns: max(channels, linears.map(\.columns).max() ?? 0),
      scratch: MatrixPool(
        rows: rows,
        widths: MatrixPool.widths(layout.blocks.flatMap { $0.widths(saved, dropsInputs: dropsInputs, backward: false) })))
    stream = Matrix(rows: rows, columns: channels)
    hidden = Matrix(rows: rows, columns: channels)
    finalMoments = Matrix(rows: rows, columns: layout.finalNorm.momentColumns)
    inputs = UniqueArray()
    for _ in 0..<recomputed { inputs.append(Matrix(rows: rows, columns: channels)) }
    logitRows = Matrix(rows: limits.logitRows, columns: channels)
    logits = Matrix(rows: limits.logitRows, columns: limits.logitRows > 0 ? configuration.vocabularySize : 0)
    (shapes, indices) = Self.shapes(layout, sharing: recording.sharing(of: configuration.layers), saved)
    blocks = UniqueArray()
    for shape in shapes { blocks.append(Block.Activations(rows: rows, for: (shape, saved))) }
  }

  /// The activations that layers use: the first `shared` layers have one set for all that need the same widths, the others one each.
  private static func shapes(_ layout: DecoderLayout, sharing shared: Int, _ saved: SavedTerms) -> (shapes: [Block], indices: [Int]) {
    var (shapes, widths, indices): ([Block], [[Int]], [Int]) = ([], [], [])
    for block in layout.blocks.prefix(shared) {
      let needed = Block.Activations.widths(for: (block, saved))
      if let index = widths.firstIndex(of: needed) {
        indices.append(index)
      } else {
        indices.append(shapes.count)
        shapes.append(block)
        widths.append(needed)
      }
    }
    for block in layout.blocks.dropFirst(shared) {
      indices.append(shapes.count)
      shapes.append(block)
    }
    return (shapes, indices)
  }

  /// True when a backward pass can follow.
  package var isRecording: Bool { recording != .none }

  /// The execution context of passes.
  package var compute: Compute { pass.compute }

  /// Returns the index in ``blocks`` of the activations that a layer uses.
  func index(of layer: Int) -> Int { indices[layer] }

  mutating func setRows(_ n: Int) {
    rows = n
    stream.setRows(n)
    finalMoments.setRows(n)
    hidden.setRows(n)
    for i in 0..<inputs.count { inputs[i].setRows(n) }
    let saved = pass.saved
    for i in 0..<blocks.count { blocks[i].setRows(n, for: (shapes[i], saved)) }
  }
}

extension ModelRunner {
  /// Forgets the texts of the last pass; keys and values stay.
  package mutating func removeAll() {
    pass.widen()
    pass.segments.removeAll()
    pass.adapterRuns.removeAll(keepingCapacity: true)
  }

  /// Rows of the pass that is being put together.
  package var appendedRows: Int { pass.segments.rows }

  /// Adds a segment to the pass: the next `tokens` of a text, under an adapter or none.
  ///
  /// They see the cache's rows `prefix`, the `past` rows from `start` on, and each other up to themselves; their own keys and values go
  /// behind those. Token ids must lie in the vocabulary and positions in the context: callers check data before.
  package mutating func append(
    _ tokens: Span<Int32>, start: Int, past: Int = 0, prefix: Range<Int> = 0..<0, adapter: LoadedAdapter? = nil
  ) {
    let first = pass.segments.rows
    require(first + tokens.count <= capacity, "ModelRunner: \(first) and \(tokens.count) rows, capacity \(capacity)")
    pass.segments.append(rows: tokens.count, start: start, past: past, prefix: prefix)
    for i in tokens.indices { pass.tokens[first + i] = tokens[i] }
    for i in 0..<tokens.count { pass.positions[first + i] = Int32(prefix.count + past + i) }
    guard let adapter, adapter.rank > 0, !tokens.isEmpty else { return }
    pass.append(AdapterRun(rows: first..<first + tokens.count, adapter: adapter))
  }

  /// Copies rows of the cache to others, which they do not overlap: what many texts begin with is computed once.
  package mutating func copyCacheRows(_ rows: Range<Int>, to start: Int) { pass.cache.copyRows(rows, to: start) }

  /// The largest key and value magnitude of a layer in the last pass, to choose static scales from.
  package func largestMagnitudes(layer: Int) -> (key: Float, value: Float) {
    pass.cache.largestMagnitudes(layer: layer, rows: pass.segments.cacheRows)
  }

  /// Is told what goes into and comes out of every linear layer from now on; nil for nobody.
  package mutating func observe(with observer: (any LinearObserver)?) { pass.observer = observer }

  /// Puts an adapter that is trained in the place of the one there, and the other way round: passes run under it while it is here.
  package mutating func exchange(_ adapter: inout Adapter) { swap(&pass.adapter, &adapter) }

  /// Sets the position of the next passes in training, for dropout; nil outside of it.
  package mutating func setDropout(_ step: DropoutStep?) { pass.dropout = step }

  /// Bytes of the allocations but for keys and values.
  package var byteCount: Int {
    var total = stream.byteCount + hidden.byteCount + finalMoments.byteCount + pass.byteCount + logits.byteCount + logitRows.byteCount
    for i in 0..<inputs.count { total += inputs[i].byteCount }
    for shape in shapes { total += Self.byteCount(of: shape, rows: capacity, pass.saved) }
    return total
  }

  /// Bytes of the keys and values.
  package var cacheByteCount: Int { pass.cache.byteCount }

  private static func byteCount(of shape: Block, rows: Int, _ saved: SavedTerms) -> Int {
    Block.Activations.widths(for: (shape, saved)).reduce(0, +) * rows * MemoryLayout<Float>.stride
  }

  /// Bytes of the activations of a runner like this one that keeps those of the last `kept` layers, with the inputs of the others.
  package func activationByteCount(_ decoder: borrowing Decoder, keeping kept: Int) -> Int {
    let layers = decoder.configuration.layers
    let (shapes, _) = Self.shapes(decoder.layout, sharing: layers - kept, pass.saved)
    let inputs = (layers - kept) * capacity * decoder.configuration.hiddenSize * MemoryLayout<Float>.stride
    return shapes.reduce(inputs) { $0 + Self.byteCount(of: $1, rows: capacity, pass.saved) }
  }
}
