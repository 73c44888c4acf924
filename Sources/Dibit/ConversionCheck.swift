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

    /// Measured on SmolLM2-135M-Instruct: 0.0001 nats in 16 bits, where answers are the same; 1.3 in 4 bits, where sentences hold and facts
    /// are lost; 12.5 in 2 bits, where no word is left. Three nats leave what the source says a twentieth of its probability at each token.
    package init(divergence: Double) {
      self = divergence < 0.1 ? .close : divergence < 3 ? .worse : .destroyed
    }
  }

  /// The comparison of the two models.
  package let comparison: PerplexityComparison
  /// The number of tokens that the source wrote, its beginnings included.
  package let tokens: Int
  /// The time that it took, in seconds.
  package let seconds: Double

  /// The meaning of the divergence.
  package var verdict: Verdict { Verdict(divergence: comparison.divergence) }

  /// Weights that are read while the source writes: the smaller the model, the longer the texts, so that a check takes seconds.
  private static let weightsRead = 6_000_000_000
  private static let lengths = 32...256
  /// Floats of the source that may have to be held, because its files hold them in another form.
  private static let maximumExpanded = 2 << 30
  /// The beginnings of texts where the tokenizer begins none by itself, and the questions that are asked in chats.
  private static let openings = ["The", "In", "A", "It"]
  private static let questions = ["What is the capital of France?", "What is 2+2?", "Write a short story about a cat.", "Who are you?"]

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
    let weights = try source.weights()
    let limit = min(max(weightsRead / max(weights.elementCount, 1), lengths.lowerBound), lengths.upperBound)
    let context = min(source.configuration.contextLength, 2 * limit)
    var text = MeasuredText(window: max(2, context))
    var (written, seed) = (0, UInt64(0))
    for beginning in beginnings(model, limit: limit) where written < limit && beginning.tokens.count < context {
      var session = Session(
        source.configuration, weights: weights, adapter: .none(for: weights), context: context,
        precision: weights.isPacked ? .int8 : .float32, on: compute)
      var options = GenerationOptions()
      options.maximumTokens = min(beginning.length, limit - written)
      (options.sampling.temperature, options.sampling.seed) = (1, seed)
      options.stopTokens = beginning.endTokens
      var made = 0
      let generated = try session.generate(beginning.tokens, tokenizer: model.tokenizer, options: options) { _ in
        made += 1
        return progress(written + made, 2 * limit)
      }
      guard generated.finishReason != .interrupted else { return nil }
      written += max(1, generated.tokens.count)
      text.append(beginning.tokens + generated.tokens)
      seed += 1
    }
    var isStopped = false
    let comparison = PerplexityComparison.measure(
      text, model: MeasuredModel(model.configuration, weights: model.weights),
      reference: MeasuredModel(source.configuration, weights: weights), on: compute
    ) { done in
      isStopped = !progress(limit + done * limit / max(text.tokens, 1), 2 * limit)
      return !isStopped
    }
    guard !isStopped else { return nil }
    return ConversionCheck(comparison: comparison, tokens: text.tokens, seconds: start.duration(to: clock.now) / .seconds(1))
  }

  /// The beginning of a text, and the length that it may reach.
  private struct Beginning {
    let tokens: [Int32]
    let endTokens: Set<Int32>
    let length: Int
  }

  /// Plain text first, then chats where the model has a template that can be rendered; each form gets half of the tokens.
  private static func beginnings(_ model: StoredModel, limit: Int) -> [Beginning] {
    let tokenizer = model.tokenizer
    let start = tokenizer.encode("")
    let source = try? ChatSource.open(model.path)
    let chat = source?.format(for: tokenizer, today: nil) ?? ChatFormat(tokenizer: tokenizer, jinja: nil)
    let prompts = chat.tellsRoles ? questions.compactMap { try? chat.prompt([ChatMessage(role: .user, content: $0)]) } : []
    let share = prompts.isEmpty ? limit : limit / 2
    let plain = openings.map { word in
      let tokens = start.isEmpty ? tokenizer.encode(word, parsingSpecialTokens: false) : start
      return Beginning(tokens: tokens, endTokens: [], length: share)
    }
    let chats = prompts.map { Beginning(tokens: $0, endTokens: chat.endTokens, length: limit - share) }
    return Array(plain.prefix(1)).filter { !$0.tokens.isEmpty } + chats + plain.dropFirst().filter { !$0.tokens.isEmpty }
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
