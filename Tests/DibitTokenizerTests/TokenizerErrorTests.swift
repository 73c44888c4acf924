internal import DibitJSON
internal import DibitTokenizer
internal import Testing

@Suite struct TokenizerErrorTests {
  private func message(_ changes: [(path: String, value: JSONValue?)]) -> String {
    do throws(TokenizerError) {
      _ = try Tokenizer(parsing: tokenizerFile(changes))
      return "accepted"
    } catch {
      return error.description
    }
  }

  @Test func howBatchesWereMadeDoesNotMatter() throws {
    let file = tokenizerFile([("truncation", ["max_length": 1]), ("padding", ["pad_id": 0])])
    #expect(try Tokenizer(parsing: file).encode("abcx<end>") == [5, 0, 7])
  }

  @Test func theUnchangedFileIsAccepted() throws {
    #expect(try Tokenizer(parsing: tokenizerFile()).encode("abcx<end>") == [5, 0, 7])
  }

  @Test func notJSON() {
    #expect(throws: TokenizerError.json(.unexpected(offset: 1, expected: "a key in quotes", found: "the end of the text"))) {
      try Tokenizer(parsing: Array("{".utf8))
    }
    #expect(
      TokenizerError.json(.unexpected(offset: 1, expected: "a key in quotes", found: "the end of the text")).description
        == "the tokenizer file is not JSON: JSON at byte 1: expected a key in quotes, found the end of the text")
    #expect(throws: TokenizerError.wrongType(path: "the document", expected: "an object", found: "an array")) {
      try Tokenizer(parsing: [] as JSONValue)
    }
  }

  @Test(
    "missing members and wrong types are named",
    arguments: [
      ("model", nil, "the tokenizer file has no 'model'"),
      ("model", "BPE", "'model' in the tokenizer file must be an object, not a string"),
      ("model.vocab", nil, "the tokenizer file has no 'model.vocab'"),
      ("model.vocab", [1], "'model.vocab' in the tokenizer file must be an object, not an array"),
      ("model.vocab.a", "1", "'model.vocab.a' in the tokenizer file must be an integer, not a string"),
      ("model.vocab.a", 1.5, "'model.vocab.a' in the tokenizer file must be an integer, not a number"),
      ("model.merges", nil, "the tokenizer file has no 'model.merges'"),
      ("model.merges", [:], "'model.merges' in the tokenizer file must be an array, not an object"),
      ("model.fuse_unk", 1, "'model.fuse_unk' in the tokenizer file must be a boolean, not a number"),
      ("added_tokens", [:], "'added_tokens' in the tokenizer file must be an array, not an object"),
      ("added_tokens", [["content": "x"]], "the tokenizer file has no 'added_tokens[0].id'"),
      ("added_tokens", [["id": 9]], "the tokenizer file has no 'added_tokens[0].content'"),
      ("normalizer", [:], "the tokenizer file has no 'normalizer.type'"),
      ("normalizer", ["type": "Sequence"], "the tokenizer file has no 'normalizer.normalizers'"),
      ("normalizer", ["type": "Prepend"], "the tokenizer file has no 'normalizer.prepend'"),
      ("decoder", ["type": "Sequence", "decoders": [3]], "'decoder.decoders[0]' in the tokenizer file must be an object, not a number"),
    ] as [(String, JSONValue?, String)])
  func shape(path: String, value: JSONValue?, expected: String) {
    #expect(message([(path, value)]) == expected)
  }

  @Test(
    "what would change ids is refused by name",
    arguments: [
      ("model.type", "WordPiece", "'model' in the tokenizer file is of type 'WordPiece', which is not supported"),
      ("model.dropout", 0.5, "'model.dropout' in the tokenizer file is 0.5, which is not supported"),
      (
        "model.continuing_subword_prefix", "##",
        "'model.continuing_subword_prefix' in the tokenizer file is \"##\", which is not supported"
      ),
      ("model.end_of_word_suffix", "</w>", "'model.end_of_word_suffix' in the tokenizer file is \"</w>\", which is not supported"),
      (
        "normalizer", ["type": "BertNormalizer"], "'normalizer' in the tokenizer file is of type 'BertNormalizer', which is not supported"
      ),
      (
        "normalizer", ["type": "Sequence", "normalizers": [["type": "NFC"], ["type": "ByteLevel"]]],
        "'normalizer.normalizers[1]' in the tokenizer file is of type 'ByteLevel', which is not supported"
      ),
      (
        "normalizer", ["type": "Replace", "pattern": ["Regex": " *"], "content": ""],
        "'normalizer.pattern.Regex' in the tokenizer file is a pattern that is not supported, because it can match nothing:  *"
      ),
      (
        "normalizer", ["type": "Precompiled", "precompiled_charsmap": "AA"],
        "'normalizer.precompiled_charsmap' in the tokenizer file is no character map: it is not base 64"
      ),
      (
        "normalizer", ["type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAA="],
        "'normalizer.precompiled_charsmap' in the tokenizer file is no character map: its array of 8 bytes does not fit into 4 bytes"
      ),
      (
        "pre_tokenizer", ["type": "BertPreTokenizer"],
        "'pre_tokenizer' in the tokenizer file is of type 'BertPreTokenizer', which is not supported"
      ),
      (
        "pre_tokenizer", ["type": "Split", "pattern": ["Regex": #"\w+"#], "behavior": "Isolated"],
        "'pre_tokenizer.pattern.Regex' in the tokenizer file is a pattern that is not supported, "
          + #"because the escape '\w' is not supported: \w+"#
      ),
      (
        "pre_tokenizer", ["type": "Split", "pattern": ["String": " "], "behavior": "Dropped"],
        "'pre_tokenizer.behavior' in the tokenizer file is \"Dropped\", which is not supported"
      ),
      (
        "pre_tokenizer", ["type": "Sequence", "pretokenizers": [["type": "ByteLevel"], ["type": "Digits"]]],
        "'pre_tokenizer.pretokenizers[1]' in the tokenizer file is of type 'Digits', which is not supported"
      ),
      (
        "pre_tokenizer", ["type": "Metaspace", "prepend_scheme": "last"],
        "'pre_tokenizer.prepend_scheme' in the tokenizer file is \"last\", which is not supported"
      ),
      (
        "post_processor", ["type": "BertProcessing", "sep": ["<end>"], "cls": ["<end>", 7]],
        "'post_processor.sep' in the tokenizer file is [\"<end>\"], which is not supported"
      ),
      (
        "post_processor", ["type": "TemplateProcessing", "single": [["Sequence": ["id": "B"]]]],
        "'post_processor.single[0]' in the tokenizer file is {\"Sequence\":{\"id\":\"B\"}}, which is not supported"
      ),
      ("decoder", ["type": "WordPiece"], "'decoder' in the tokenizer file is of type 'WordPiece', which is not supported"),
      (
        "decoder", ["type": "Sequence", "decoders": [["type": "Fuse"], ["type": "ByteFallback"]]],
        "'decoder.decoders[1]' in the tokenizer file is of type 'ByteFallback', which is not supported"
      ),
      (
        "decoder", ["type": "Sequence", "decoders": [["type": "Fuse"], ["type": "Strip", "content": " ", "start": 0, "stop": 1]]],
        "'decoder.decoders[1].stop' in the tokenizer file is 1, which is not supported"
      ),
    ] as [(String, JSONValue, String)])
  func unsupported(path: String, value: JSONValue, expected: String) {
    #expect(message([(path, value)]) == expected)
  }

  @Test(
    "contradictions are named",
    arguments: [
      ("model.vocab.a", -1, "the token 'a' has the id -1, but ids must be from 0 to 16777215"),
      ("model.vocab.a", 16_777_216, "the token 'a' has the id 16777216, but ids must be from 0 to 16777215"),
      ("model.vocab.a", 70_000, "the token 'a' has the id 70000, but ids must be from 0 to 65599"),
      ("model.vocab.a", 3, "the tokens 'a' and 'c' share the id 3"),
      ("added_tokens", [["id": 1, "content": "x"]], "the tokens 'a' and 'x' share the id 1"),
      ("added_tokens", [["id": 2, "content": "a"]], "the token 'a' has the id 1 in the vocabulary but 2 among the added tokens"),
      ("added_tokens", [["id": 9, "content": "x"], ["id": 9, "content": "x"]], "the added token 'x' is listed twice"),
      ("added_tokens", [["id": 9, "content": ""]], "the added token with the id 9 has no text"),
      ("model.unk_token", "?", "'model.unk_token' in the tokenizer file names '?', which is not in the vocabulary"),
      ("model.merges", ["a b", "a"], "merge 1 in the tokenizer file is not a pair of tokens"),
      ("model.merges", [["a", "b", "c"]], "merge 0 in the tokenizer file is not a pair of tokens"),
      ("model.merges", ["a x"], "merge 0 in the tokenizer file needs 'x', which is not in the vocabulary"),
      ("model.merges", ["x a"], "merge 0 in the tokenizer file needs 'x', which is not in the vocabulary"),
      ("model.merges", ["b a"], "merge 0 in the tokenizer file needs 'ba', which is not in the vocabulary"),
      (
        "post_processor", ["type": "TemplateProcessing", "single": [["SpecialToken": ["id": "<s>"]]], "special_tokens": [:]],
        "'post_processor.single[0].SpecialToken.id' in the tokenizer file names '<s>', which is not in the vocabulary"
      ),
      (
        "post_processor",
        ["type": "TemplateProcessing", "single": [["SpecialToken": ["id": "x"]]], "special_tokens": ["x": ["ids": [99]]]],
        "'post_processor.special_tokens.x.ids[0]' in the tokenizer file names '99', which is not in the vocabulary"
      ),
    ] as [(String, JSONValue, String)])
  func contradictions(path: String, value: JSONValue, expected: String) {
    #expect(message([(path, value)]) == expected)
  }

  @Test("damaged files throw and never trap")
  func damage() throws {
    let bytes = Array(tokenizerFile().serialized().utf8)
    var refused = 0
    for index in bytes.indices {
      for change in 0..<3 {
        var damaged = bytes
        switch change {
        case 0: damaged.remove(at: index)
        case 1: damaged[index] = UInt8(ascii: "9")
        default: damaged.removeSubrange(index..<min(bytes.count, index + 9))
        }
        do throws(TokenizerError) {
          let tokenizer = try Tokenizer(parsing: damaged)
          _ = tokenizer.decode(tokenizer.encode("abcé<end>"))
        } catch {
          refused += 1
        }
      }
    }
    #expect(refused > bytes.count)
  }
}
