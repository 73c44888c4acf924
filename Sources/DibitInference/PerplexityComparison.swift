package import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The distance of a model's predictions of a text from those of a reference, such as the float model that it was rounded from.
///
/// The divergence at a position is `KL(reference ‖ model) = Σ p (log p - log q)` over the vocabulary, `p` the reference's probabilities. It is
/// finer than a difference of perplexities: it counts every token that might have followed, and errors do not cancel.
package struct PerplexityComparison: Equatable, Sendable {
  /// The model.
  package let model: Perplexity
  /// The perplexity that it is compared with, on the same tokens.
  package let reference: Perplexity
  /// Mean divergence in nats per predicted token.
  package let divergence: Double
  /// The standard error of that mean, positions taken as independent; NaN for a single one.
  package let standardError: Double
  /// The divergence that 99 of 100 positions do not exceed: the nearest rank.
  package let percentile99: Double
  /// The share of positions where both have the same most likely token.
  package let agreement: Double

  /// The model's perplexity over the reference's.
  package var ratio: Double { model.value / reference.value }

  /// Runs both models, window by window. They must have the same vocabulary. `progress` is told how many tokens are done and stops by
  /// returning false.
  ///
  /// Memory does not grow with the text, but for four bytes for each token.
  package static func measure(
    _ text: MeasuredText, model: MeasuredModel, reference: MeasuredModel, on compute: Compute, progress: (Int) -> Bool = { _ in true }
  ) -> PerplexityComparison {
    let columns = model.configuration.vocabularySize
    require(
      columns == reference.configuration.vocabularySize,
      "PerplexityComparison: vocabularies of \(columns) and \(reference.configuration.vocabularySize)")
    var left = WindowRunner(model, window: text.window, on: compute)
    var right = WindowRunner(reference, window: text.window, on: compute)
    var (p, q) = (LogSoftmax(), LogSoftmax())
    var (nats, agreeing): ([Float], Int) = ([], 0)
    for window in text.windows {
      left.run(window.tokens)
      right.run(window.tokens)
      window.forEachChunk { rows, targets in
        left.predict(rows, targets: targets)
        right.predict(rows, targets: targets)
        for row in 0..<rows.count {
          let range = row * columns..<(row + 1) * columns
          let one = right.withLogits { reference in
            left.withLogits { LogSoftmax.divergence(reference.extracting(range), $0.extracting(range), &p, &q) }
          }
          nats.append(Float(one.nats))
          agreeing += one.agrees ? 1 : 0
        }
      }
      guard progress(nats.count) else { break }
    }
    return PerplexityComparison(
      nats, agreeing, model: Perplexity(left, tokens: nats.count), reference: Perplexity(right, tokens: nats.count))
  }

  private init(_ nats: [Float], _ agreeing: Int, model: Perplexity, reference: Perplexity) {
    (self.model, self.reference) = (model, reference)
    let count = Double(nats.count)
    let mean = nats.reduce(0.0) { $0 + Double($1) } / count
    let variance = nats.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / (count - 1)
    divergence = mean
    standardError = (variance / count).squareRoot()
    // A NaN has no place in an order; the mean shows it.
    percentile99 = nats.isEmpty || mean.isNaN ? .nan : Double(nats.sorted()[(nats.count * 99 + 99) / 100 - 1])
    agreement = Double(agreeing) / count
  }
}
