internal import DibitCheckpoint
package import DibitInference
package import DibitKernels
internal import DibitModel
package import DibitModelStore
internal import DibitReport
internal import DibitTensor
internal import DibitTokenizer

/// A measurement of how far a converted model is from its source, on texts that the source writes itself.
///
/// Texts drawn from the source's own probabilities need no data, and the mean divergence over them is that of the two models' texts for
/// each token. Weights alone do not tell: a signal to noise ratio of 10 dB destroys one model and another, trained for it, is exact there.
package struct ConversionCheck: Sendable {
  /// The meaning of a divergence.
  package enum Verdict: String, Sendable {
    case close = "close to the source"
    case worse = "noticeably worse than the source"
    case destroyed = "destroyed"

    /// Measured on SmolLM2-135M-Instruct: 0.0001 nats in 16 bits, where answers are the same; 1.2 in 4 bits, where sentences hold and facts
    /// are lost; 11 in 2 bits, where no word is left. Three nats leave what the source says a twentieth of its probability at each token.
    package init(divergence: Double) {
      self = divergence < 0.1 ? .close : divergence < 3 ? .worse : .destroyed
    }
  }

  /// The comparison of the two models.
  package let comparison: PerplexityComparison
  /// The number of tokens that the source wrote.
  package var tokens: Int { comparison.model.tokens }
  /// The time that it took, in seconds.
  package let seconds: Double

  /// The meaning of the divergence.
  package var verdict: Verdict { Verdict(divergence: comparison.divergence) }

  /// Products of a weight while the source writes: the smaller the model, the more text, so that a check takes seconds.
  private static let products = 50_000_000_000
  private static let tokenCounts = 128...1_024
  /// The most texts that the source writes, and the fewest and the most tokens of each.
  private static let (mostTexts, lengths) = (16, 32...64)
  /// Floats of the source that may have to be held, because its files hold them in another form.
  private static let maximumExpanded = 2 << 30
  /// The beginnings of texts where the tokenizer begins none by itself, and the questions that are asked in chats.
  private static let openings = ["The", "In", "A", "It"]
  private static let questions = [
    "What is the capital of France?", "What is 2+2?", "Write a short story about a cat.", "Who are you?", "Why is the sky blue?",
    "How do I boil an egg?", "Name three animals that live in the sea.", "What should I pack for a week in the mountains?",
  ]

  /// Runs both models; nil when `progress`, which is told the tokens that are done and their total, returns false.
  ///
  /// - Throws: when the source cannot run, or would have to be held in memory.
  package static func run(
    source path: String, model: StoredModel, on compute: Compute, progress: (_ done: Int, _ total: Int) -> Bool
  ) throws -> ConversionCheck? {
    let (clock, start) = (ContinuousClock(), ContinuousClock.now)
    let source = try ModelSource.open(path)
    let expanded = source.checkpoint.expandedBytes
    guard expanded <= maximumExpanded else {
      throw DibitError(.invalidData, "the source's floats would take \(fixed(Double(expanded) / 1e9, 1)) GB of memory")
    }
    let model = (stored: model, measured: MeasuredModel(model.configuration, weights: model.weights))
    let reference = MeasuredModel(source.configuration, weights: try source.weights())
    let limit = min(max(products / max(reference.weights.elementCount, 1), tokenCounts.lowerBound), tokenCounts.upperBound)
    let length = min(max(limit / mostTexts, lengths.lowerBound), lengths.upperBound)
    let kinds = beginnings(model.stored, count: limit / length)
    let longest = kinds.joined().map(\.count).max() ?? 0
    var text = MeasuredText(window: min(longest + length, source.configuration.contextLength))
    for beginnings in kinds {
      let end = (beginnings.map(\.count).max() ?? 0) + length
      var writer = TextWriter(reference, length: end, width: beginnings.count, on: compute)
      let before = text.tokens
      let written = try writer.write(beginnings, seed: UInt64(before)) { progress(min(before + $0, limit), 2 * limit) }
      guard let written else { return nil }
      for (beginning, tokens) in zip(beginnings, written) where tokens.count > beginning.count {
        text.append(tokens, predicted: [beginning.count..<tokens.count])
      }
    }
    var isStopped = false
    let comparison = PerplexityComparison.measure(text, model: model.measured, reference: reference, on: compute) { done in
      isStopped = !progress(limit + done * limit / max(text.tokens, 1), 2 * limit)
      return !isStopped
    }
    guard !isStopped else { return nil }
    return ConversionCheck(comparison: comparison, seconds: start.duration(to: clock.now) / .seconds(1))
  }

  /// Beginnings of so many texts: half of them plain and half chats, where the model has a template that can be rendered. Those of a kind
  /// are written side by side.
  private static func beginnings(_ model: StoredModel, count: Int) -> [[[Int32]]] {
    let tokenizer = model.tokenizer
    let start = tokenizer.encode("")
    let source = try? ChatSource.open(model.path)
    let chat = source?.format(for: tokenizer, today: nil) ?? ChatFormat(tokenizer: tokenizer, jinja: nil)
    let prompts = chat.tellsRoles ? questions.compactMap { try? chat.prompt([ChatMessage(role: .user, content: $0)]) } : []
    let plain = start.isEmpty ? openings.map { tokenizer.encode($0, parsingSpecialTokens: false) } : [start]
    let kinds = [plain, prompts].map { $0.filter { !$0.isEmpty && $0.count < model.configuration.contextLength } }.filter { !$0.isEmpty }
    return kinds.map { kind in (0..<count / kinds.count).map { kind[$0 % kind.count] } }
  }
}

extension Checkpoint {
  /// The bytes of floats that a model over these tensors holds in memory, because the files hold them in another form or order.
  fileprivate var expandedBytes: Int {
    tensorNames.reduce(0) { sum, name in
      guard let info = info(name), (try? bytes(name)) == nil else { return sum }
      return sum + info.count * DType.f32.byteCount
    }
  }
}
