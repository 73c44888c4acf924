internal import DibitKernels
package import DibitModel
internal import DibitTensor

/// A model whose predictions are measured.
package struct MeasuredModel: Sendable {
  /// The model's shape.
  package let configuration: ModelConfiguration
  /// Its parameters.
  package let weights: DecoderWeights
  /// The adapter that it runs under; nil for none.
  package let adapter: LoadedAdapter?

  /// A model, with or without an adapter of it.
  package init(_ configuration: ModelConfiguration, weights: DecoderWeights, adapter: LoadedAdapter? = nil) {
    (self.configuration, self.weights, self.adapter) = (configuration, weights, adapter)
  }
}

/// Runs windows of tokens through one model and makes the logits of some rows at a time.
struct WindowRunner: ~Copyable {
  /// Rows of logits that exist at a time.
  static let rows = 32

  /// `[r, V]` logits of the last rows that were asked for.
  private(set) var logits: Matrix
  /// The sum of all losses so far, in nats.
  private(set) var loss = 0.0
  /// Seconds spent so far.
  private(set) var seconds = 0.0
  private let decoder: Decoder
  private let adapter: LoadedAdapter
  private let compute: Compute
  private let clock = ContinuousClock()
  private var state: DecoderState
  private var cache: KeyValueCache
  private var segments = Segments(capacity: 1)
  private var hidden: Matrix  // [r, C]
  private var rounded: QuantizedRows  // what a packed head is multiplied with
  private var losses: Matrix  // [r, 1]

  init(_ model: MeasuredModel, window: Int, on compute: Compute) {
    let configuration = model.configuration
    self.compute = compute
    adapter = model.adapter ?? LoadedAdapter(.none(for: model.weights))
    decoder = Decoder(configuration, weights: model.weights)
    state = DecoderState(configuration, capacity: window, rank: adapter.rank, recording: .none)
    // A converted model is measured as it runs; a float model is what others are measured against.
    let precision = model.weights.isPacked ? compute.keysAndValues : .float32
    cache = KeyValueCache(configuration, weights: model.weights, capacity: window, forTraining: false, precision: precision)
    hidden = Matrix(rows: Self.rows, columns: configuration.hiddenSize)
    rounded = QuantizedRows(capacity: Self.rows, columns: configuration.hiddenSize)
    logits = Matrix(rows: Self.rows, columns: configuration.vocabularySize)
    losses = Matrix(rows: Self.rows, columns: 1)
  }

  /// Runs a window; afterwards the logits of its rows can be asked for.
  mutating func run(_ window: [Int32]) {
    let start = clock.now
    segments.removeAll()
    segments.append(rows: window.count, start: 0)
    decoder.forward(window.span, segments: segments, cache: &cache, adapter: adapter.adapter, state: &state, on: compute)
    seconds += start.duration(to: clock.now) / .seconds(1)
  }

  /// Makes the logits of rows of the window, at most ``rows``, and adds up the losses of the tokens behind them.
  mutating func predict(_ range: Range<Int>, targets: Span<Int32>) {
    let start = clock.now
    hidden.setRows(range.count)
    logits.setRows(range.count)
    losses.setRows(range.count)
    for row in range { hidden.copyRow(row, of: state.hidden, to: row - range.lowerBound) }
    decoder.logits(hidden, rounded: &rounded, into: &logits, on: compute)
    CrossEntropy.forward(&logits, targets: targets, losses: &losses, on: compute)
    for row in 0..<range.count { loss += Double(losses[row, 0]) }
    seconds += start.duration(to: clock.now) / .seconds(1)
  }
}

extension MeasuredText {
  /// Calls `body` with each window and then, for each of its chunks, with the rows whose logits predict and the tokens they predict.
  func forEachChunk(of window: [Int32], _ body: (Range<Int>, Span<Int32>) -> Void) {
    for first in stride(from: firstPredicted, to: window.count, by: WindowRunner.rows) {
      let targets = first..<min(first + WindowRunner.rows, window.count)
      body(targets.lowerBound - 1..<targets.upperBound - 1, window.span.extracting(targets))
    }
  }
}
