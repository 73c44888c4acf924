internal import BasicContainers
internal import DibitKernels
package import DibitTensor

/// Which rows' final hidden states a pass is asked for: the others stop at the last layer that has keys and values of its own.
package enum HiddenRows: Equatable, Sendable {
  case all
  /// The last row of each segment.
  case last
  /// These rows, in ascending order; with none, a pass does nothing but fill the cache.
  case rows([Int])
}

/// What a forward pass keeps for a backward pass.
package enum Recording: Equatable, Sendable {
  /// Nothing.
  case none
  /// Every layer's activations.
  case all
  /// The activations of so many last layers; of the others what goes in, from which the backward pass computes the rest again.
  case last(Int)

  /// Layers of `layers` whose activations are computed again.
  func recomputed(of layers: Int) -> Int {
    switch self {
    case .none, .all: 0
    case .last(let kept): max(0, layers - kept)
    }
  }
}

/// Everything a forward pass writes apart from the cache; allocated once, used for batches of up to `capacity` rows.
@safe
package struct DecoderState: ~Copyable, Sendable {
  /// The most rows of a batch.
  package let capacity: Int
  /// What is kept for a backward pass.
  package let recording: Recording
  /// The first layers, whose activations the backward pass computes again.
  let recomputed: Int
  var tokens: Buffer<Int32>
  var positions: Buffer<Int32>
  var rows = 0
  var angles: UniqueArray<RoPE.Angles>  // [N, P] of each rotary embedding
  var selected: Buffer<Int32>  // [N] rows that go on where the others stop
  var narrowed: Segments  // what those rows attend to
  var stream: Matrix  // [N, C] the residual stream
  var work: Work
  var finalMoments: Matrix  // [N, 1 or 2]
  /// The final normed hidden states `[N, C]` of the last forward pass, of the rows that it was asked for.
  package internal(set) var hidden: Matrix
  var inputs: UniqueArray<Matrix>  // [N, C] what goes into each recomputed layer
  var blocks: UniqueArray<BlockActivations>

  /// What a layer writes and nobody reads after it.
  struct Work: ~Copyable, Sendable {
    var projected: Matrix  // [N, C] what a block adds to the stream
    var queryKeyValue: Matrix  // [N, H D + 2 K D] of a fused projection, before it is split
    var gateUp: Matrix  // [N, 2 F] likewise
    var rounded: QuantizedRows  // what a packed weight is multiplied with

    init(_ c: ModelConfiguration, rows N: Int) {
      projected = Matrix(rows: N, columns: c.hiddenSize)
      queryKeyValue = Matrix(rows: N, columns: c.queryColumns + 2 * c.keyColumns, if: c.fusesQueryKeyValue)
      gateUp = Matrix(rows: N, columns: 2 * c.feedForwardSize, if: c.fusesGateUp)
      rounded = QuantizedRows(capacity: N, columns: max(c.hiddenSize, c.queryColumns, c.feedForwardSize))
    }

    var byteCount: Int { projected.byteCount + queryKeyValue.byteCount + gateUp.byteCount + rounded.byteCount }

    mutating func setRows(_ n: Int) {
      projected.use(n)
      queryKeyValue.use(n)
      gateUp.use(n)
    }
  }

  /// State for batches of `capacity` rows with adapters of up to `rank`; `savesOutputs` where magnitudes of an adapter are trained.
  package init(_ configuration: ModelConfiguration, capacity: Int, rank: Int, recording: Recording, savesOutputs: Bool = false) {
    self.capacity = capacity
    self.recording = recording
    recomputed = recording.recomputed(of: configuration.layers)
    let isRecording = recording != .none
    tokens = Buffer(count: capacity)
    positions = Buffer(count: capacity)
    angles = UniqueArray()
    for rope in configuration.ropes { angles.append(RoPE.Angles(capacity: capacity, pairs: rope.pairs)) }
    selected = Buffer(count: isRecording ? 0 : capacity)
    narrowed = Segments(capacity: isRecording ? 0 : capacity)
    stream = Matrix(rows: capacity, columns: configuration.hiddenSize)
    work = Work(configuration, rows: capacity)
    finalMoments = Matrix(rows: capacity, columns: configuration.momentColumns)
    hidden = Matrix(rows: capacity, columns: configuration.hiddenSize)
    inputs = UniqueArray()
    for _ in 0..<recomputed { inputs.append(Matrix(rows: capacity, columns: configuration.hiddenSize)) }
    blocks = UniqueArray()
    let kept = isRecording ? configuration.layers - recomputed : 0
    for _ in 0..<kept + (isRecording && recomputed == 0 ? 0 : 1) {
      blocks.append(BlockActivations(configuration, rows: capacity, rank: rank, savesOutputs: savesOutputs && isRecording))
    }
  }

  /// Whether a backward pass can follow.
  package var isRecording: Bool { recording != .none }

  /// Bytes of the allocations.
  package var byteCount: Int {
    var total = stream.byteCount + hidden.byteCount + finalMoments.byteCount + work.byteCount
    for i in 0..<angles.count { total += angles[i].byteCount }
    for i in 0..<inputs.count { total += inputs[i].byteCount }
    for i in 0..<blocks.count { total += blocks[i].byteCount }
    return total
  }

  /// Bytes of one layer's activations, and what keeping them costs more than keeping its input.
  package static func layerByteCount(
    _ configuration: ModelConfiguration, capacity: Int, rank: Int, savesOutputs: Bool = false
  ) -> (block: Int, kept: Int) {
    let block = BlockActivations(configuration, rows: capacity, rank: rank, savesOutputs: savesOutputs).byteCount
    return (block, block - Matrix(rows: capacity, columns: configuration.hiddenSize).byteCount)
  }

  /// Which of ``blocks`` a layer uses: the first one for all that keep nothing, for the others one each.
  func place(of layer: Int) -> Int {
    if !isRecording || layer < recomputed { return 0 }
    return layer - recomputed + (recomputed > 0 ? 1 : 0)
  }

  /// Keeps the stream as it goes into a layer that is recomputed.
  mutating func keepInput(of layer: Int) { Self.copy(stream, to: &inputs, at: layer) }

  /// Brings that stream back.
  mutating func restoreInput(of layer: Int) { Self.copy(inputs, at: layer, to: &stream) }

  // The owners come apart here: an element of one field would lock the whole struct.

  private static func copy(_ x: borrowing Matrix, to all: inout UniqueArray<Matrix>, at index: Int) { all[index].copy(x) }

  private static func copy(_ all: borrowing UniqueArray<Matrix>, at index: Int, to x: inout Matrix) { x.copy(all[index]) }

  /// Fills ``selected``; returns how many rows it holds, or nil when all go on.
  mutating func select(_ wanted: HiddenRows, of segments: borrowing Segments) -> Int? {
    var count = 0
    switch wanted {
    case .all: return nil
    case .last:
      for index in 0..<segments.count {
        guard let row = segments.lastRow(of: index) else { continue }
        selected[count] = Int32(row)
        count += 1
      }
    case .rows(let rows):
      require(rows.count <= segments.rows, "Decoder: \(rows.count) of \(segments.rows) rows wanted")
      for row in rows {
        selected[count] = Int32(row)
        count += 1
      }
    }
    if count == segments.rows { return nil }
    narrowed.select(selected, count: count, of: segments)
    return count
  }

  /// Moves what the rest of a block reads of the first `count` rows in ``selected`` to the front; from now on there are no others.
  mutating func keepSelected(_ count: Int) {
    stream.keepRows(selected, count: count)
    blocks[0].normed.keepRows(selected, count: count)
    // A fused projection has computed queries of all rows.
    if blocks[0].rawQuery.capacity > 0 { blocks[0].rawQuery.keepRows(selected, count: count) }
    blocks[0].query.keepRows(selected, count: count)
    for i in 0..<angles.count { angles[i].keepRows(selected, count: count) }
    setRows(count)
  }

  mutating func setRows(_ n: Int) {
    rows = n
    stream.setRows(n)
    work.setRows(n)
    finalMoments.setRows(n)
    hidden.setRows(n)
    for i in 0..<inputs.count { inputs[i].setRows(n) }
    for i in 0..<blocks.count { blocks[i].setRows(n) }
  }
}
