internal import BasicContainers
internal import DibitKernels
package import DibitTensor

/// Sees what goes into and comes out of every linear layer of a pass: the statistics that calibration needs.
package protocol LinearObserver: AnyObject, Sendable {
  /// `input: [n, in]` and `output: [n, out]` of the layer of `kind` in block `layer`, with its bias and the adapter's term.
  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix)

  /// The same `input: [n, in]` on the way back, and the gradient `[n, out]` of the loss by what came out.
  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, gradient: borrowing Matrix)
}

extension LinearObserver {
  /// Does nothing.
  package func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {}
  /// Does nothing.
  package func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, gradient: borrowing Matrix) {}
}

/// The position of a training step for its dropout: masks follow from the seed, the step, the layer and the row of the step, so that they are
/// the same for any number of threads and after a restart.
package struct DropoutStep: Equatable, Sendable {
  /// The seed of the run.
  package var seed: UInt64
  /// The step, counted from 1.
  package var step: Int
  /// The first row of the pass among all rows of the step.
  package var firstRow: Int

  /// The pass that begins with row `firstRow` of `step`.
  package init(seed: UInt64, step: Int, firstRow: Int) { (self.seed, self.step, self.firstRow) = (seed, step, firstRow) }

  /// The mask of what goes into `A` of a linear layer.
  func mask(_ layer: Int, _ kind: LinearKind, rate: Float) -> DropoutMask {
    var generator = SplitMix64(seed: seed, purpose: "adapter.dropout")
    // No list of the three: it would be allocated in every pass.
    func mix(_ part: Int) { generator.state = generator.next() &+ UInt64(part) }
    mix(step)
    mix(layer)
    mix(kind.rawValue)
    return DropoutMask(key: generator.next(), rate: rate, firstRow: firstRow)
  }
}

/// The state that the parts of a decoder share in a pass: batch, keys and values, parameters, adapter and working memory.
@safe
struct Pass: ~Copyable, Sendable {
  let compute: Compute
  /// The tokens, the position of each and the sequences that they belong to.
  var tokens: Buffer<Int32>
  var positions: Buffer<Int32>
  var segments: Segments
  /// The rows that go on where the pass narrows, how many they are, and what they attend to; nil where all go on.
  var selected: Buffer<Int32>
  var selectedCount: Int?
  private var narrowed: Segments
  private var isNarrowed = false
  /// Of each rotary embedding, `[N, P]`.
  var angles: UniqueArray<RoPE.Angles>
  var cache: KeyValueCache
  /// Set while a pass runs: a copy that stayed would make every write to the weights copy them.
  var parameters: [Parameter] = []
  /// The adapter in training, or one without any layers.
  var adapter: Adapter
  /// The adapters of a pass that trains none, for neighbouring rows.
  var adapterRuns: [AdapterRun] = []
  /// Nil outside of training steps.
  var dropout: DropoutStep?
  var observer: (any LinearObserver)?
  /// The parts of the adapter's terms that are kept, and whether a backward pass follows.
  let saved: SavedTerms
  /// True when only some rows go on behind the keys and values of the layer that runs.
  var narrows = false
  /// True when someone reads what the part that runs adds to the residual stream.
  var needsOutput = true
  /// The rounded activations that packed weights are multiplied with.
  var rounded: QuantizedRows
  /// `x Aᵀ` of rows under an adapter that is not trained.
  var projected: Matrix
  /// `x` and `x Aᵀ` of such rows in BF16; without memory where floats are not multiplied in that.
  var adapted = BFloatWork(capacity: 0, columns: 0, rank: 0)
  /// The terms that a recovery adds to linear layers.
  var recovery: RecoveryWork
  var scratch: MatrixPool
  /// The most columns of a linear layer.
  private let columns: Int

  init(
    _ compute: Compute, rows: Int, segments: Int, angles: consuming UniqueArray<RoPE.Angles>, cache: consuming KeyValueCache,
    adapter: consuming Adapter, recovery: consuming RecoveryWork, saved: SavedTerms, columns: Int, scratch: consuming MatrixPool
  ) {
    self.compute = compute
    self.angles = angles
    self.cache = cache
    self.adapter = adapter
    self.recovery = recovery
    self.scratch = scratch
    self.saved = saved
    self.columns = columns
    tokens = Buffer(count: rows)
    positions = Buffer(count: rows)
    self.segments = Segments(capacity: segments)
    selected = Buffer(count: saved.isRecording ? 0 : rows)
    narrowed = Segments(capacity: saved.isRecording ? 0 : rows)
    rounded = QuantizedRows(capacity: rows, columns: columns)
    projected = Matrix(rows: 0, columns: 0)
  }

  /// Bytes of the allocations but for keys and values.
  var byteCount: Int {
    var total = rounded.byteCount + projected.byteCount + adapted.byteCount + recovery.byteCount + scratch.byteCount
    for i in 0..<angles.count { total += angles[i].byteCount }
    return total
  }

  /// Adds rows under an adapter, for which there is room from then on.
  mutating func append(_ run: AdapterRun) {
    let rank = run.adapter.rank
    if projected.elementCapacity < tokens.count * rank {
      projected = Matrix(rows: tokens.count, columns: rank)
      if usesBFloat { adapted = BFloatWork(capacity: tokens.count, columns: columns, rank: rank) }
    }
    if let last = adapterRuns.last, last.adapter === run.adapter, last.rows.upperBound == run.rows.lowerBound {
      adapterRuns[adapterRuns.count - 1].rows = last.rows.lowerBound..<run.rows.upperBound
    } else {
      adapterRuns.append(run)
    }
  }

  /// The angles of the positions, for each rotary embedding.
  mutating func prepareAngles(_ ropes: [RoPE], rows: Int) {
    for index in ropes.indices { Self.prepare(ropes[index], &angles, at: index, positions, rows, compute) }
  }

  // The owners come apart here: an element of one field would lock the whole struct.
  private static func prepare(
    _ rope: RoPE, _ angles: inout UniqueArray<RoPE.Angles>, at index: Int, _ positions: borrowing Buffer<Int32>, _ rows: Int,
    _ compute: Compute
  ) {
    rope.prepare(&angles[index], at: positions.span.extracting(0..<rows), on: compute)
  }

  func weight(_ index: Int) -> Weight { parameters[index].weight }

  /// True where the terms of adapters that are not trained are multiplied in BF16, as float weights are.
  var usesBFloat: Bool { compute.floats == .bfloat16 }

  /// Rounds `x`, once for all layers that read it, where the weight of `layer` or adapters ask for that.
  mutating func round(_ x: borrowing Matrix, for layer: LinearLayer) {
    rounded.round(x, for: parameters[layer.weight].weight, on: compute)
    if usesBFloat, !adapterRuns.isEmpty { adapted.rows.round(x, on: compute) }
  }

  /// Returns the mask of the inputs of `A` of a linear layer that are left out; nil for none.
  func mask(_ layer: Int, _ kind: LinearKind) -> DropoutMask? {
    adapter.configuration.dropout > 0 ? dropout?.mask(layer, kind, rate: adapter.configuration.dropout) : nil
  }

  /// Chooses the rows that go on behind the last keys and values.
  mutating func select(_ wanted: HiddenRows) {
    selectedCount = nil
    var count = 0
    switch wanted {
    case .all: return
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
    if count == segments.rows { return }
    narrowed.select(selected, count: count, of: segments)
    selectedCount = count
  }

  /// Makes the selected rows the only ones, in everything that belongs to rows; returns their number.
  mutating func narrow() -> Int {
    let count = selectedCount ?? segments.rows
    swap(&segments, &narrowed)
    isNarrowed = true
    for i in 0..<angles.count { angles[i].keepRows(selected, count: count) }
    var (row, kept) = (0, 0)
    for run in adapterRuns.indices {
      // Rows between two runs have no adapter.
      while row < count, Int(selected[row]) < adapterRuns[run].rows.lowerBound { row += 1 }
      let first = row
      while row < count, Int(selected[row]) < adapterRuns[run].rows.upperBound { row += 1 }
      guard row > first else { continue }
      adapterRuns[kept] = AdapterRun(rows: first..<row, adapter: adapterRuns[run].adapter)
      kept += 1
    }
    adapterRuns.removeLast(adapterRuns.count - kept)
    return count
  }

  /// Brings all rows back, for the next pass.
  mutating func widen() {
    if isNarrowed { swap(&segments, &narrowed) }
    isNarrowed = false
  }
}
