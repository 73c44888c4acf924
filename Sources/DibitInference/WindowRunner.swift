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

  /// The sum of all losses so far, in nats.
  private(set) var loss = 0.0
  /// Seconds spent so far.
  private(set) var seconds = 0.0
  private let decoder: Decoder
  private let adapter: LoadedAdapter?
  private let clock = ContinuousClock()
  private var runner: ModelRunner
  private var losses: Matrix  // [r, 1]

  init(_ model: MeasuredModel, window: Int, on compute: Compute) {
    adapter = model.adapter
    decoder = Decoder(model.configuration, weights: model.weights)
    // A converted model is measured as it runs; a float model is what others are measured against.
    let precision = model.weights.isPacked ? compute.keysAndValues : .float32
    runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: window, segments: 1, logitRows: Self.rows), precision: precision, on: compute)
    losses = Matrix(rows: Self.rows, columns: 1)
  }

  /// Calls `body` with the logits `[r, V]` of the last rows that were asked for.
  func withLogits<Result>(_ body: (Span<Float>) -> Result) -> Result { body(runner.logits.span) }

  /// Runs a window; afterwards the logits of its rows can be asked for.
  mutating func run(_ window: [Int32]) {
    let start = clock.now
    runner.removeAll()
    runner.append(window.span, start: 0, adapter: adapter)
    decoder.forward(&runner)
    seconds += start.duration(to: clock.now) / .seconds(1)
  }

  /// Makes the logits of rows of the window, at most ``rows``, and adds up the losses of the tokens behind them.
  mutating func predict(_ range: Range<Int>, targets: Span<Int32>) {
    let start = clock.now
    decoder.logits(of: range, in: &runner)
    losses.setRows(range.count)
    CrossEntropy.forward(&runner.logits, targets: targets, losses: &losses, on: runner.compute)
    for row in 0..<range.count { loss += Double(losses[row, 0]) }
    seconds += start.duration(to: clock.now) / .seconds(1)
  }
}

extension MeasuredText.Window {
  /// Calls `body` with the rows whose logits predict and the tokens that they predict, at most ``WindowRunner/rows`` at a time.
  func forEachChunk(_ body: (Range<Int>, Span<Int32>) -> Void) {
    for range in predicted {
      for first in stride(from: range.lowerBound, to: range.upperBound, by: WindowRunner.rows) {
        let targets = first..<min(first + WindowRunner.rows, range.upperBound)
        body(targets.lowerBound - 1..<targets.upperBound - 1, tokens.span.extracting(targets))
      }
    }
  }
}
