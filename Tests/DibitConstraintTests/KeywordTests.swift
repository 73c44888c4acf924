import DibitConstraint
import DibitJSON
import Testing

@Suite struct KeywordTests {
  @Test("each schema accepts and refuses what it says", arguments: schemas.indices)
  func accepts(index: Int) throws {
    let (schema, accepted, refused) = schemas[index]
    let start = try constraints[index].get().start()
    let validator = try Validator(schema)
    for text in accepted {
      #expect(start.accepts(text), "\(schema) refuses \(text)")
      // The judge agrees with the examples.
      #expect(validator.accepts(try JSONValue(parsing: text)), "the judge of \(schema) refuses \(text)")
    }
    for text in refused { #expect(!start.accepts(text), "\(schema) accepts \(text)") }
  }

  @Test("every way to cut an accepted text into tokens is allowed", arguments: schemas.indices)
  func cuts(index: Int) throws {
    let (schema, accepted, _) = schemas[index]
    let vocabulary = TestVocabulary.shared
    var rng = Seeded(UInt64(index))
    let start = try constraints[index].get().start()
    for text in accepted {
      let bytes = Array(text.utf8)
      for _ in 0..<8 {
        var state = start
        var mask = TokenMask(count: vocabulary.count)
        var offset = 0
        while offset < bytes.count {
          let fitting = (0..<Int32(vocabulary.count)).filter { id in
            let token = vocabulary.bytes(of: id)
            return !token.isEmpty && bytes[offset...].starts(with: token)
          }
          state.mask(into: &mask)
          for token in fitting { #expect(mask[token], "\(schema) \(text) at \(offset): token \(token)") }
          let token = try #require(fitting.randomElement(using: &rng))
          let isTaken = state.advance(token)
          try #require(isTaken)
          offset += vocabulary.bytes(of: token).count
        }
        #expect(state.isComplete)
      }
    }
  }

  @Test func choicesAreExactlyThese() throws {
    let constraint = try TokenConstraint(Constraint(choices: ["spo", "sport", "日本", "news", ""]), vocabulary: TestVocabulary.shared)
    var start = constraint.start()
    for text in ["spo", "sport", "日本", "news", ""] { #expect(start.accepts(text)) }
    for text in ["sp", "spor", "sports", "x", "日"] { #expect(!start.accepts(text)) }
    // One choice begins another: the end is allowed beside the longer one.
    for byte in "spo".utf8 { start.advance(Int32(byte) + 2) }
    var mask = TokenMask(count: TestVocabulary.shared.count)
    start.mask(into: &mask)
    #expect(mask[TestVocabulary.end] && mask[Int32(UInt8(ascii: "r")) + 2] && mask.allowedCount == 2)
    #expect(start.isComplete && !start.mustEnd && start.tokensToEnd == 0)
    let hasEnded = start.advance(TestVocabulary.end)
    #expect(hasEnded && start.hasEnded && start.mustEnd && !start.isComplete)
    start.mask(into: &mask)
    let (endsAgain, forced) = (start.advance(TestVocabulary.end), start.forcedTokens())
    #expect(mask.isEmpty && !endsAgain && forced.isEmpty)
  }

  @Test func depthIsBounded() throws {
    let tree = ##"{"$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}},"$ref":"#/$defs/t"}"##
    let start = try state(tree, depth: 3)
    #expect(start.accepts("[[[]]]") && !start.begins("[[[["))
    // A value that needs more room than there is is not begun.
    let list =
      ##"{"type":"object","properties":{"v":{"type":"array","items":{"type":"array"}},"next":{"$ref":"#"}},"required":["v"]}"##
    let deep = try state(list, depth: 3)
    #expect(deep.accepts(#"{"v":[[]],"next":{"v":[]}}"#) && !deep.begins(#"{"v":[[[]"#) && !deep.begins(#"{"v":[],"next":{"v":[["#))
    #expect(!deep.begins(#"{"v":[],"next":{"v":[],"next"#))
  }

  @Test func advanceRefusesWhatTheMaskRefuses() throws {
    var start = try state(#"{"type":"boolean"}"#)
    for token in [1, -1, Int32.max, TestVocabulary.end, Int32(UInt8(ascii: "x")) + 2] {
      let (isTaken, isAllowed) = (start.advance(token), start.allows(token))
      #expect(!isTaken && !isAllowed)
    }
    #expect(start.accepts("true"))
  }
}
