import DibitConstraint
import DibitJSON
import Testing

@Suite struct ForcedTests {
  private func text(_ tokens: [Int32]) -> String {
    String(decoding: tokens.flatMap { Array(TestVocabulary.shared.bytes(of: $0)) }, as: UTF8.self)
  }

  private let topics =
    #"{"type":"object","properties":{"topics":{"type":"array","items":{"enum":["sport","news"]},"minItems":1,"maxItems":1}},"required":["topics"]}"#

  @Test func certainTextNeedsNoModel() throws {
    var state = try state(topics)
    #expect(String(decoding: state.forcedBytes(), as: UTF8.self) == #"{"topics":[""#)
    let first = state.forcedTokens()
    #expect(text(first) == #"{"topics":[""# && first.count == 1)
    for token in first { state.advance(token) }
    #expect(state.forcedTokens().isEmpty)
    state.advance(Int32(UInt8(ascii: "n")) + 2)
    let rest = state.forcedTokens()
    #expect(text(rest) == #"ews"]}"#)
    for token in rest { state.advance(token) }
    #expect(state.isComplete && state.mustEnd && state.forcedTokens().isEmpty)
  }

  @Test func theLastTokensAreLeftWhereLongerOnesReachBeyond() throws {
    // The vocabulary has `":"` but also `":{"`, `":[`, `":true`: which of them comes is not certain yet.
    var state = try state(#"{"type":"object","properties":{"qq":{"type":["boolean","array"]}},"required":["qq"]}"#)
    #expect(String(decoding: state.forcedBytes(), as: UTF8.self) == #"{"qq":"#)
    #expect(text(state.forcedTokens()) == #"{"qq"#)
  }

  @Test func aScalarIsForcedWholeOrNotAtAll() throws {
    // é and è share their first byte.
    let constraint = try TokenConstraint(Constraint(choices: ["qé", "qè"]), vocabulary: TestVocabulary.shared)
    var state = constraint.start()
    #expect(state.forcedBytes() == [0x71, 0xC3])
    #expect(text(state.forcedTokens()) == "q")
  }

  @Test("forced tokens are allowed, and lead where the forced bytes lead", arguments: schemas.indices)
  func forcedTokensAreAllowed(index: Int) throws {
    var rng = Seeded(UInt64(index) + 50)
    for _ in 0..<3 {
      _ = randomText(try constraints[index].get().start(), tokens: 30, using: &rng) { state, mask, _ in
        var copy = state
        let (bytes, tokens) = (copy.forcedBytes(), copy.forcedTokens())
        #expect(bytes.starts(with: tokens.flatMap { Array(TestVocabulary.shared.bytes(of: $0)) }))
        for token in tokens {
          let isTaken = copy.advance(token)
          #expect(isTaken)
        }
        // Where bytes are certain, every allowed token agrees with them.
        mask.forEachAllowed { token in
          let token = TestVocabulary.shared.bytes(of: token)
          #expect(bytes.starts(with: token) || token.starts(with: bytes))
        }
      }
    }
  }
}
