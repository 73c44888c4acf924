import DibitCheckpoint
import DibitFiles
@testable import DibitModelStore
import DibitTestSupport
import DibitTokenizer
import Testing

/// Tokenizers that were written into GGUF files and read back.
@Suite struct GGUFTokenizerKeysTests {
  private let scratch = Scratch()

  /// A tokenizer.bin of llama2.c, whose pieces have plain spaces; the first piece merges first.
  private func llama2c(_ pieces: [String]) throws -> Tokenizer {
    var texts = ["<unk>", "\n<s>\n", "\n</s>\n"]
    texts += (0..<256).map {
      let hex = String($0, radix: 16, uppercase: true)
      return "<0x" + (hex.count < 2 ? "0" : "") + hex + ">"
    }
    texts += pieces
    func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    var bytes = word(UInt32(texts.map(\.utf8.count).max() ?? 0))
    for (index, text) in texts.enumerated() {
      bytes += word((-Float(index)).bitPattern) + word(UInt32(text.utf8.count)) + Array(text.utf8)
    }
    return try Tokenizer(llama2c: bytes, vocabularySize: texts.count)
  }

  private func throughGGUF(_ tokenizer: Tokenizer) throws -> (vocabulary: GGUFVocabulary, tokenizer: Tokenizer) {
    let pairs = try GGUFModel.tokenizerKeys(tokenizer, chat: nil, vocabularySize: tokenizer.vocabularyCount)
    let path = scratch("tokenizer.gguf")
    _ = try GGUFWriter(path: path, metadata: pairs.map { ($0.key, $0.value) }, tensors: []).finalize()
    let vocabulary = GGUFVocabulary(try GGUFFile(try MappedFile(path: path).bytes, file: path))
    return (vocabulary, try Tokenizer(gguf: vocabulary))
  }

  @Test("plain spaces in pieces become the character that llama.cpp has for them")
  func plainSpaces() throws {
    let tokenizer = try llama2c([" t", "he", " the", " c", "at", " cat", " ", "t", "h", "e", "c", "a"])
    let (vocabulary, back) = try throughGGUF(tokenizer)
    #expect(vocabulary.tokens[259...264].map { String(decoding: $0, as: UTF8.self) } == ["▁t", "he", "▁the", "▁c", "at", "▁cat"])
    #expect(vocabulary.tokens[265] == Array("▁".utf8))
    #expect(vocabulary.scores?[260] == -260)
    for text in ["the cat", " the  cat", "that", "Lily's cat", "", "the\ncat é"] {
      #expect(back.encode(text) == tokenizer.encode(text), "\(text.debugDescription)")
      #expect(back.decode(tokenizer.encode(text)) == tokenizer.decode(tokenizer.encode(text)))
    }
    // Not as bytes of U+2581.
    #expect(back.encode("the cat") == [1, 261, 264])
  }

  @Test("a piece with that character of its own cannot be told from a space")
  func ambiguousSpaces() throws {
    let tokenizer = try llama2c([" t", "\u{2581}t", " ", "\u{2581}", "t"])
    #expect(
      throws: GGUFModelError.notExportable("the tokenizer tells spaces from '\u{2581}', which stands for them in llama.cpp")
    ) { try throughGGUF(tokenizer) }
  }
}
