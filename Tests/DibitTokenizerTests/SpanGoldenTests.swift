internal import DibitJSON
internal import DibitTokenizer
internal import Foundation
internal import Testing

/// The files `span-*.json` in `Goldens`, written by `make_span_goldens.py`.
struct SpanGolden: CustomTestStringConvertible, Sendable {
  let name: String

  static let files = [
    "qwen35", "tekken", "cl100k", "deepseek", "t5", "xlmr", "albert", "unigram-whole", "words", "behaviors",
  ].map(SpanGolden.init)
  static let models = ["model-unigram", "model-unigram-bytes", "model-bpe", "model-bpe-bytes", "model-bpe-defined"].map(SpanGolden.init)

  var testDescription: String { name }

  static func json(_ name: String) throws -> JSONValue {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens/\(name).json")
    return try JSONValue(parsing: Data(contentsOf: url))
  }

  static func texts() throws -> [String] { try json("spans").array?.compactMap(\.string) ?? [] }

  func file() throws -> JSONValue { try Self.json("span-\(name)") }

  /// The bytes of a SentencePiece model.
  func model() throws -> [UInt8] {
    let text = try #require(file()["model"]?.string)
    return Array(try #require(Data(base64Encoded: text)))
  }

  static func ids(_ file: JSONValue) -> [[Int32]] { (file["ids"]?.array ?? []).map { ($0.array ?? []).map { Int32($0.int ?? -1) } } }
}

@Suite struct SpanGoldenTests {
  @Test("ids and texts of 300 spans are those of the Python library", arguments: SpanGolden.files)
  func files(golden: SpanGolden) throws {
    let file = try golden.file()
    let tokenizer = try Tokenizer(parsing: file["tokenizer"] ?? .null)
    let again = try Tokenizer(parsing: Array(tokenizer.serialized().utf8))
    let (texts, ids) = (try SpanGolden.texts(), SpanGolden.ids(file))
    let decoded = (file["decoded"]?.array ?? []).compactMap(\.string)
    #expect(texts.count == 300 && ids.count == 300 && decoded.count == 300)
    for (text, (expected, decoded)) in zip(texts, zip(ids, decoded)) {
      #expect(tokenizer.encode(text) == expected, "\(text.debugDescription)")
      #expect(again.encode(text) == expected, "\(text.debugDescription)")
      #expect(tokenizer.decode(expected, skippingSpecialTokens: false).isSpelled(as: decoded), "\(text.debugDescription)")
    }
  }

  @Test("ids of 300 spans are those of SentencePiece", arguments: SpanGolden.models)
  func models(golden: SpanGolden) throws {
    let tokenizer = try Tokenizer(sentencePiece: golden.model())
    let written = tokenizer.serialized()
    let again = try Tokenizer(parsing: Array(written.utf8))
    #expect(again.serialized() == written)
    let (texts, ids) = (try SpanGolden.texts(), SpanGolden.ids(try golden.file()))
    #expect(texts.count == 300 && ids.count == 300)
    for (text, expected) in zip(texts, ids) {
      for tokenizer in [tokenizer, again] {
        #expect(
          tokenizer.encode(text, addingSpecialTokens: false, parsingSpecialTokens: false) == expected, "\(text.debugDescription)")
      }
    }
  }

  @Test("ids of 300 spans are those of llama2.c")
  func llama2c() throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/data/stories260k/tok512.bin")
    guard let data = try? Data(contentsOf: url.standardized) else {
      print("skipped: \(url.standardized.path()) is not there")
      return
    }
    let tokenizer = try Tokenizer(llama2c: Array(data), vocabularySize: 512)
    let again = try Tokenizer(parsing: Array(tokenizer.serialized().utf8))
    let ids = SpanGolden.ids(try SpanGolden.json("span-llama2c"))
    #expect(ids.count == 300)
    for (text, expected) in zip(try SpanGolden.texts(), ids) {
      // llama2.c's texts end at a zero, and it parses no special tokens.
      let kept = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value != 0 }))
      for tokenizer in [tokenizer, again] { #expect(tokenizer.encode(kept, parsingSpecialTokens: false) == expected) }
    }
    #expect(tokenizer.decode(tokenizer.encode("Once upon a time ☃")) == "Once upon a time ☃")
  }

  @Test("the beginning and the end of a text are added where asked for")
  func additions() throws {
    let bytes = try SpanGolden(name: "model-bpe").model()
    let plain = try Tokenizer(sentencePiece: bytes).encode("the cat")
    let both = try Tokenizer(sentencePiece: bytes, addingBeginning: true, addingEnd: true)
    #expect(both.encode("the cat") == [1] + plain + [2])
    #expect(try Tokenizer(parsing: Array(both.serialized().utf8)).encode("the cat") == [1] + plain + [2])
    #expect(both.decode([1] + plain + [2]) == "the cat")
  }
}
