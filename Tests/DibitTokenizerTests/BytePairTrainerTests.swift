internal import DibitTokenizer
internal import Testing

@Suite struct BytePairTrainerTests {
  private let texts = ["low lower lowest", "new newer newest wide wider", "low low 😀 😀 né"]

  @Test func idsStartWithSpecialTokensAndBytes() throws {
    let tokenizer = try Tokenizer.training(on: texts, vocabularySize: 270, specialTokens: ["<pad>", "</s>"])
    #expect(tokenizer.vocabularyCount == 270)
    #expect(tokenizer.id(of: "<pad>") == 0)
    #expect(tokenizer.id(of: "</s>") == 1)
    #expect(tokenizer.isSpecial(1))
    for byte in 0..<256 { #expect(tokenizer.bytes(of: Int32(byte) + 2) == [UInt8(byte)]) }
    // "l o" and "o w" occur five times; the pair of the lower ids is merged first, and "lo w" then has all five.
    #expect(tokenizer.token(of: 258) == "lo")
    #expect(tokenizer.token(of: 259) == "low")
    #expect(!tokenizer.isSpecial(258))
  }

  @Test func textsSurviveARoundTripAndTheFileReadsBack() throws {
    let tokenizer = try Tokenizer.training(on: texts, vocabularySize: 280, specialTokens: ["</s>"])
    let again = try Tokenizer(parsing: Array(tokenizer.serialized().utf8))
    for text in texts + ["unseen \u{0} ünïcode 漢字\n", "low</s>new", ""] {
      let ids = tokenizer.encode(text)
      #expect(tokenizer.decode(ids, skippingSpecialTokens: false) == text)
      #expect(again.encode(text) == ids)
    }
    #expect(tokenizer.encode("</s>") == [0])
    #expect(tokenizer.encode("low").count == 1)
  }

  @Test func trainingIsDeterministic() throws {
    let first = try Tokenizer.training(on: texts, vocabularySize: 290, specialTokens: [])
    let second = try Tokenizer.training(on: texts, vocabularySize: 290, specialTokens: [])
    #expect(first.serialized() == second.serialized())
  }

  @Test func trainingStopsWhenNothingIsLeftToMerge() throws {
    #expect(try Tokenizer.training(on: ["abc abc"], vocabularySize: 1000, specialTokens: []).vocabularyCount == 259)
    #expect(try Tokenizer.training(on: [], vocabularySize: 1000, specialTokens: ["x y"]).vocabularyCount == 257)
  }

  @Test func mergesNeverSpellASpecialToken() throws {
    let tokenizer = try Tokenizer.training(on: ["ababab ababab"], vocabularySize: 300, specialTokens: ["ab"])
    #expect(tokenizer.encode("ab", parsingSpecialTokens: false).count == 2)
    #expect(tokenizer.encode("ab") == [0])
  }

  @Test func impossibleVocabulariesAreRefused() {
    #expect(throws: TokenizerError.vocabularyTooSmall(size: 256, minimum: 257)) {
      try Tokenizer.training(on: [], vocabularySize: 256, specialTokens: ["</s>"])
    }
    #expect(
      TokenizerError.vocabularyTooSmall(size: 256, minimum: 257).description
        == "a vocabulary of 256 tokens cannot hold the bytes and special tokens, which need 257")
    for tokens in [[""], ["x y", "x y"], ["a"], ["Ġ"]] {
      #expect(throws: TokenizerError.invalidSpecialToken(tokens[0])) {
        try Tokenizer.training(on: [], vocabularySize: 300, specialTokens: tokens)
      }
    }
    #expect(
      TokenizerError.invalidSpecialToken("a").description == "the special token 'a' is empty, repeated, or spelled like a byte")
  }
}
