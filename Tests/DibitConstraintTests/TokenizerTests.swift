import DibitConstraint
import DibitJSON
import DibitTokenizer
import Foundation
import Testing

/// The real tokenizer beside the package: SentencePiece with bytes for what it lacks. Tests that need it stop when it is absent.
private let path = "../shared/data/stories260k/hf/tokenizer.json"

@Suite struct TokenizerTests {
  private func vocabulary() throws -> (Tokenizer, TokenVocabulary)? {
    guard let file = FileManager.default.contents(atPath: path) else {
      print("skipped: \(path) is not there")
      return nil
    }
    let tokenizer = try Tokenizer(parsing: Array(file))
    return (tokenizer, try TokenVocabulary(tokenizer, endTokens: [2]))
  }

  @Test func controlTokensAreNeverAllowed() throws {
    guard let (tokenizer, vocabulary) = try vocabulary() else { return }
    var state = try TokenConstraint(Constraint(schema: #"{"type":"string"}"#), vocabulary: vocabulary).start()
    var mask = TokenMask(count: vocabulary.count)
    state.mask(into: &mask)
    #expect(!mask[0] && !mask[1] && !mask[2] && tokenizer.unknownToken == 0)
    let quote = try #require(tokenizer.id(of: "\""))
    #expect(mask[quote])
    state.advance(quote)
    state.mask(into: &mask)
    #expect(!mask[0] && !mask[1] && !mask[2] && mask.allowedCount > 300)
  }

  @Test func outputsOfRealTokensAreJSON() throws {
    guard let (tokenizer, vocabulary) = try vocabulary() else { return }
    var rng = Seeded(3)
    for (index, (schema, _, _)) in schemas.enumerated() where index % 3 == 0 {
      let (start, validator) = (try TokenConstraint(Constraint(schema: schema), vocabulary: vocabulary).start(), try Validator(schema))
      let limit = start.tokensToEnd + 20
      var (state, tokens): (ConstraintState, [Int32]) = (start, [])
      var mask = TokenMask(count: vocabulary.count)
      while !state.hasEnded, tokens.count < limit {
        let forced = state.forcedTokens(remaining: limit - tokens.count)
        if !forced.isEmpty {
          for token in forced {
            let isTaken = state.advance(token)
            #expect(isTaken)
          }
          tokens += forced
          continue
        }
        state.mask(into: &mask, remaining: limit - tokens.count)
        var allowed: [Int32] = []
        mask.forEachAllowed { allowed.append($0) }
        let token = try #require(allowed.randomElement(using: &rng))
        let isTaken = state.advance(token)
        #expect(isTaken)
        if !state.hasEnded { tokens.append(token) }
      }
      #expect(state.isComplete || state.hasEnded)
      // What the tokenizer makes of the tokens, behind other text, is what was checked.
      let before = tokenizer.encode("said:")
      let text = tokenizer.decode(before + tokens).utf8.dropFirst(tokenizer.decode(before).utf8.count)
      let value = try JSONValue(parsing: text)
      #expect(validator.accepts(value), "\(schema): \(value.serialized())")
    }
  }

  @Test func forcedTokensAreThoseOfTheTokenizer() throws {
    guard let (tokenizer, vocabulary) = try vocabulary() else { return }
    let constraint = try TokenConstraint(Constraint(choices: ["Once upon a time, there was a girl"]), vocabulary: vocabulary)
    var state = constraint.start()
    let forced = state.forcedTokens()
    #expect(forced.flatMap { Array(vocabulary.bytes(of: $0)) } == Array("Once upon a time, there was a girl".utf8))
    // The space that the tokenizer puts before a text is not part of it; the rest is the same.
    #expect(forced.suffix(6) == tokenizer.encode("Once upon a time, there was a girl").suffix(6))
  }
}
