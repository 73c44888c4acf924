internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Passes of the float model over texts and back, from labels that are drawn from its own predictions: what those feel.
struct DrawnGradients: ~Copyable {
  /// Texts that are enough to score changes, and tokens of a text. Each is one sample of what a change does to predictions, so that many short
  /// ones say more than a few long ones.
  static let (texts, length) = (128, 64)
  /// Tokens of a batch.
  static let rows = 512

  private let decoder: Decoder
  private var passes: GradientRunner
  private var random = SplitMix64(seed: 0, purpose: "calibration.labels")

  /// Passes over batches like these.
  init(_ configuration: ModelConfiguration, _ weights: DecoderWeights, _ batches: [[[Int32]]], on compute: Compute) {
    decoder = Decoder(configuration, weights: weights)
    let limits = Calibrator.limits(of: batches)
    passes = GradientRunner(
      decoder, rows: limits.rows, sequences: limits.segments, adapter: nil,
      training: TrainableList(weights, adapter: nil, includesWeights: false), recording: .last(1), on: compute)
  }

  /// Texts that tell how predictions feel errors, where so many tokens are calibrated on: an eighth of those, or what is enough.
  static func texts(ofTokens tokens: Int) -> Int { max(texts, tokens / (8 * length)) }

  /// The beginnings of so many windows, evenly among all, in batches; where those are not enough, what follows on them, too.
  static func batches(of windows: [[Int32]], texts count: Int) -> [[[Int32]]] {
    let windows = windows.count > count ? (0..<count).map { windows[$0 * windows.count / count] } : windows
    var texts: [[Int32]] = []
    for first in stride(from: 0, to: windows.map(\.count).max() ?? 0, by: length) {
      for window in windows where first < window.count && texts.count < count {
        texts.append(Array(window[first..<min(first + length, window.count)]))
      }
    }
    return Calibrator.batches(texts, rows: rows)
  }

  /// Is told of all linear layers, there and back; nil for nobody.
  mutating func observe(with observer: (any LinearObserver)?) { passes.runner.observe(with: observer) }

  /// Runs a batch; `body` is shown the gradient `[n, C]` of the residual stream behind each layer, from the last to the first.
  mutating func run(_ batch: [[Int32]], behind body: (_ layer: Int, _ gradient: borrowing Matrix) -> Void = { _, _ in }) {
    let tokens = batch.flatMap(\.self)
    let ones = [Float](repeating: 1, count: tokens.count)
    var adapter = Adapter.none(for: decoder.weights)
    passes.forward(tokens.span, lengths: batch.map(\.count), decoder, adapter: &adapter)
    let labels = drawLabels()
    _ = passes.beginBackward(targets: labels.span, weights: ones.span, decoder)
    decoder.beginBackward(&passes.runner, &passes.backward)
    for layer in (0..<decoder.configuration.layers).reversed() {
      body(layer, passes.backward.dStream)
      decoder.backward(&passes.runner, layers: layer..<layer + 1, &passes.backward)
    }
  }

  /// Labels for all rows of the last pass.
  private mutating func drawLabels() -> [Int32] {
    let (chunk, compute) = (128, passes.runner.compute)
    let total = passes.runner.rows
    var rows = Matrix(rows: chunk, columns: decoder.configuration.hiddenSize)
    var rounded = QuantizedRows(capacity: chunk, columns: decoder.configuration.hiddenSize)
    var logits = Matrix(rows: chunk, columns: decoder.configuration.vocabularySize)
    var labels: [Int32] = []
    for first in stride(from: 0, to: total, by: chunk) {
      let count = min(chunk, total - first)
      rows.setRows(count)
      logits.setRows(count)
      for row in 0..<count { rows.copyRow(first + row, of: passes.runner.hidden, to: row) }
      decoder.logits(rows, rounded: &rounded, into: &logits, on: compute)
      labels += CrossEntropy.drawTargets(logits, uniforms: (0..<count).map { _ in random.uniform() }, on: compute)
    }
    return labels
  }
}
