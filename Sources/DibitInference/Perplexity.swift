public import DibitKernels
public import DibitModel
internal import DibitTensor
internal import Glibc

/// How well a model predicts a text.
public struct Perplexity: Equatable, Sendable {
  /// Mean loss in nats per predicted token.
  public let loss: Double
  /// Predicted tokens.
  public let tokens: Int

  /// `e^loss`.
  public var value: Double { exp(loss) }

  /// Runs `tokens` in windows of `window` tokens that do not overlap; the first token of a window is not predicted.
  public static func measure(
    _ tokens: [Int32], configuration: ModelConfiguration, weights: DecoderWeights, window: Int, on compute: Compute,
    progress: (Int) -> Bool = { _ in true }
  ) -> Perplexity {
    let decoder = Decoder(configuration, weights: weights)
    let adapter = Adapter.none(for: weights)
    var state = DecoderState(configuration, capacity: window, rank: 0, isRecording: false)
    var cache = KeyValueCache(configuration, weights: weights, capacity: window, forTraining: false)
    var head = LossHead(configuration)
    var segments = Segments(capacity: 1)
    var (sum, count) = (0.0, 0)
    for first in stride(from: 0, to: tokens.count, by: window) {
      let piece = Array(tokens[first..<min(first + window, tokens.count)])
      guard piece.count > 1 else { continue }
      segments.removeAll()
      segments.append(rows: piece.count, start: 0)
      decoder.forward(piece.span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
      let targets = Array(piece.dropFirst()) + [-1]
      let ones = [Float](repeating: 1, count: piece.count)
      sum += head.forward(decoder, hidden: state.hidden, targets: targets.span, weights: ones.span, on: compute)
      count += piece.count - 1
      guard progress(first + piece.count) else { break }
    }
    return Perplexity(loss: count > 0 ? sum / Double(count) : .nan, tokens: count)
  }
}
