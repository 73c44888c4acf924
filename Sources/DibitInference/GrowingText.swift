internal import DibitConstraint
internal import DibitTokenizer

/// A text that grows behind a prompt: the tokens that come next, what has come of them, and where it ends.
///
/// It knows no model. Whoever runs one adds ``forced()`` tokens while there are some, gives ``choose(_:)`` the logits behind the last token where
/// there are none, and adds what it chose.
struct GrowingText {
  /// The text so far. Until ``end(receive:)`` it lacks what is not certain yet.
  private(set) var result = Generation()
  private let options: GenerationOptions
  private let limit: Int
  private var guide: GuidedText?
  private var sampler: Sampler
  private var softmax = LogSoftmax()
  private var stops: StopStrings
  private var decoder: StreamDecoder
  private var hasEnded = false

  /// A text of at most `limit` tokens, and of no more than `options` allow.
  ///
  /// - Throws: ``InferenceError/constraintNeedsTokens(_:available:)``.
  init(behind prompt: [Int32], limit: Int, tokenizer: Tokenizer, options: GenerationOptions, constraint: TokenConstraint?)
    throws(InferenceError)
  {
    self.options = options
    self.limit = min(options.maximumTokens, limit)
    if let constraint { guide = try GuidedText(constraint, tokens: self.limit) }
    sampler = Sampler(options.sampling)
    stops = StopStrings(options.stopStrings)
    decoder = tokenizer.streamDecoder(skippingSpecialTokens: true)
    // The prompt's end decides whether the text begins with a space.
    for id in prompt {
      sampler.record(id)
      _ = decoder.append(id)
    }
  }

  /// True when no token comes any more.
  var isOver: Bool { hasEnded || result.tokens.count >= limit || guide?.isOver == true }

  /// Tokens that come next whatever the model says. None where each token's probability is wanted: that needs its own logits.
  mutating func forced() -> [Int32] {
    options.logProbabilities == nil ? guide?.forced(remaining: limit - result.tokens.count) ?? [] : []
  }

  /// Chooses the token that comes next by the logits `[V]` behind the last one, among those that a constraint allows.
  mutating func choose(_ logits: Span<Float>) throws(InferenceError) -> Int32 {
    let id = try next(logits)
    if let alternatives = options.logProbabilities, !options.stopTokens.contains(id),
      let score = softmax.score(logits, token: id, alternatives: alternatives)
    {
      result.logProbabilities.append(score)
    }
    return id
  }

  private mutating func next(_ logits: Span<Float>) throws(InferenceError) -> Int32 {
    guard var guided = guide.take() else { return try sampler.next(logits) }
    defer { guide = guided }
    return try guided.choose(remaining: limit - result.tokens.count) { allowed throws(InferenceError) in
      try sampler.next(logits, allowed: allowed)
    }
  }

  /// Adds tokens, as far as the text goes; `receive` gets each one's piece of text and ends the text by returning false.
  mutating func add(_ tokens: [Int32], receive: (String) -> Bool = { _ in true }) {
    for id in tokens where !hasEnded {
      guide?.advance(id)
      if options.stopTokens.contains(id) {
        (result.finishReason, result.stopToken, hasEnded) = (.stop, id, true)
        return
      }
      sampler.record(id)
      result.tokens.append(id)
      let piece = stops.append(decoder.append(id))
      result.text += piece
      if !receive(piece) { (result.finishReason, hasEnded) = (.interrupted, true) }
      if stops.found != nil { hasEnded = true }
    }
  }

  /// Ends the text: `receive` gets what was held back.
  mutating func end(receive: (String) -> Bool = { _ in true }) -> Generation {
    let rest = stops.append(decoder.flush()) + stops.flush()
    result.text += rest
    if !rest.isEmpty { _ = receive(rest) }
    guard result.finishReason != .interrupted else { return result }
    if let found = stops.found { (result.finishReason, result.stopString) = (.stop, found) }
    if guide?.isComplete == true { result.finishReason = .stop }
    return result
  }
}
