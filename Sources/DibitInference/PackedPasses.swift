internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Passes over the rows of many texts at a time, each of which has a place of its own in one cache.
///
/// Texts may be cut anywhere between passes: packed weights, attention and norms give a row the same bits whatever it shares a pass with.
/// Everything is allocated when this is made.
struct PackedPasses: ~Copyable {
  /// Rows of a pass.
  let rows: Int
  /// The most tokens of a text.
  let context: Int
  /// Rows that passes have run so far.
  private(set) var rowsRun = 0
  /// The model.
  let model: MeasuredModel
  private let decoder: Decoder
  private let compute: Compute
  private var adapter: LoadedAdapter
  private var rank: Int  // that `state` has room for
  private var state: DecoderState
  private var cache: KeyValueCache
  private var segments: Segments
  private var allocator: RowAllocator
  private let behind: Int  // the first row of the cache where what is forgotten after a pass lies
  private var beginning: [Int32] = []
  private var tokens: [Int32] = []
  private var wanted: [Int] = []
  private var scratchUsed = 0

  /// Rows of the cache: what texts begin with, the texts under way, and what lies behind them for one pass.
  init(_ model: MeasuredModel, context: Int?, rows: Int, precision: KeyValuePrecision?, on compute: Compute) {
    let configuration = model.configuration
    self.model = model
    self.compute = compute
    self.context = max(1, min(context ?? configuration.contextLength, configuration.contextLength))
    self.rows = max(1, rows)
    adapter = model.adapter ?? LoadedAdapter(.none(for: model.weights))
    rank = adapter.rank
    decoder = Decoder(configuration, weights: model.weights)
    state = DecoderState(configuration, capacity: self.rows, rank: rank, recording: .none)
    behind = self.context + max(2 * self.context, 4 * self.rows)
    cache = KeyValueCache(
      configuration, weights: model.weights, capacity: behind + self.rows, forTraining: false,
      precision: precision ?? compute.keysAndValues)
    segments = Segments(capacity: self.rows)
    allocator = RowAllocator(self.context..<behind)
    tokens.reserveCapacity(self.rows)
    wanted.reserveCapacity(self.rows)
  }

  /// Runs what comes next under another adapter of the same model, or under none; no text may be under way.
  mutating func use(_ next: LoadedAdapter?) {
    let next = next ?? LoadedAdapter(.none(for: model.weights))
    guard next !== adapter else { return }
    if next.rank > rank {
      state = DecoderState(model.configuration, capacity: rows, rank: next.rank, recording: .none)
      rank = next.rank
    }
    adapter = next
    beginning = []
  }

  /// Computes what many texts begin with, once: ``start(_:room:)`` copies it. Nothing is done where it is the same as before.
  mutating func begin(with tokens: [Int32]) {
    let next = Array(tokens.prefix(context))
    guard next != beginning else { return }
    beginning = next
    for first in stride(from: 0, to: next.count, by: rows) {
      let piece = first..<min(first + rows, next.count)
      beginPass()
      segments.append(rows: piece.count, start: 0, past: first)
      self.tokens += next[piece]
      run()
    }
  }

  /// A place in the cache for a text of up to `room` tokens, and how many of its first tokens lie there already; nil while there is none.
  ///
  /// At least one token of the text is left to run.
  mutating func start(_ tokens: [Int32], room: Int) -> (place: Range<Int>, done: Int)? {
    require(tokens.count <= room && room <= context, "PackedPasses: \(tokens.count) tokens, room for \(room), context \(context)")
    guard let place = allocator.allocate(room) else { return nil }
    guard !beginning.isEmpty, tokens.count > beginning.count, tokens.starts(with: beginning) else { return (place, 0) }
    cache.copyRows(0..<beginning.count, to: place.lowerBound)
    return (place, beginning.count)
  }

  /// Forgets a text.
  mutating func finish(_ place: Range<Int>) { allocator.release(place) }

  /// Forgets what the last pass was made of.
  mutating func beginPass() {
    segments.removeAll()
    tokens.removeAll(keepingCapacity: true)
    wanted.removeAll(keepingCapacity: true)
    scratchUsed = 0
  }

  /// Rows that still fit the pass.
  var room: Int { rows - tokens.count }

  /// Whether the pass has no rows.
  var isEmpty: Bool { tokens.isEmpty }

  /// Adds the next tokens of a text of which `past` tokens have been added before.
  mutating func append(_ next: ArraySlice<Int32>, place: Range<Int>, past: Int) {
    segments.append(rows: next.count, start: place.lowerBound, past: past)
    tokens += next
  }

  /// Adds tokens behind the first `count` of a text that nobody sees afterwards; returns their first row in the pass.
  mutating func append(_ path: [Int32], behind place: Range<Int>, count: Int) -> Int {
    let first = tokens.count
    segments.append(rows: path.count, start: behind + scratchUsed, prefix: place.lowerBound..<place.lowerBound + count)
    tokens += path
    scratchUsed += path.count
    return first
  }

  /// Asks for the hidden state of a row; rows ascend. Returns its row among the hidden states of the pass.
  mutating func want(_ row: Int) -> Int {
    if wanted.last == row { return wanted.count - 1 }
    wanted.append(row)
    return wanted.count - 1
  }

  /// The last row that was added.
  var lastRow: Int { tokens.count - 1 }

  /// Runs the pass.
  mutating func run() {
    guard !tokens.isEmpty else { return }
    let tokens = tokens
    decoder.forward(
      tokens.span, segments: segments, cache: &cache, adapter: adapter.adapter, state: &state,
      wanted: wanted.count == tokens.count ? .all : .rows(wanted), on: compute)
    rowsRun += tokens.count
  }

  /// Calls `body` with the hidden states `[n, C]` of the rows that were asked for.
  func withHidden<Result>(_ body: (borrowing Matrix) -> Result) -> Result { body(state.hidden) }

  /// The logits `[n, m]` that a head of `m` tokens gives for those rows.
  func logits(_ head: Weight, rounded: inout QuantizedRows, into logits: inout Matrix) {
    logits.setRows(wanted.count)
    if Linear.usesRounded(head, on: compute) { rounded.quantize(state.hidden, on: compute) }
    Linear.forward(state.hidden, rounded: rounded, weight: head, into: &logits, on: compute)
    if let cap = model.configuration.logitSoftCap { SoftCap.forward(&logits, cap: cap, on: compute) }
  }
}
