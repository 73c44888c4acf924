internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Passes over the rows of many texts at a time, each of which has a slot of its own in one cache.
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
  private var adapter: LoadedAdapter?
  private var runner: ModelRunner
  private var allocator: RowAllocator
  private let behind: Int  // the first row of the cache where what is forgotten after a pass lies
  private var beginning: [Int32] = []
  private var wanted: [Int] = []
  private var scratchUsed = 0

  /// Rows of the cache: what texts begin with, the texts under way (at least `textRows`), and what lies behind them for one pass.
  init(
    _ model: MeasuredModel, context: Int?, rows: Int, textRows: Int = 0, precision: KeyValuePrecision?, on compute: Compute
  ) {
    let configuration = model.configuration
    self.model = model
    self.context = max(1, min(context ?? configuration.contextLength, configuration.contextLength))
    self.rows = max(1, rows)
    adapter = model.adapter
    decoder = Decoder(configuration, weights: model.weights)
    behind = self.context + max(2 * self.context, 4 * self.rows, textRows)
    runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: self.rows, segments: self.rows, cacheRows: behind + self.rows),
      precision: precision ?? compute.keysAndValues, on: compute)
    allocator = RowAllocator(self.context..<behind)
    wanted.reserveCapacity(self.rows)
  }

  /// Runs what comes next under another adapter of the same model, or under none; no text may be under way.
  mutating func use(_ next: LoadedAdapter?) {
    guard next !== adapter else { return }
    adapter = next
    beginning = []
  }

  /// True for a token of the vocabulary.
  func isKnown(_ token: Int32) -> Bool { token >= 0 && Int(token) < model.configuration.vocabularySize }

  /// Computes what many texts begin with, once: ``start(_:capacity:)`` copies it. Nothing is done where it is the same as before, or has
  /// tokens that no text can have.
  mutating func begin(with tokens: [Int32]) {
    let next = Array(tokens.prefix(context))
    guard next != beginning, next.allSatisfy({ isKnown($0) }) else { return }
    beginning = next
    for first in stride(from: 0, to: next.count, by: rows) {
      let piece = first..<min(first + rows, next.count)
      beginPass()
      runner.append(next[piece].span, start: 0, past: first, adapter: adapter)
      run()
    }
  }

  /// A slot of the cache for a text of up to `capacity` tokens, and how many of its first tokens lie there already; nil while there is none.
  ///
  /// At least one token of the text is left to run.
  mutating func start(_ tokens: [Int32], capacity: Int) -> (slot: Range<Int>, done: Int)? {
    require(
      tokens.count <= capacity && capacity <= context, "PackedPasses: \(tokens.count) tokens, room for \(capacity), context \(context)")
    guard let slot = allocator.allocate(capacity) else { return nil }
    guard !beginning.isEmpty, tokens.count > beginning.count, tokens.starts(with: beginning) else { return (slot, 0) }
    runner.copyCacheRows(0..<beginning.count, to: slot.lowerBound)
    return (slot, beginning.count)
  }

  /// Forgets a text.
  mutating func release(_ slot: Range<Int>) { allocator.release(slot) }

  /// Forgets what the last pass was made of.
  mutating func beginPass() {
    runner.removeAll()
    wanted.removeAll(keepingCapacity: true)
    scratchUsed = 0
  }

  /// Rows that still fit the pass.
  var freeRows: Int { rows - runner.appendedRows }

  /// True when the pass has no rows.
  var isEmpty: Bool { runner.appendedRows == 0 }

  /// Adds the next tokens of a text of which `past` tokens have been added before.
  mutating func append(_ next: ArraySlice<Int32>, slot: Range<Int>, past: Int) {
    runner.append(next.span, start: slot.lowerBound, past: past, adapter: adapter)
  }

  /// Adds tokens behind the first `count` of a text that nobody sees afterwards; returns their first row in the pass.
  mutating func append(_ path: [Int32], behind slot: Range<Int>, count: Int) -> Int {
    let first = runner.appendedRows
    runner.append(
      path.span, start: behind + scratchUsed, prefix: slot.lowerBound..<slot.lowerBound + count, adapter: adapter)
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
  var lastRow: Int { runner.appendedRows - 1 }

  /// Runs the pass.
  mutating func run() {
    let count = runner.appendedRows
    guard count > 0 else { return }
    decoder.forward(&runner, wanted: wanted.count == count ? .all : .rows(wanted))
    rowsRun += count
  }

  /// Calls `body` with the hidden states `[n, C]` of the rows that were asked for.
  func withHidden<Result>(_ body: (borrowing Matrix) -> Result) -> Result { body(runner.hidden) }

  /// The logits `[n, m]` that a head of `m` tokens gives for those rows.
  mutating func logits(_ head: Weight, into logits: inout Matrix) { decoder.logits(head: head, in: &runner, into: &logits) }
}
