internal import DibitJSON
internal import DibitTokenizer
internal import Testing

/// The files that ``Tokenizer/serialized()`` writes mean the same in Hugging Face's library, which numbers added tokens in its own way.
@Suite struct SerializationTests {
  /// The ids that the library gives the added tokens of a file: that of its vocabulary, or the next one behind the vocabulary's size and all
  /// added tokens before.
  private func libraryIDs(_ file: JSONValue) -> [Int] {
    let vocabulary = file["model"]?["vocab"]
    let members = vocabulary?.object?.members.map { ($0.key, $0.value.int ?? -1) }
    let pieces = (vocabulary?.array ?? []).enumerated().map { ($1.array?.first?.string ?? "", $0) }
    var ids: [String: Int] = [:]
    for (token, id) in members ?? pieces { ids[token] = id }
    var (largest, result) = ((members?.count ?? pieces.count) - 1, [Int]())
    for token in file["added_tokens"]?.array ?? [] {
      let id = ids[token["content"]?.string ?? ""] ?? largest + 1
      largest = max(largest, id)
      result.append(id)
    }
    return result
  }

  private func written(_ tokenizer: Tokenizer) throws -> JSONValue { try JSONValue(parsing: Array(tokenizer.serialized().utf8)) }

  private func listedIDs(_ file: JSONValue) -> [Int] { (file["added_tokens"]?.array ?? []).compactMap { $0["id"]?.int } }

  /// A byte-level vocabulary whose control tokens come first, as SmolLM2's do.
  private func vocabulary() -> GGUFVocabulary {
    let tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "a", "b", "ab", "<user>", "c"]
    var vocabulary = GGUFVocabulary(model: "gpt2", tokens: tokens.map { Array($0.utf8) })
    vocabulary.pre = "gpt-2"
    vocabulary.tokenTypes = [3, 3, 3, 1, 1, 1, 4, 1]
    vocabulary.merges = [Array("a b".utf8)]
    return vocabulary
  }

  @Test func controlTokensOfAGGUFFileKeepTheirIDs() throws {
    let tokenizer = try Tokenizer(gguf: vocabulary())
    let file = try written(tokenizer)
    #expect(listedIDs(file) == [0, 1, 2, 6])
    #expect(libraryIDs(file) == [0, 1, 2, 6])
    let again = try Tokenizer(parsing: file)
    #expect(again.serialized() == tokenizer.serialized())
    for text in ["<|im_start|>abc<|im_end|>", "a<user>b", "<|im_", "<|endoftext|><|endoftext|>"] {
      #expect(again.encode(text) == tokenizer.encode(text))
      #expect(again.encode(text, parsingSpecialTokens: false) == tokenizer.encode(text, parsingSpecialTokens: false))
    }
    // The letters that the vocabulary has, and no token for the rest.
    #expect(again.encode("<|im_start|>abc", parsingSpecialTokens: false) == [3, 5, 7])
  }

  @Test("the library gives every added token the id that the file says", arguments: Golden.all)
  func goldens(golden: Golden) throws {
    let file = try written(golden.tokenizer())
    #expect(listedIDs(file) == libraryIDs(file))
  }

  @Test("the same of files whose texts the library has encoded", arguments: SpanGolden.files)
  func spans(golden: SpanGolden) throws {
    let file = try written(Tokenizer(parsing: golden.file()["tokenizer"] ?? .null))
    #expect(listedIDs(file) == libraryIDs(file))
  }

  @Test("the same of SentencePiece models", arguments: SpanGolden.models)
  func sentencePiece(golden: SpanGolden) throws {
    let file = try written(Tokenizer(sentencePiece: golden.model()))
    #expect(!listedIDs(file).isEmpty && listedIDs(file) == libraryIDs(file))
  }

  @Test func tokensThatTheLibraryNumbersRightStayOutOfTheVocabulary() throws {
    let source = tokenizerFile()
    let file = try written(Tokenizer(parsing: source))
    #expect(file["model"]?["vocab"] == source["model"]?["vocab"])
    // Behind a gap the library would number otherwise.
    let gap = tokenizerFile([
      ("added_tokens", [["id": 0, "content": "<unk>", "special": true], ["id": 9, "content": "<end>", "special": true]])
    ])
    let listed = try written(Tokenizer(parsing: gap))
    #expect(libraryIDs(gap) == [0, 7] && libraryIDs(listed) == [0, 9] && listed["model"]?["vocab"]?["<end>"] == 9)
  }
}
