import DibitModelStore
import DibitTestSupport
import DibitTokenizer
import Testing

@Suite struct TokenizerFitTests {
  @Test("an embedding with more rows than padding explains is another model's")
  func rows() throws {
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let count = tokenizer.vocabularyCount
    #expect(!tokenizer.isFar(from: count) && !tokenizer.isFar(from: count + 512))
    #expect(tokenizer.isFar(from: count + 513) && tokenizer.isFar(from: 49_152))
  }
}
