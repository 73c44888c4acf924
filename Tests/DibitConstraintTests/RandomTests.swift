import DibitConstraint
import DibitJSON
import Testing

@Suite struct RandomTests {
  /// What a mask must be: each token's bytes tried one by one.
  private func check(_ state: inout ConstraintState, _ mask: TokenMask, _ schema: String) {
    for token in 0..<Int32(TestVocabulary.shared.count) where mask[token] != state.allows(token) {
      Issue.record("\(schema): token \(token): mask \(mask[token])")
    }
  }

  /// What a mask with few tokens left must be: behind each token an end is within reach.
  private func check(_ state: ConstraintState, _ mask: TokenMask, remaining: Int, _ schema: String, _ rng: inout Seeded) {
    var allowed: [Int32] = []
    mask.forEachAllowed { allowed.append($0) }
    #expect(!allowed.isEmpty, "\(schema): nothing is allowed with \(remaining) left")
    for token in allowed.shuffled(using: &rng).prefix(12) {
      var copy = state
      let isTaken = copy.advance(token)
      #expect(isTaken && copy.tokensToEnd < max(remaining, state.tokensToEnd), "\(schema): token \(token), \(remaining) left")
    }
  }

  @Test("texts of random tokens are JSON that the judge accepts, and fit their limit", arguments: schemas.indices)
  func walks(index: Int) throws {
    let schema = schemas[index].schema
    let (start, validator) = (try constraints[index].get().start(), try Validator(schema))
    var rng = Seeded(UInt64(index) + 1)
    var total = 0
    for limit in [start.tokensToEnd, start.tokensToEnd + 1, start.tokensToEnd + 3, 40, 60, 80, 100, 120, 150, 200, 300] {
      guard limit >= start.tokensToEnd else { continue }
      let (text, tokens, isWhole) = randomText(start, tokens: limit, using: &rng)
      total += tokens
      #expect(isWhole && tokens <= limit, "\(schema) with \(limit): \(String(decoding: text, as: UTF8.self))")
      let string = try #require(String(validating: text, as: UTF8.self))
      let value = try JSONValue(parsing: string)
      #expect(validator.accepts(value), "\(schema): \(string)")
      // Nothing but the spelling without spaces is made.
      #expect(start.accepts(string))
    }
    #expect(total > 0)
  }

  @Test("masks are what trying every token gives", arguments: schemas.indices)
  func masks(index: Int) throws {
    let schema = schemas[index].schema
    var rng = Seeded(UInt64(index) + 1000)
    var checked = 0
    var others = Seeded(UInt64(index) + 2000)
    for tokens in [12, 40] {
      _ = randomText(try constraints[index].get().start(), tokens: tokens, using: &rng) { state, mask, remaining in
        var plain = TokenMask(count: mask.count)
        state.mask(into: &plain)
        check(&state, plain, schema)
        check(state, mask, remaining: remaining, schema, &others)
        checked += 1
      }
    }
    #expect(checked > 0)
  }

  @Test("an end is always within reach", arguments: schemas.indices)
  func completions(index: Int) throws {
    let (schema, accepted, _) = schemas[index]
    let validator = try Validator(schema)
    for text in accepted {
      var state = try constraints[index].get().start()
      var made: [UInt8] = []
      for byte in text.utf8 {
        let completion = state.shortestCompletion()
        #expect(completion.count <= state.tokensToEnd)
        let whole = made + completion.flatMap { Array(TestVocabulary.shared.bytes(of: $0)) }
        let string = try #require(String(validating: whole, as: UTF8.self))
        #expect(validator.accepts(try JSONValue(parsing: string)), "\(schema): \(string)")
        state.advance(Int32(byte) + 2)
        made.append(byte)
      }
    }
  }

  @Test("all walks together are long")
  func walksAreLong() throws {
    var (rng, total, count) = (Seeded(7), 0, 0)
    for (index, (schema, _, _)) in schemas.enumerated() {
      let (start, validator) = (try constraints[index].get().start(), try Validator(schema))
      for _ in 0..<12 {
        let (text, tokens, isWhole) = randomText(start, tokens: max(80, start.tokensToEnd), using: &rng)
        total += tokens
        count += 1
        let value = try JSONValue(parsing: text)
        #expect(isWhole && validator.accepts(value), "\(schema): \(String(decoding: text, as: UTF8.self))")
      }
    }
    #expect(total >= 10_000 && count >= 12 * 40, "\(total) tokens in \(count) texts")
  }

  @Test func statesShareAConstraint() async throws {
    let constraint = try constraints[38].get()
    let texts = await withTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<8 {
        group.addTask {
          var rng = Seeded(99)
          return randomText(constraint.start(), tokens: 60, using: &rng).text
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts.count == 8 && Set(texts).count == 1 && texts[0].count > 2)
  }

  @Test func keysAreUniqueWithinAToken() throws {
    var state = try state(#"{"type":"object","additionalProperties":{"type":"integer"}}"#)
    for byte in "{\"".utf8 { state.advance(Int32(byte) + 2) }
    var mask = TokenMask(count: TestVocabulary.shared.count)
    func isAllowed(_ text: String) throws -> Bool {
      let token = (0..<Int32(mask.count)).first { TestVocabulary.shared.bytes(of: $0).elementsEqual(text.utf8) }
      return mask[try #require(token)]
    }
    state.mask(into: &mask)
    #expect(try !isAllowed("a\":1,\"a\":") && isAllowed("x\":1,\"b\":2") && isAllowed("a\":"))
    for byte in "x\":1,\"".utf8 { state.advance(Int32(byte) + 2) }
    state.mask(into: &mask)
    #expect(try !isAllowed("a\":1,\"a\":") && !isAllowed("x\":1,\"b\":2") && isAllowed("a\":"))
  }
}
