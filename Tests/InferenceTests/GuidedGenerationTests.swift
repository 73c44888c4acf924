import DibitConstraint
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTokenizer
import Testing

/// Text under a constraint, from a model with random weights: it would never write such text by itself.
@Suite struct GuidedGenerationTests {
  private func generated(
    _ constraint: Constraint, seed: UInt64, tokens: Int = 60, logProbabilities: Int? = nil
  ) throws -> Generation {
    let model = try makeModel("llama")
    let tokenizer = model.tokenizer
    let guide = try TokenConstraint(constraint, vocabulary: TokenVocabulary(tokenizer, endTokens: []))
    var session = makeSession(model)
    var options = GenerationOptions()
    options.maximumTokens = tokens
    options.sampling.temperature = 2
    options.sampling.seed = seed
    options.logProbabilities = logProbabilities
    return try session.generate([1, 2, 3], tokenizer: tokenizer, options: options, constraint: guide)
  }

  @Test func aChoiceIsOneOfThem() throws {
    let choices = ["ab", "ba", "bcd"]
    var seen = Set<String>()
    for seed in 0..<12 {
      let result = try generated(try Constraint(choices: choices), seed: UInt64(seed))
      #expect(choices.contains(result.text) && result.finishReason == .stop)
      seen.insert(result.text)
    }
    #expect(seen.count > 1, "the model chooses")
  }

  @Test func jsonSatisfiesItsSchemaAlsoWithFewTokens() throws {
    let constraint = try Constraint(
      schema: """
        {"type": "object", "required": ["a", "n"],
         "properties": {"a": {"enum": ["x", "yy"]}, "n": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}}}
        """)
    for seed in 0..<6 {
      for tokens in [24, 60] {
        let result = try generated(constraint, seed: UInt64(seed), tokens: tokens)
        #expect(result.finishReason == .stop && result.tokens.count <= tokens)
        #expect(result.text.hasPrefix(#"{"a":""#) && result.text.hasSuffix("]}"), "\(result.text)")
      }
    }
  }

  @Test func everyTokenHasItsProbability() throws {
    let result = try generated(try Constraint(choices: ["abab", "baba"]), seed: 1, logProbabilities: 0)
    #expect(result.logProbabilities.map(\.token) == result.tokens)
  }

  @Test func tooFewTokensSaySo() throws {
    #expect(throws: InferenceError.self) { try generated(try Constraint(choices: ["abababababab"]), seed: 1, tokens: 2) }
  }
}
