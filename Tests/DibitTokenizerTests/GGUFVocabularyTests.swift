internal import DibitJSON
internal import DibitTokenizer
internal import Foundation
internal import Testing

@Suite struct GGUFVocabularyTests {
  /// The byte-level golden tokenizer as the keys of a GGUF file.
  private func vocabulary(_ name: String, pre: String) throws -> GGUFVocabulary {
    let file = try #require(try SpanGolden(name: name).file()["tokenizer"])
    var tokens: [Int: [UInt8]] = [:]
    for (token, id) in file["model"]?["vocab"]?.object?.members ?? [] { tokens[id.int ?? -1] = Array(token.utf8) }
    var types = [Int](repeating: 1, count: tokens.count)
    for token in file["added_tokens"]?.array ?? [] where token["special"]?.bool == true {
      tokens[token["id"]?.int ?? -1] = Array((token["content"]?.string ?? "").utf8)
      types.append(3)
    }
    // The other added tokens come after, and GGUF has no words for what they are.
    var result = GGUFVocabulary(model: "gpt2", tokens: (0..<types.count).map { tokens[$0] ?? [] })
    result.pre = pre
    result.tokenTypes = types
    result.merges = (file["model"]?["merges"]?.array ?? []).map { pair in
      Array((pair.array ?? []).compactMap(\.string).joined(separator: " ").utf8)
    }
    return result
  }

  @Test(
    "byte-level vocabularies encode with the pattern that their name means",
    arguments: [("qwen35", "qwen35"), ("tekken", "tekken"), ("deepseek", "deepseek-v3")])
  func byteLevel(name: String, pre: String) throws {
    var vocabulary = try vocabulary(name, pre: pre)
    vocabulary.addsBeginning = false
    let tokenizer = try Tokenizer(gguf: vocabulary)
    let file = try SpanGolden(name: name).file()
    var compared = 0
    for (text, ids) in zip(try SpanGolden.texts(), SpanGolden.ids(file)) {
      // <|pad|> strips space and "mask" and "NORM" are tokens only in the golden file.
      if ["<|pad|>", "mask", "NORM"].contains(where: { text.contains($0) }) { continue }
      #expect(tokenizer.encode(text) == ids, "\(text.debugDescription)")
      compared += 1
    }
    #expect(compared > 200)
    let again = try Tokenizer(parsing: Array(tokenizer.serialized().utf8))
    #expect(again.encode("Hello, world! 123") == tokenizer.encode("Hello, world! 123"))
  }

  @Test("what a GGUF vocabulary lacks is named")
  func faults() throws {
    func message(_ change: (inout GGUFVocabulary) -> Void) -> String {
      do {
        var vocabulary = try vocabulary("qwen35", pre: "qwen2")
        change(&vocabulary)
        _ = try Tokenizer(gguf: vocabulary)
        return "no error"
      } catch {
        return "\(error)"
      }
    }
    #expect(message { _ in } == "no error")
    #expect(message { $0.pre = "unheard-of" } == "'tokenizer.ggml.pre' in the tokenizer file is 'unheard-of', which is not supported")
    #expect(message { $0.pre = nil } == "'tokenizer.ggml.pre' in the tokenizer file is missing, which is not supported")
    #expect(message { $0.model = "bert" } == "'tokenizer.ggml.model' in the tokenizer file is of type 'bert', which is not supported")
    #expect(message { $0.merges = nil } == "the tokenizer file has no 'tokenizer.ggml.merges'")
    #expect(message { $0.merges = [[0xFF]] } == "merge 0 in the tokenizer file is not a pair of tokens")
    #expect(message { $0.merges = [Array("a".utf8)] } == "merge 0 in the tokenizer file is not a pair of tokens")
    #expect(message { $0.tokens[3] = [0xFF] } == "piece 3 of the vocabulary cannot be used: it is no UTF-8 text")
    #expect(message { $0.tokenTypes?[3] = 9 } == "piece 3 of the vocabulary cannot be used: its type is 9")
    #expect(message { $0.tokenTypes = [1] }.hasPrefix("'tokenizer.ggml.token_type' in the tokenizer file is 1 values for"))
    #expect(message { $0.addsBeginning = true } == "the tokenizer file has no 'tokenizer.ggml.bos_token_id'")
    #expect(
      message {
        $0.addsBeginning = true
        $0.beginningID = -1
      } == "'tokenizer.ggml.bos_token_id' in the tokenizer file names '-1', which is not in the vocabulary")
    #expect(message { $0.model = "llama" } == "the tokenizer file has no 'tokenizer.ggml.scores'")
    #expect(
      message {
        $0.model = "t5"
        $0.scores = $0.tokens.map { _ in 0 }
      } == "the tokenizer file has no 'tokenizer.ggml.add_space_prefix'")
  }

  @Test("the unknown token may be a control token, as in files of Gemma 3, and no other piece may be unknown beside it")
  func unknownToken() throws {
    let texts = ["<pad>", "</s>", "<s>", "<unk>", "a", "\u{2581}a", "\u{2581}", "b"]
    var vocabulary = GGUFVocabulary(model: "llama", tokens: texts.map { Array($0.utf8) })
    vocabulary.scores = texts.indices.map { -Float($0) }
    vocabulary.tokenTypes = [3, 3, 3, 2, 1, 1, 1, 1]
    (vocabulary.beginningID, vocabulary.endID, vocabulary.unknownID) = (2, 1, 3)
    let expected = try Tokenizer(gguf: vocabulary).encode("aéb")
    #expect(expected.contains(3))
    vocabulary.tokenTypes?[3] = 3
    #expect(try Tokenizer(gguf: vocabulary).encode("aéb") == expected)
    vocabulary.tokenTypes?[0] = 2
    #expect(throws: TokenizerError.self) { try Tokenizer(gguf: vocabulary) }
    vocabulary.tokenTypes = [3, 3, 3, 1, 1, 1, 1, 1]
    #expect(throws: TokenizerError.self) { try Tokenizer(gguf: vocabulary) }
  }

  @Test("SentencePiece vocabularies encode as their models do")
  func sentencePiece() throws {
    // The stories260K vocabulary, with what its GGUF file says.
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/data/stories260k/hf/tokenizer.json")
    guard let data = try? Data(contentsOf: url.standardized) else {
      print("skipped: \(url.standardized.path()) is not there")
      return
    }
    let reference = try Tokenizer(parsing: Array(data))
    var vocabulary = GGUFVocabulary(model: "llama", tokens: (0..<512).map { Array((reference.token(of: $0) ?? "").utf8) })
    vocabulary.scores = (0..<512).map { $0 < 259 ? 0 : Float(259 - $0) }
    vocabulary.tokenTypes = (0..<512).map { $0 == 0 ? 2 : $0 < 3 ? 3 : $0 < 259 ? 6 : 1 }
    vocabulary.beginningID = 1
    vocabulary.endID = 2
    vocabulary.unknownID = 0
    let tokenizer = try Tokenizer(gguf: vocabulary)
    for text in try SpanGolden.texts() { #expect(tokenizer.encode(text) == reference.encode(text), "\(text.debugDescription)") }
  }
}
