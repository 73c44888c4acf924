extension MalformedFile {
  /// Vocabularies in binary files: SentencePiece models, llama2.c's tokenizer.bin, and those within GGUF files.
  static var vocabularies: [MalformedFile] { sentencePiece + llama2cTokenizers + ggufVocabularies }

  // MARK: SentencePiece

  private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
    // Lengths of two bytes, as protobuf allows for any.
    [number << 3 | 2, UInt8(content.count & 0x7F) | 0x80, UInt8(content.count >> 7)] + content
  }

  private static func piece(_ text: [UInt8], _ score: Float, _ type: UInt8) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(score)
    // A length of one byte, by which the file is recognised.
    return [0x0A, UInt8(text.count + 9), 0x0A, UInt8(text.count)] + text + [0x15] + builder.bytes + [0x18, type]
  }

  private static func piece(_ text: String, _ score: Float = -1, _ type: UInt8 = 1) -> [UInt8] { piece(Array(text.utf8), score, type) }

  private static var sentencePiece: [MalformedFile] {
    let pieces = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("a") + piece("b", -2)
    let trainer = field(2, [0x18, 2])
    let normalizer = field(3, [0x18, 1, 0x20, 0])
    func model(_ description: String, _ bytes: [UInt8], says: String) -> MalformedFile {
      MalformedFile("tokenizer.model: " + description, [(name: "tokenizer.model", bytes: bytes)], for: .tokenizer, says: says)
    }
    func more(_ description: String, _ bytes: [UInt8], says: String) -> MalformedFile {
      model(description, pieces + trainer + normalizer + bytes, says: says)
    }
    let bytes = (0..<256).flatMap { piece(spelling(UInt8($0)), 0, 6) }
    func fallback(_ description: String, _ spelled: String) -> MalformedFile {
      model(
        "byte token \(spelled) \(description)",
        pieces + piece(spelled, 0, 6) + bytes.dropFirst(17) + field(2, [0x18, 2, 0x98, 0x02, 1]) + normalizer, says: "type byte")
    }
    return [
      more("a varint of eleven bytes", [UInt8](repeating: 0xFF, count: 11), says: "more than 64 bits"),
      more("a length past the end", [0x0A, 100], says: "a length of 100"),
      more("a length of 2^64 - 1", [0x0A] + [UInt8](repeating: 0xFF, count: 9) + [1], says: "a length of 18446744073709551615"),
      more("an unfinished varint", [0x80], says: "the end of the message"),
      more("field number 0", [0x02, 0], says: "a field number"),
      more("a group, wire type 3", [0x0B], says: "a wire type"),
      more("wire type 7", [0x0F], says: "a wire type"),
      more("a piece that is a number", [0x08, 1], says: "bytes in field 1"),
      more("a score of 64 bits", field(1, [0x0A, 1, 0x63, 0x11] + [UInt8](repeating: 0, count: 8)), says: "a 32-bit score"),
      more("a piece of type 7", piece("c", -3, 7), says: "a piece type"),
      more("two trainers", trainer, says: "once"),
      more("the piece 'a' twice", piece("a", -3), says: "'a' is listed twice"),
      more("an empty piece", piece("", -3), says: "UTF-8"),
      more("a piece that is not UTF-8", piece([0xFF, 0xFE], -3, 1), says: "UTF-8"),
      more("a score NaN", piece("c", .nan), says: "score"), more("an infinite score", piece("c", -.infinity), says: "score"),
      more("two unknown pieces", piece("c", 0, 2), says: "unknown"),
      more("a byte piece without byte fallback", piece("<0x41>", 0, 6), says: "byte fallback"),
      more("rules for decoding", field(5, [0x12, 1, 0]), says: "denormalizer_spec"),
      model("no pieces but a piece's first bytes", [0x0A, 16, 0x0A, 9] + [UInt8](repeating: 0x15, count: 14), says: "tokenizer.model"),
      model("WORD model", pieces + field(2, [0x18, 3]) + normalizer, says: "type 3"),
      model("CHAR model", pieces + field(2, [0x18, 4]) + normalizer, says: "type 4"),
      model("white space as a suffix", pieces + field(2, [0x18, 2, 0xC0, 0x01, 1]) + normalizer, says: "treat_whitespace_as_suffix"),
      model("a start token that is not there", pieces + field(2, [0x18, 2, 0xC8, 0x02, 99]) + normalizer, says: "bos_id"),
      model(
        "a start token that is negative", pieces + field(2, [0x18, 2, 0xC8, 0x02, 0xFE] + minusOne.dropFirst()) + normalizer, says: "bos_id"
      ),
      model("a character map of three bytes", pieces + trainer + field(3, [0x12, 3, 0, 0, 0]), says: "precompiled_charsmap"),
      model(
        "a character map larger than itself", pieces + trainer + field(3, [0x12, 8, 0xFC, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0]),
        says: "precompiled_charsmap"),
      model(
        "a character map that leads out of itself",
        pieces + trainer + field(3, [0x12, 12, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0xFD, 0xFF, 0x7F]), says: "precompiled_charsmap"),
      fallback("(llama.cpp 27226)", "<0x-1>"), fallback("(llama.cpp 25969)", "<0x+F>"), fallback("that is no number", "<0xZZ>"),
      fallback("in small letters", "<0xaf>"), fallback("of three digits", "<0x100>"),
      model("255 of the 256 bytes", pieces + bytes.dropLast(17) + field(2, [0x18, 2, 0x98, 0x02, 1]) + normalizer, says: "<0xFF>"),
    ]
  }

  private static let minusOne = [UInt8](repeating: 0xFF, count: 9) + [1]

  private static func spelling(_ byte: UInt8) -> String {
    "<0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) + ">"
  }

  // MARK: llama2.c

  private static var llama2cTokenizers: [MalformedFile] {
    func file(_ description: String, says: String, _ change: (inout [(score: Float, length: UInt32, text: [UInt8])]) -> Void)
      -> MalformedFile
    {
      var texts = ["<unk>", "\n<s>\n", "\n</s>\n"].map { Array($0.utf8) }
      texts += (0..<256).map { Array(spelling(UInt8($0)).utf8) }
      texts += [" ", "a", "b", "ab"].map { Array($0.utf8) }
      var pieces = texts.enumerated().map { (score: -Float($0), length: UInt32($1.count), text: $1) }
      change(&pieces)
      var builder = ByteBuilder()
      builder.append(UInt32(7))
      for piece in pieces {
        builder.append(piece.score)
        builder.append(piece.length)
        builder.append(piece.text)
      }
      return MalformedFile("tokenizer.bin: " + description, [(name: "tokenizer.bin", bytes: builder.bytes)], for: .tokenizer, says: says)
    }
    return [
      file("a length of 2^32 - 1", says: "tokenizer.bin") { $0[260].length = .max },
      file("a length past the end (CVE-2025-49847)", says: "tokenizer.bin") { $0[262].length = 0x7FFF_FFFF },
      file("cut short", says: "tokenizer.bin") { $0[262].text = [] },
      file("fewer pieces than bytes", says: "259 pieces") { $0.removeLast(100) },
      file("byte token <0x-1>", says: "<0x00>") { $0[3] = (score: 0, length: 6, text: Array("<0x-1>".utf8)) },
      file("byte tokens exchanged", says: "<0x01>") { $0.swapAt(4, 5) },
      file("a piece twice", says: "listed twice") {
        $0[262].text = [0x20, 0x20]; $0[261] = $0[262]
      },
      file("a piece that is not UTF-8", says: "UTF-8") { $0[261].text = [0xFF] },
      file("an empty piece", says: "UTF-8") { ($0[261].length, $0[261].text) = (0, []) },
      file("a score NaN", says: "score") { $0[261].score = .nan },
    ]
  }

  // MARK: GGUF

  private static var ggufVocabularies: [MalformedFile] {
    typealias G = GGUFBytes
    func list(_ type: UInt32, _ items: [[UInt8]]) -> [UInt8] { G.number(type) + G.number(UInt64(items.count)) + Array(items.joined()) }
    struct Vocabulary {
      var model = "llama"
      var tokens = ["<unk>", "<s>", "</s>", "\u{2581}", "a", "b", "ab"]
      var scores = 7
      var types: [Int32] = [2, 3, 3, 1, 1, 1, 1]
      var beginning: UInt32 = 1
      var more: [[UInt8]] = []
    }
    func file(_ description: String, says: String, _ change: (inout Vocabulary) -> Void) -> MalformedFile {
      var v = Vocabulary()
      change(&v)
      var file = G()
      file.pairs = [
        G.pair("general.architecture", G.string, G.text("llama")), G.pair("tokenizer.ggml.model", G.string, G.text(v.model)),
        G.pair("tokenizer.ggml.tokens", G.array, list(8, v.tokens.map(G.text))),
        G.pair("tokenizer.ggml.scores", G.array, list(6, (0..<v.scores).map { G.number(Float(-$0).bitPattern) })),
        G.pair("tokenizer.ggml.token_type", G.array, list(5, v.types.map { G.number($0) })),
        G.pair("tokenizer.ggml.bos_token_id", G.uint32, G.number(v.beginning)),
      ]
      file.pairs += v.more
      file.tensors = [G.tensor("token_embd.weight")]
      return MalformedFile("GGUF vocabulary: " + description, [(name: "model.gguf", bytes: file.bytes)], for: .tokenizer, says: says)
    }
    func byteToken(_ text: String, _ id: String) -> MalformedFile {
      file("byte token \(text) (\(id))", says: "type byte") {
        $0.tokens.append(text)
        $0.scores += 1
        $0.types.append(6)
      }
    }
    return [
      byteToken("<0x-1>", "llama.cpp 27226"), byteToken("<0xZZ>", "llama.cpp 25969"), byteToken("<0x+F>", "strtol"),
      file("scores for one token less", says: "6 values for 7 tokens") { $0.scores = 6 },
      file("scores for one token more", says: "8 values for 7 tokens") { $0.scores = 8 },
      file("types for one token less", says: "6 values for 7 tokens") { $0.types.removeLast() },
      file("a start token that is not there", says: "bos_token_id") { $0.beginning = 7 },
      file("a start token 2^32 - 1", says: "bos_token_id") { $0.beginning = .max },
      file("type 7", says: "its type is 7") { $0.types[4] = 7 }, file("type -1", says: "its type is -1") { $0.types[4] = -1 },
      file("a token twice", says: "'a' is listed twice") { $0.tokens[5] = "a" },
      file("an empty token", says: "UTF-8") { $0.tokens[5] = "" },
      file("no unknown token", says: "unknown") { $0.types[0] = 1 },
      file("an unknown model", says: "mystery") { $0.model = "mystery" },
      file("merges that are no text", says: "merges") {
        $0.model = "gpt2"
        $0.more = [G.pair("tokenizer.ggml.merges", G.array, list(4, [G.number(UInt32(1))]))]
      },
      file("a pattern that is not known", says: "tokenizer.ggml.pre") {
        $0.model = "gpt2"
        $0.more = [
          G.pair("tokenizer.ggml.merges", G.array, list(8, [G.text("a b")])), G.pair("tokenizer.ggml.pre", G.string, G.text("mystery")),
        ]
      },
    ]
  }
}
