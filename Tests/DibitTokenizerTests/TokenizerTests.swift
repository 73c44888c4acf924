internal import DibitJSON
internal import DibitTokenizer
internal import Foundation
internal import Testing

@Suite struct TokenizerTests {
  @Test("ids and texts are those of the Python library", arguments: Golden.all)
  func golden(golden: Golden) throws {
    let tokenizer = try golden.tokenizer()
    let cases = try golden.cases()
    #expect(cases.count == 32)
    for expected in cases {
      #expect(tokenizer.encode(expected.text) == expected.ids, "\(expected.text.debugDescription)")
      let plain = tokenizer.encode(expected.text, addingSpecialTokens: false, parsingSpecialTokens: false)
      #expect(plain == expected.plain, "\(expected.text.debugDescription)")
      #expect(tokenizer.decode(expected.ids).isSpelled(as: expected.decoded), "\(expected.text.debugDescription)")
      #expect(
        tokenizer.decode(expected.ids, skippingSpecialTokens: false).isSpelled(as: expected.full), "\(expected.text.debugDescription)")
    }
  }

  @Test("a written tokenizer reads back and encodes the same", arguments: Golden.all)
  func serialization(golden: Golden) throws {
    let first = try golden.tokenizer()
    let second = try Tokenizer(parsing: Array(first.serialized().utf8))
    #expect(second.serialized() == first.serialized())
    #expect(second.vocabularyCount == first.vocabularyCount)
    for expected in try golden.cases() { #expect(second.encode(expected.text) == expected.ids) }
  }

  @Test("a stream gives whole scalars that join to the decoded text", arguments: Golden.all)
  func streaming(golden: Golden) throws {
    let tokenizer = try golden.tokenizer()
    let every = (0..<Int32(tokenizer.vocabularyCount)).map { $0 * 37 % Int32(tokenizer.vocabularyCount) }
    for ids in try golden.cases().map(\.ids) + [every, [-1, 1_000_000]] {
      for skips in [true, false] {
        var stream = tokenizer.streamDecoder(skippingSpecialTokens: skips)
        let joined = ids.map { stream.append($0) }.joined() + stream.flush()
        #expect(joined.isSpelled(as: tokenizer.decode(ids, skippingSpecialTokens: skips)))
      }
    }
  }

  @Test func aStreamHoldsBackPartsOfScalars() throws {
    let tokenizer = try Golden(name: "gpt2").tokenizer()
    var stream = tokenizer.streamDecoder()
    let bytes = Array("é😀".utf8)
    let ids = try bytes.map { byte in
      try #require((0..<Int32(tokenizer.vocabularyCount)).first { tokenizer.bytes(of: $0) == [byte] })
    }
    #expect(ids.map { stream.append($0) } == ["", "é", "", "", "", "😀"])
    #expect(stream.append(ids[2]).isEmpty)
    #expect(stream.append(ids[3]).isEmpty)
    #expect(stream.flush() == "\u{FFFD}")
    #expect(stream.append(ids[0]) + stream.append(ids[1]) == "é")
  }

  @Test func bytesSpelledAsTokensAreReplacedOneByOne() throws {
    let tokenizer = try Golden(name: "sentencepiece").tokenizer()
    let ids = ["<0xF0>", "<0x9F>", "<0x41>", "<0xC3>", "<0xA9>", "<0xFF>"].compactMap { tokenizer.id(of: $0) }
    #expect(ids.count == 6)
    #expect(tokenizer.decode(ids) == "\u{FFFD}\u{FFFD}Aé\u{FFFD}")
  }

  @Test func tokensAreFoundByTheirBytes() throws {
    let tokenizer = try Tokenizer(
      parsing: tokenizerFile([
        ("model.vocab", .object(JSONObject([("<unk>", 0), ("\u{e9}", 1), ("e\u{301}", 2), ("e", 3), ("\u{301}", 4)]))),
        ("model.merges", [["e", "\u{301}"]]),
      ]))
    #expect(tokenizer.id(of: "\u{e9}") == 1)
    #expect(tokenizer.id(of: "e\u{301}") == 2)
    #expect(tokenizer.encode("\u{e9}e\u{301}") == [1, 2])
    #expect(tokenizer.token(of: 2)?.unicodeScalars.count == 2)
    #expect(tokenizer.vocabularyCount == 8)  // <end> has the id 7; 5 and 6 are nobody's.
    #expect(tokenizer.token(of: 5) == nil)
    #expect(tokenizer.token(of: -1) == nil)
    #expect(tokenizer.token(of: 8) == nil)
    #expect(tokenizer.bytes(of: 5).isEmpty)
    #expect(tokenizer.bytes(of: 1_000_000).isEmpty)
  }

  @Test func middleBytesKeepTheSpaceThatTheStartLoses() throws {
    let tokenizer = try Golden(name: "sentencepiece").tokenizer()
    let the = try #require(tokenizer.id(of: "▁the"))
    #expect(tokenizer.bytes(of: the) == Array(" the".utf8))
    #expect(tokenizer.decode([the, the]) == "the the")
    let metaspace = try Golden(name: "metaspace").tokenizer()
    let a = try #require(metaspace.id(of: "▁a"))
    #expect(metaspace.bytes(of: a) == Array(" a".utf8))
    #expect(metaspace.decode([a, a]) == "a a")
  }

  @Test func plainTextCannotSpellASpecialToken() throws {
    // Here merging and whole-piece lookup would both give the special token.
    for ignoresMerges in [false, true] {
      let tokenizer = try Tokenizer(
        parsing: tokenizerFile([
          ("model.ignore_merges", .bool(ignoresMerges)),
          ("added_tokens", [["id": 5, "content": "abc", "special": true], ["id": 6, "content": "é", "special": true]]),
        ]))
      #expect(tokenizer.encode("abcé") == [5, 6])
      #expect(tokenizer.isSpecial(5))
      #expect(!tokenizer.isSpecial(4))
      #expect(tokenizer.encode("abc", parsingSpecialTokens: false) == [4, 3])
      #expect(tokenizer.encode("é", parsingSpecialTokens: false) == [0])
    }
  }

  @Test("the real tokenizer of the stories260K model")
  func stories() throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/data/stories260k/hf/tokenizer.json")
    guard let data = try? Data(contentsOf: url.standardized) else {
      print("skipped: \(url.standardized.path()) is not there")
      return
    }
    let tokenizer = try Tokenizer(parsing: Array(data))
    #expect(tokenizer.vocabularyCount == 512)
    let ids = tokenizer.encode("Once upon a time, there was a little girl named Lily. ☃")
    #expect(ids == storiesIDs)
    #expect(tokenizer.decode(ids) == "Once upon a time, there was a little girl named Lily. ☃")
  }

  @Test("a long text without spaces takes no quadratic time", .timeLimit(.minutes(10)), arguments: ["sentencepiece", "llama3"])
  func longText(name: String) throws {
    let tokenizer = try Golden(name: name).tokenizer()
    let text = String(repeating: "thecatsatonthematé", count: 3000)
    #expect(tokenizer.decode(tokenizer.encode(text)) == text)
  }
}

/// What the Python library gives for the text above.
private let storiesIDs: [Int32] = [
  1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 410, 229, 155, 134,
]
