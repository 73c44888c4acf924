import DibitConstraint
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTokenizer
import Testing

/// More prompts than are written side by side, of many lengths, one of them longer than a pass; they begin alike.
private func makePrompts() -> [[Int32]] {
  (0..<40).map { tokens(3, seed: 9) + tokens([2, 30, 5, 11][$0 % 4] + ($0 == 17 ? 280 : $0 % 7), seed: UInt64($0)) }
}

@Suite struct BatchWriterTests {
  private typealias Answers = [Result<Generation, InferenceError>]

  /// What a batch makes of the prompts, and what a session of its own makes of each.
  private func written(
    _ family: String, _ prompts: [[Int32]], options: GenerationOptions, constraint: Constraint? = nil, context: Int = 400, threads: Int = 2
  ) throws -> (batch: Answers, alone: Answers) {
    let (configuration, weights) = try makePackedModel(family)
    let tokenizer = try makeModel(family).tokenizer
    let guide = try constraint.map { try TokenConstraint($0, vocabulary: TokenVocabulary(tokenizer, endTokens: [])) }
    var writer = BatchWriter(
      MeasuredModel(configuration, weights: weights), context: context, precision: .int8, on: Compute(threads: threads))
    var batch = Answers(repeating: .failure(.emptyText), count: prompts.count)
    var iterator = prompts.makeIterator()
    writer.write(sharing: tokens(3, seed: 9), tokenizer: tokenizer, options: options, constraint: guide) {
      iterator.next()
    } receive: { index, result in
      batch[index] = result
      return true
    }
    let alone = prompts.enumerated().map { index, prompt in
      var options = options
      options.sampling.seed += UInt64(index)
      var session = Session(configuration, weights: weights, context: context, precision: .int8, on: Compute(threads: 1))
      return Result { () throws(InferenceError) in
        try session.generate(prompt, tokenizer: tokenizer, options: options, constraint: guide)
      }
    }
    return (batch, alone)
  }

  @Test("each text is what a session of its own writes, with a seed of its own", arguments: ["llama", "afm7"], [1, 3])
  func sessions(family: String, threads: Int) throws {
    var options = GenerationOptions()
    (options.maximumTokens, options.sampling.temperature, options.sampling.seed) = (12, 1, 4)
    (options.logProbabilities, options.sampling.repetitionPenalty) = (2, 1.3)
    let first = try written(family, makePrompts(), options: options, threads: threads)
    #expect(first.batch == first.alone)
    // The tokens that the first texts begin with end the second ones: at many places, many at once.
    options.stopTokens = Set(first.alone.prefix(3).compactMap { try? $0.get().tokens.dropFirst(2).first })
    let second = try written(family, makePrompts(), options: options, threads: threads)
    #expect(second.batch == second.alone)
    let reasons = try second.batch.map { try $0.get().finishReason }
    #expect(Set(reasons) == [.stop, .length])
  }

  @Test("what can come in one way only is not asked of the model")
  func guided() throws {
    let constraint = try Constraint(
      schema: """
        {"type": "object", "required": ["topics"], "additionalProperties": false,
         "properties": {"topics": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"enum": ["a", "bb", "ca"]}}}}
        """)
    var options = GenerationOptions()
    (options.maximumTokens, options.sampling.temperature, options.sampling.seed) = (60, 1, 2)
    let (batch, alone) = try written("llama", makePrompts(), options: options, constraint: constraint)
    #expect(batch == alone)
    #expect(Set(try batch.map { try $0.get().text }).count > 3)
    // One way from the beginning to the end: nothing is asked.
    let only = try written("llama", makePrompts(), options: options, constraint: try Constraint(choices: ["ab"]))
    #expect(only.batch == only.alone)
    // A prompt may end in the middle of a character.
    #expect(try only.batch.allSatisfy { try $0.get().text.hasSuffix("ab") })
  }

  @Test("a prompt that cannot be run stops no other; what fills the context ends there")
  func faults() throws {
    var options = GenerationOptions()
    options.maximumTokens = 9
    var prompts = makePrompts().map { Array($0.prefix(30)) }
    (prompts[1], prompts[4], prompts[20]) = ([], tokens(33, seed: 1), [3, 1 << 20])
    prompts[6] = tokens(32, seed: 2)
    let (batch, alone) = try written("llama", prompts, options: options, context: 32)
    #expect(batch == alone)
    #expect(batch[1] == .failure(.emptyPrompt))
    #expect(batch[4] == .failure(.contextFull(tokens: 33, context: 32)))
    guard case .failure(.unknownToken(1 << 20, _)) = batch[20] else { return #expect(Bool(false), "\(batch[20])") }
    #expect(try batch[6].get().tokens == [] && batch[6].get().finishReason == .length)
  }

  @Test("the receiver stops the writing, and the writer goes on with other prompts")
  func stops() throws {
    let (configuration, weights) = try makePackedModel("llama")
    let tokenizer = try makeModel("llama").tokenizer
    var writer = BatchWriter(MeasuredModel(configuration, weights: weights), context: 400, precision: .int8, on: compute)
    var options = GenerationOptions()
    options.maximumTokens = 3
    func write(until last: Int) -> [Int: Generation] {
      var found: [Int: Generation] = [:]
      var iterator = makePrompts().makeIterator()
      writer.write(tokenizer: tokenizer, options: options) {
        iterator.next()
      } receive: { index, result in
        found[index] = try? result.get()
        return found.count < last
      }
      return found
    }
    let whole = write(until: 100)
    #expect(whole.count == 40)
    // Often enough for a slot that is not given back to be missed.
    for _ in 0..<30 { #expect(write(until: 2).allSatisfy { whole[$0.key] == $0.value }) }
    #expect(write(until: 100) == whole)
  }
}
