import DibitInference
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTokenizer
import Glibc
import Testing

/// Log-probabilities of a row, in doubles.
func plainLogProbabilities(_ logits: [Float]) -> [Double] {
  let largest = Double(logits.max() ?? 0)
  let normalizer = largest + log(logits.reduce(0.0) { $0 + exp(Double($1) - largest) })
  return logits.map { Double($0) - normalizer }
}

@Suite struct LogProbabilityTests {
  /// Float exponentials, off by up to 1e-7 of themselves each, under a logarithm.
  private let tolerance = 2e-7

  private func check(_ scored: ScoredToken, _ logits: [Float], alternatives: Int) {
    let expected = plainLogProbabilities(logits)
    #expect(abs(scored.logProbability - expected[Int(scored.token)]) <= tolerance)
    let order = logits.indices.sorted { logits[$0] != logits[$1] ? logits[$0] > logits[$1] : $0 < $1 }
    #expect(scored.alternatives.map(\.token) == order.prefix(alternatives).map { Int32($0) })
    for other in scored.alternatives {
      #expect(abs(other.logProbability - expected[Int(other.token)]) <= tolerance)
      #expect(other.alternatives.isEmpty)
    }
  }

  @Test("of generated tokens", arguments: [0, 5, 400], [0, 1] as [Float])
  func generated(alternatives: Int, temperature: Float) throws {
    let model = try makeModel("llama")
    let prompt = model.tokenizer.encode("the goal")
    var options = GenerationOptions()
    (options.maximumTokens, options.logProbabilities) = (10, alternatives)
    options.sampling = sampling(temperature: temperature, topK: 20, penalty: 1.5)
    var session = makeSession(model)
    let result = try session.generate(prompt, tokenizer: model.tokenizer, options: options)
    #expect(result.logProbabilities.map(\.token) == result.tokens)
    #expect(result.promptLogProbabilities.isEmpty)
    // They are of the model itself: the same whatever the token was chosen by.
    session.rewind()
    try session.append(prompt)
    for scored in result.logProbabilities {
      check(scored, session.lastLogits, alternatives: min(alternatives, 320))
      try session.append([scored.token])
    }
    options.logProbabilities = nil
    session.rewind()
    let bare = try session.generate(prompt, tokenizer: model.tokenizer, options: options)
    #expect(bare.tokens == result.tokens)
    #expect(bare.logProbabilities.isEmpty)
  }

  @Test("of given tokens, in pieces", arguments: ["llama", "afm7"])
  func given(family: String) throws {
    let model = try makeModel(family)
    // Longer than a chunk of rows and than a chunk of logits.
    let text = tokens(300)
    var session = makeSession(model)
    let whole = try session.logProbabilities(of: text, alternatives: 2)
    let after = session.lastLogits
    #expect(session.count == 300)
    #expect(whole.count == 300)
    #expect(whole[0] == nil)
    #expect(whole.dropFirst().map { $0?.token } == text.dropFirst().map { $0 })
    // Against decoding one by one. int8 keys and values of afm7 may fall to the next code where rows round differently.
    let difference = family == "afm7" ? 1e-3 : 1e-4
    session.rewind()
    for (index, token) in text.enumerated() {
      if index > 0 {
        let logits = session.lastLogits
        let scored = try #require(whole[index])
        #expect(abs(scored.logProbability - plainLogProbabilities(logits)[Int(token)]) <= difference)
        #expect(scored.alternatives.count == 2)
      }
      try session.append([token])
    }
    #expect(relativeError(after, session.lastLogits) <= difference)
    session.rewind()
    let pieces = try session.logProbabilities(of: Array(text[..<33])) + session.logProbabilities(of: Array(text[33...]))
    for (a, b) in zip(pieces, whole) {
      guard let a, let b else {
        #expect(a == nil && b == nil)
        continue
      }
      #expect(abs(a.logProbability - b.logProbability) <= difference)
      #expect(a.alternatives.isEmpty)
    }
  }

  @Test func ofThePrompt() throws {
    let model = try makeModel("llama")
    let prompt = model.tokenizer.encode("the goal of the match")
    var options = GenerationOptions()
    (options.maximumTokens, options.logProbabilities, options.scoresPrompt) = (3, 1, true)
    var session = makeSession(model)
    let result = try session.generate(prompt, tokenizer: model.tokenizer, options: options)
    session.rewind()
    #expect(try session.logProbabilities(of: prompt, alternatives: 1) == result.promptLogProbabilities)
    options.maximumTokens = 0
    session.rewind()
    let scores = try session.generate(prompt, tokenizer: model.tokenizer, options: options)
    #expect(scores.promptLogProbabilities == result.promptLogProbabilities)
    #expect(scores.tokens.isEmpty)
  }

  @Test("what has no probabilities is an error and leaves the session as it was")
  func errors() throws {
    var session = makeSession(try makeModel("llama"), context: 16)
    #expect(throws: InferenceError.emptyPrompt) { try session.logProbabilities(of: []) }
    #expect(throws: InferenceError.contextFull(tokens: 17, context: 16)) { try session.logProbabilities(of: tokens(17)) }
    #expect(throws: InferenceError.unknownToken(320, vocabulary: 320)) { try session.logProbabilities(of: [1, 320]) }
    #expect(session.count == 0)
  }
}
