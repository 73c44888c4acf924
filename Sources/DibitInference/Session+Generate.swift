package import DibitConstraint
internal import DibitTensor
package import DibitTokenizer

extension Session {
  /// Continues `prompt`, which is appended first; `receive` gets each piece of text as soon as it is certain and ends the generation by
  /// returning false. It is called for every token, if need be with nothing.
  ///
  /// Text is certain when its characters are whole and it cannot be the beginning of a stop string. The repetition penalty looks back at
  /// `prompt` and at what was generated behind it, not at what the session held before.
  ///
  /// Under a `constraint` only tokens are chosen behind which the text can still satisfy it within the tokens that are left; what can come
  /// in one way only is not asked of the model. The text then satisfies the constraint however it ends, but for an interruption or a stop
  /// string.
  ///
  /// - Parameters:
  ///   - past: how many of the prompt's first tokens the session holds already, at its end: they are not read again. At least one is left.
  ///   - reading: is told after each pass over the prompt how many of its tokens have been read, `past` included, and ends the generation
  ///     by returning false. Scoring the prompt is one step.
  package mutating func generate(
    _ prompt: [Int32], past: Int = 0, tokenizer: Tokenizer, options: GenerationOptions, constraint: TokenConstraint? = nil,
    receive: (String) -> Bool = { _ in true }, reading: (Int) -> Bool = { _ in true }
  ) throws(InferenceError) -> Generation {
    require(past == 0 || past < prompt.count && past <= count, "Session.generate: \(past) past tokens of \(prompt.count), \(count) held")
    var result = Generation()
    if let alternatives = options.logProbabilities, options.scoresPrompt {
      result.promptLogProbabilities = try logProbabilities(of: Array(prompt[past...]), alternatives: alternatives)
      _ = reading(prompt.count)
    } else if try !append(prompt.span.extracting(past...), reading: { reading(past + $0) }) {
      result.finishReason = .interrupted
      return result
    }
    let limit = min(options.maximumTokens, context - count)
    var guide: GuidedText?
    if let constraint { guide = try GuidedText(constraint, tokens: limit) }
    var sampler = Sampler(options.sampling)
    var softmax = LogSoftmax()
    var stops = StopStrings(options.stopStrings)
    var decoder = tokenizer.streamDecoder(skippingSpecialTokens: true)
    // The prompt's end decides whether the text begins with a space.
    for id in prompt {
      sampler.record(id)
      _ = decoder.append(id)
    }
    /// Tokens of the result from here on are not in the session yet.
    var read = 0
    var next: [Int32] = []
    writing: while result.tokens.count < limit {
      if guide?.isOver == true { break }
      let remaining = limit - result.tokens.count
      // Each token's own logits are needed for its probability.
      next.removeAll(keepingCapacity: true)
      if options.logProbabilities == nil, let forced = guide?.forced(remaining: remaining) { next += forced }
      if next.isEmpty {
        if read < result.tokens.count { try append(result.tokens.span.extracting(read...)) }
        read = result.tokens.count
        next.append(try nextToken(&sampler, &guide, remaining: remaining))
      }
      for id in next {
        guide?.advance(id)
        if options.stopTokens.contains(id) {
          (result.finishReason, result.stopToken) = (.stop, id)
          break writing
        }
        sampler.record(id)
        result.tokens.append(id)
        if let alternatives = options.logProbabilities,
          let score = withLastLogits({ softmax.score($0, token: id, alternatives: alternatives) })
        {
          result.logProbabilities.append(score)
        }
        let piece = stops.append(decoder.append(id))
        result.text += piece
        guard receive(piece) else {
          result.finishReason = .interrupted
          break writing
        }
        if stops.found != nil { break writing }
      }
    }
    let rest = stops.append(decoder.flush()) + stops.flush()
    result.text += rest
    if !rest.isEmpty { _ = receive(rest) }
    guard result.finishReason != .interrupted else { return result }
    if let found = stops.found { (result.finishReason, result.stopString) = (.stop, found) }
    if guide?.isComplete == true { result.finishReason = .stop }
    return result
  }

  /// Chooses the token behind the last one, among those that a constraint allows.
  private func nextToken(_ sampler: inout Sampler, _ guide: inout GuidedText?, remaining: Int) throws(InferenceError) -> Int32 {
    guard guide != nil else {
      return try withLastLogits { logits throws(InferenceError) in try sampler.next(logits) }
    }
    guard var guided = guide.take() else { return 0 }
    defer { guide = guided }
    return try withLastLogits { logits throws(InferenceError) in
      try guided.choose(remaining: remaining) { allowed throws(InferenceError) in try sampler.next(logits, allowed: allowed) }
    }
  }
}
