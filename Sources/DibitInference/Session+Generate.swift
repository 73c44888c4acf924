public import DibitTokenizer

extension Session {
  /// Continues `prompt`, which is appended first; `receive` gets each piece of text as soon as it is certain and ends the generation by
  /// returning false. It is called for every token, if need be with nothing.
  ///
  /// Text is certain when its characters are whole and it cannot be the beginning of a stop string. The repetition penalty looks back at
  /// `prompt` and at what was generated behind it, not at what the session held before.
  public mutating func generate(
    _ prompt: [Int32], tokenizer: Tokenizer, options: GenerationOptions, receive: (String) -> Bool = { _ in true }
  ) throws(InferenceError) -> Generation {
    var result = Generation()
    if let alternatives = options.logProbabilities, options.scoresPrompt {
      result.promptLogProbabilities = try logProbabilities(of: prompt, alternatives: alternatives)
    } else {
      try append(prompt)
    }
    var sampler = Sampler(options.sampling)
    var softmax = LogSoftmax()
    var stops = StopStrings(options.stopStrings)
    var decoder = tokenizer.streamDecoder(skippingSpecialTokens: true)
    // The prompt's end decides whether the text begins with a space.
    for id in prompt {
      sampler.record(id)
      _ = decoder.append(id)
    }
    while result.tokens.count < options.maximumTokens, count < context {
      let id = try nextToken(&sampler)
      if options.stopTokens.contains(id) {
        result.finishReason = .stop
        break
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
        break
      }
      guard stops.found == nil, result.tokens.count < options.maximumTokens, count < context else { break }
      try append([id])
    }
    let rest = stops.append(decoder.finish()) + stops.flush()
    result.text += rest
    if !rest.isEmpty { _ = receive(rest) }
    if let found = stops.found, result.finishReason != .interrupted { (result.finishReason, result.stopString) = (.stop, found) }
    return result
  }

  /// Chooses the token behind the last one: the one place that a constraint on what may follow goes through, as the sampler's `allowed`.
  private func nextToken(_ sampler: inout Sampler) throws(InferenceError) -> Int32 {
    try withLastLogits { logits throws(InferenceError) in try sampler.next(logits) }
  }
}
