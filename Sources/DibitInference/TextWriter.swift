package import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Writes texts with a model, many at a time, each token drawn from the model's own probabilities: text that needs no data, and that is as
/// the model's texts are.
package struct TextWriter: ~Copyable {
  /// Texts that are written side by side where nobody says how many: the weights are read once for a token of each.
  package static let width = 64

  private let decoder: Decoder
  private let length: Int
  private let width: Int
  private var runner: ModelRunner

  /// A writer of texts of at most `length` tokens, at most `width` at a time.
  package init(_ model: MeasuredModel, length: Int, width: Int = Self.width, on compute: Compute) {
    self.width = width
    decoder = Decoder(model.configuration, weights: model.weights)
    self.length = max(1, min(length, model.configuration.contextLength))
    runner = ModelRunner(
      decoder,
      ModelRunner.Limits(
        rows: max(width, self.length), segments: width, cacheRows: width * self.length, logitRows: width),
      precision: .int8, on: compute)
  }

  /// A text under way.
  private struct Text {
    var tokens: [Int32]
    var done = 0
    var sampler: Sampler
  }

  /// Writes a text of the full length behind each beginning, of which there are no more than its width and none is empty. Text `k` draws with
  /// seed `seed + k`.
  ///
  /// - Returns: the tokens with those of the beginning; nil when `progress`, told how many were written so far, returns false.
  package mutating func write(
    _ beginnings: [[Int32]], seed: UInt64 = 0, progress: (Int) -> Bool = { _ in true }
  ) throws(InferenceError) -> [[Int32]]? {
    require(beginnings.count <= width && !beginnings.contains([]), "TextWriter: \(beginnings.count) beginnings, or an empty one")
    var texts: [Text] = []
    for (index, beginning) in beginnings.enumerated() {
      var options = SamplingOptions()
      (options.temperature, options.seed) = (1, seed &+ UInt64(index))
      texts.append(Text(tokens: Array(beginning.prefix(max(1, length - 1))), sampler: Sampler(options)))
    }
    var written = 0
    // Beginnings one after the other, then a token of each text.
    for index in texts.indices {
      runner.removeAll()
      let tokens = texts[index].tokens
      runner.append(tokens.span, start: index * length)
      texts[index].done = tokens.count
      decoder.forward(&runner, wanted: .last)
      try draw(for: [index], &texts)
    }
    while true {
      let open = texts.indices.filter { texts[$0].tokens.count < length }
      guard !open.isEmpty else { break }
      written += open.count
      guard progress(written) else { return nil }
      runner.removeAll()
      for index in open {
        let last = CollectionOfOne(texts[index].tokens[texts[index].done])
        runner.append(last.span, start: index * length, past: texts[index].done)
        texts[index].done += 1
      }
      decoder.forward(&runner)
      try draw(for: open, &texts)
    }
    return texts.map(\.tokens)
  }

  /// Draws the next token of some texts, whose hidden states are the last pass's.
  private mutating func draw(for open: [Int], _ texts: inout [Text]) throws(InferenceError) {
    decoder.logits(of: 0..<open.count, in: &runner)
    let vocabulary = decoder.configuration.vocabularySize
    for (row, index) in open.enumerated() {
      let logits = runner.logits.span.extracting(row * vocabulary..<(row + 1) * vocabulary)
      texts[index].tokens.append(try texts[index].sampler.next(logits))
    }
  }
}
