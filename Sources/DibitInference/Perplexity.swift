package import DibitKernels
package import DibitModel
internal import Glibc

/// The quality of a model's predictions of a text.
package struct Perplexity: Equatable, Sendable {
  /// Mean loss in nats per predicted token; NaN if there is none, or the weights are damaged.
  package let loss: Double
  /// Predicted tokens.
  package let tokens: Int
  /// The time that running the model took.
  package let seconds: Double

  /// `e^loss`.
  package var value: Double { exp(loss) }

  /// The loss of all predicted tokens in bits over the bytes of their text: unlike nats per token, comparable between tokenizers.
  package func bitsPerByte(bytes: Int) -> Double { bits(per: bytes) }

  /// The loss of all predicted tokens in bits over a number of parts of their text, characters for instance.
  package func bits(per parts: Int) -> Double { loss * Double(tokens) / log(2) / Double(parts) }

  /// Predicted tokens per second.
  package var tokensPerSecond: Double { Double(tokens) / seconds }

  /// Runs the windows of `text` one after the other; `progress` is told how many tokens are done and stops by returning false.
  package static func measure(
    _ text: MeasuredText, model: MeasuredModel, on compute: Compute, progress: (Int) -> Bool = { _ in true }
  ) -> Perplexity {
    var runner = WindowRunner(model, window: text.window, on: compute)
    var count = 0
    for window in text.windows {
      runner.run(window.tokens)
      window.forEachChunk { rows, targets in runner.predict(rows, targets: targets) }
      count += window.predictedCount
      guard progress(count) else { break }
    }
    return Perplexity(runner, tokens: count)
  }

  /// Runs one document in windows of `window` tokens; the first token of a window is not predicted.
  package static func measure(
    _ tokens: [Int32], configuration: ModelConfiguration, weights: DecoderWeights, window: Int, on compute: Compute,
    progress: (Int) -> Bool = { _ in true }
  ) -> Perplexity {
    var text = MeasuredText(window: window)
    text.append(tokens)
    return measure(text, model: MeasuredModel(configuration, weights: weights), on: compute, progress: progress)
  }

  /// The result of what a runner has added up.
  init(_ runner: borrowing WindowRunner, tokens: Int) {
    (self.tokens, seconds) = (tokens, runner.seconds)
    loss = tokens > 0 ? runner.loss / Double(tokens) : .nan
  }
}
