internal import DibitCheckpoint
package import DibitJSON
package import DibitTokenizer

extension GGUFModel {
  /// The keys `tokenizer.*` that tell llama.cpp a tokenizer, with the template and special tokens of `chat`.
  ///
  /// Rows of the embedding beyond the vocabulary become unused tokens, up to `vocabularySize`. Scores of a vocabulary that has merges only
  /// follow their ranks, which gives llama.cpp the same order of merging.
  ///
  /// - Throws: ``GGUFModelError/notExportable(_:)`` for a tokenizer that llama.cpp has no words for.
  package static func tokenizerKeys(_ tokenizer: Tokenizer, chat: JSONValue?, vocabularySize: Int) throws(GGUFModelError) -> [GGUFExport
    .Pair]
  {
    let file: JSONValue
    do throws(JSONError) { file = try JSONValue(parsing: Array(tokenizer.serialized().utf8)) } catch {
      throw .notExportable("the tokenizer cannot be written: \(error)")
    }
    let isByteLevel = file["decoder"]?["type"] == "ByteLevel"
    guard file["model"]?["type"] == "BPE", isByteLevel || file["model"]?["byte_fallback"]?.bool == true else {
      throw .notExportable("llama.cpp has no form for a tokenizer of this kind; byte pairs of bytes, or with byte fallback, expected")
    }
    var writer = GGUFTokenizerWriter(tokenizer, file: file, vocabularySize: max(vocabularySize, tokenizer.vocabularyCount))
    if isByteLevel { try writer.byteLevel() } else { try writer.sentencePiece() }
    writer.specialTokens(chat)
    return writer.pairs
  }
}

/// Collects the keys.
private struct GGUFTokenizerWriter {
  private let tokenizer: Tokenizer
  private let file: JSONValue
  private let count: Int
  private(set) var pairs: [GGUFExport.Pair] = []

  /// The numbers of llama.cpp's token types.
  private enum TokenType: Int32 { case normal = 1, unknown, control, userDefined, unused, byte }

  init(_ tokenizer: Tokenizer, file: JSONValue, vocabularySize: Int) {
    self.tokenizer = tokenizer
    self.file = file
    count = vocabularySize
  }

  private mutating func add(_ key: String, _ value: GGUFValue) { pairs.append(GGUFExport.Pair(key: "tokenizer." + key, value: value)) }

  mutating func byteLevel() throws(GGUFModelError) {
    guard let pre = GGUFVocabulary.patternName(of: tokenizer) else {
      throw .notExportable("llama.cpp has no name for the pattern that cuts this tokenizer's texts")
    }
    add("ggml.model", .text("gpt2"))
    add("ggml.pre", .text(pre))
    vocabulary(escapingSpaces: false)
    add("ggml.merges", .array(.strings(GGUFStrings(merges.map { Array(($0.left + " " + $0.right).utf8) }))))
  }

  mutating func sentencePiece() throws(GGUFModelError) {
    guard escapesSpaces || !pieces.contains(where: { $0.token.contains(Self.space) }) else {
      throw .notExportable("the tokenizer tells spaces from '\(Self.space)', which stands for them in llama.cpp")
    }
    add("ggml.model", .text("llama"))
    add("ggml.pre", .text("default"))
    vocabulary(escapingSpaces: !escapesSpaces)
    var scores = [Float](repeating: 0, count: count)
    for (rank, merge) in merges.enumerated() {
      guard let id = tokenizer.id(of: merge.left + merge.right), scores[Int(id)] == 0 else { continue }
      scores[Int(id)] = -Float(rank + 1)
    }
    if let stored = file["model"]?["sentencepiece"]?["scores"]?.array {
      for (id, score) in stored.enumerated() where id < count { scores[id] = Float(score.double ?? 0) }
    }
    add("ggml.scores", .array(.float32(scores)))
    let own = file["model"]?["sentencepiece"]
    let steps = file["normalizer"]?["normalizers"]?.array ?? file["normalizer"].map { [$0] } ?? []
    let prepends =
      steps.contains { $0["type"] == "Prepend" } || file["pre_tokenizer"]?["prepend_scheme"]?.string.map { $0 != "never" } == true
    add("ggml.add_space_prefix", .bool(own?["add_dummy_prefix"]?.bool ?? prepends))
    if let removes = own?["remove_extra_whitespaces"]?.bool { add("ggml.remove_extra_whitespaces", .bool(removes)) }
  }

  private var merges: [(left: String, right: String)] {
    (file["model"]?["merges"]?.array ?? []).compactMap { merge in
      if let pair = merge.array, pair.count == 2, let left = pair[0].string, let right = pair[1].string { return (left, right) }
      guard let line = merge.string, let space = line.firstIndex(of: " ") else { return nil }
      return (String(line[..<space]), String(line[line.index(after: space)...]))
    }
  }

  /// The character that stands for a space in the pieces of SentencePiece, and so in llama.cpp.
  private static let space: Character = "\u{2581}"

  /// True where this tokenizer replaces spaces by it: that of llama2.c keeps plain spaces.
  private var escapesSpaces: Bool {
    if let own = file["model"]?["sentencepiece"]?["escape_whitespaces"]?.bool { return own }
    let steps = file["pre_tokenizer"]?["pretokenizers"]?.array ?? file["pre_tokenizer"].map { [$0] } ?? []
    if steps.contains(where: { $0["type"] == "Metaspace" }) { return true }
    return (file["normalizer"]?["normalizers"]?.array ?? file["normalizer"].map { [$0] } ?? [])
      .contains { $0["type"] == "Replace" && $0["content"]?.string == String(Self.space) }
  }

  /// The pieces of texts: all tokens that are not matched as they stand before a text is cut.
  private var pieces: [(id: Int, token: String)] {
    let added = Set((file["added_tokens"]?.array ?? []).compactMap { $0["id"]?.int })
    return (0..<count).compactMap { id in
      added.contains(id) ? nil : tokenizer.token(of: Int32(id)).map { (id: id, token: $0) }
    }
  }

  /// The tokens and their types; with `escapingSpaces`, pieces get llama.cpp's character for the plain spaces in them.
  private mutating func vocabulary(escapingSpaces: Bool) {
    var types = [TokenType](repeating: .normal, count: count)
    var tokens: [[UInt8]] = []
    for id in 0..<count {
      guard let token = tokenizer.token(of: Int32(id)) else {
        tokens.append(Array("[PAD\(id)]".utf8))
        types[id] = .unused
        continue
      }
      tokens.append(Array(token.utf8))
      if Self.isByte(token), file["model"]?["byte_fallback"]?.bool == true { types[id] = .byte }
    }
    if escapingSpaces {
      for piece in pieces { tokens[piece.id] = Array(piece.token.replacing(" ", with: String(Self.space)).utf8) }
    }
    for token in file["added_tokens"]?.array ?? [] {
      guard let id = token["id"]?.int, (0..<count).contains(id) else { continue }
      types[id] = token["special"]?.bool == true ? .control : .userDefined
    }
    if let unknown = file["model"]?["unk_token"]?.string, let id = tokenizer.id(of: unknown) { types[Int(id)] = .unknown }
    add("ggml.tokens", .array(.strings(GGUFStrings(tokens))))
    add("ggml.token_type", .array(.int32(types.map(\.rawValue))))
  }

  /// `<0xHH>`.
  private static func isByte(_ token: String) -> Bool {
    let bytes = Array(token.utf8)
    func isHex(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) }
    return bytes.count == 6 && token.hasPrefix("<0x") && token.hasSuffix(">") && isHex(bytes[3]) && isHex(bytes[4])
  }

  mutating func specialTokens(_ chat: JSONValue?) {
    // What the tokenizer puts around a text of no characters.
    let around = tokenizer.encode("", addingSpecialTokens: true)
    func id(_ key: String, or candidates: [String]) -> Int32? {
      let names = (chat?[key]?.string).map { [$0] } ?? candidates
      return names.compactMap { tokenizer.id(of: $0) }.first
    }
    let beginning = id("bos_token", or: ["<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"])
    let end = id("eos_token", or: ["</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>"])
    if let beginning { add("ggml.bos_token_id", .uint32(UInt32(beginning))) }
    if let end { add("ggml.eos_token_id", .uint32(UInt32(end))) }
    if let unknown = file["model"]?["unk_token"]?.string.flatMap({ tokenizer.id(of: $0) }) {
      add("ggml.unknown_token_id", .uint32(UInt32(unknown)))
    }
    if let padding = id("pad_token", or: []) { add("ggml.padding_token_id", .uint32(UInt32(padding))) }
    add("ggml.add_bos_token", .bool(beginning.map { around.first == $0 } ?? false))
    add("ggml.add_eos_token", .bool(end.map { around.count > 1 ? around.last == $0 : beginning != $0 && around.last == $0 } ?? false))
    if let template = chat?["chat_template"]?.string { add("chat_template", .text(template)) }
  }
}
