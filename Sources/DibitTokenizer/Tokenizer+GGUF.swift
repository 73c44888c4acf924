internal import DibitJSON

extension Tokenizer {
  /// The tokenizer that a GGUF file describes.
  ///
  /// - Throws: ``TokenizerError`` for a vocabulary that contradicts itself, or of a kind or with a pattern that this library does not
  ///   know; nothing is guessed.
  package init(gguf vocabulary: GGUFVocabulary) throws(TokenizerError) {
    let count = vocabulary.tokens.count
    guard count <= Self.idLimit else { throw .idOutOfRange(token: "the last token", id: count - 1, limit: Self.idLimit) }
    for (name, length) in [("scores", vocabulary.scores?.count), ("token_type", vocabulary.tokenTypes?.count)] {
      guard let length, length != count else { continue }
      throw .unsupportedValue(path: "tokenizer.ggml.\(name)", value: "\(length) values for \(count) tokens")
    }
    switch vocabulary.model {
    case "llama": try self.init(vocabulary.sentencePiece(.bytePair))
    case "t5": try self.init(vocabulary.sentencePiece(.unigram))
    case "gpt2": try self.init(parsing: vocabulary.byteLevelFile())
    default: throw .unsupportedType(path: "tokenizer.ggml.model", type: vocabulary.model)
    }
  }
}

extension GGUFVocabulary {
  private func checked(_ id: Int?, _ key: String) throws(TokenizerError) -> Int {
    guard let id else { throw .missing(path: "tokenizer.ggml.\(key)") }
    guard tokens.indices.contains(id) else { throw .unknownToken(path: "tokenizer.ggml.\(key)", token: String(id)) }
    return id
  }

  private func type(_ id: Int) throws(TokenizerError) -> SentencePieceVocabulary.PieceType {
    guard let tokenTypes else { return .normal }
    guard let type = SentencePieceVocabulary.PieceType(rawValue: tokenTypes[id]) else {
      throw .unusablePiece(index: id, reason: "its type is \(tokenTypes[id])")
    }
    return type
  }

  /// A vocabulary with scores. llama.cpp adds the start of a text to `llama` vocabularies, and its end to `t5` ones, where the file
  /// does not say otherwise.
  fileprivate func sentencePiece(_ kind: SentencePieceVocabulary.Kind) throws(TokenizerError) -> SentencePieceVocabulary {
    guard let scores else { throw .missing(path: "tokenizer.ggml.scores") }
    guard tokenTypes != nil else { throw .missing(path: "tokenizer.ggml.token_type") }
    var pieces: [SentencePieceVocabulary.Piece] = []
    pieces.reserveCapacity(tokens.count)
    for id in tokens.indices {
      pieces.append(SentencePieceVocabulary.Piece(text: tokens[id], score: scores[id], type: try type(id)))
    }
    if let unknownID {
      let id = try checked(unknownID, "unknown_token_id")
      // Files of Gemma 3 have it among the control tokens.
      if pieces[id].type == .control { pieces[id].type = .unknown }
      guard pieces[id].type == .unknown else {
        throw .unusablePiece(index: id, reason: "it is the unknown token, but its type is \(pieces[id].type.rawValue)")
      }
    }
    var normalizer = SentencePieceNormalizer()
    if kind == .unigram {
      // For byte pairs llama.cpp knows what a silent file means; for unigrams the file must say it.
      guard addsSpacePrefix != nil else { throw .missing(path: "tokenizer.ggml.add_space_prefix") }
      guard removesExtraSpaces != nil else { throw .missing(path: "tokenizer.ggml.remove_extra_whitespaces") }
    }
    normalizer.addsDummyPrefix = addsSpacePrefix ?? true
    normalizer.removesExtraSpaces = removesExtraSpaces ?? false
    if let characterMap, !characterMap.isEmpty {
      do throws(CharacterMap.Fault) { normalizer.map = try CharacterMap(characterMap) } catch {
        throw .invalidCharacterMap(path: "tokenizer.ggml.precompiled_charsmap", reason: error.reason)
      }
    }
    var result = SentencePieceVocabulary(kind: kind, pieces: pieces, normalizer: normalizer)
    if addsBeginning ?? (kind == .bytePair) { result.prefix = [Int32(try checked(beginningID, "bos_token_id"))] }
    if addsEnd ?? (kind == .unigram) { result.suffix = [Int32(try checked(endID, "eos_token_id"))] }
    return result
  }

  // MARK: Byte pairs of bytes

  private func text(_ id: Int) throws(TokenizerError) -> String {
    guard let text = String(validating: tokens[id], as: UTF8.self), !text.isEmpty else {
      throw .unusablePiece(index: id, reason: "it is no UTF-8 text")
    }
    return text
  }

  /// The tokenizer.json of a `gpt2` vocabulary.
  fileprivate func byteLevelFile() throws(TokenizerError) -> JSONValue {
    guard let merges else { throw .missing(path: "tokenizer.ggml.merges") }
    let kind = try preTokenizer()
    var added: [JSONValue] = []
    var vocabulary: [(key: String, value: JSONValue)] = []
    var seen: [[UInt8]: Int] = [:]
    for id in tokens.indices {
      let text = try text(id)
      if let first = seen.updateValue(id, forKey: tokens[id]) { throw .duplicatePiece(text, first: first, second: id) }
      switch try type(id) {
      case .normal: vocabulary.append((text, .integer(id)))
      case .byte: throw .unusablePiece(index: id, reason: "a vocabulary of bytes has no tokens of type byte")
      // Rows that pad the vocabulary: no text becomes them, but they are tokens.
      case .unused: vocabulary.append((text, .integer(id)))
      case .control, .unknown, .userDefined:
        added.append([
          "id": .integer(id), "content": .string(text), "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
          "special": .bool(try type(id) != .userDefined),
        ])
      }
    }
    var lines: [JSONValue] = []
    lines.reserveCapacity(merges.count)
    for (rank, merge) in merges.enumerated() {
      guard let line = String(validating: merge, as: UTF8.self), let space = line.utf8.dropFirst().firstIndex(of: 0x20) else {
        throw .malformedMerge(rank: rank)
      }
      lines.append(.array([.string(String(line[..<space])), .string(String(line[line.utf8.index(after: space)...]))]))
    }
    return [
      "version": "1.0", "truncation": .null, "padding": .null, "added_tokens": .array(added), "normalizer": .null,
      "pre_tokenizer": kind.file, "post_processor": try postProcessor(),
      "decoder": ["type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true],
      "model": [
        "type": "BPE", "dropout": .null, "unk_token": .null, "continuing_subword_prefix": .null, "end_of_word_suffix": .null,
        "fuse_unk": false, "byte_fallback": false, "ignore_merges": .bool(kind.ignoresMerges), "vocab": .object(JSONObject(vocabulary)),
        "merges": .array(lines),
      ],
    ]
  }

  private func postProcessor() throws(TokenizerError) -> JSONValue {
    var single: [JSONValue] = [["Sequence": ["id": "A", "type_id": 0]]]
    var special: [(key: String, value: JSONValue)] = []
    func add(_ id: Int, atStart: Bool) throws(TokenizerError) {
      let name = try text(id)
      single.insert(["SpecialToken": ["id": .string(name), "type_id": 0]], at: atStart ? 0 : single.count)
      if !special.contains(where: { $0.key.utf8.elementsEqual(name.utf8) }) {
        special.append((name, ["id": .string(name), "ids": [.integer(id)], "tokens": [.string(name)]]))
      }
    }
    if addsBeginning ?? beginsByDefault { try add(checked(beginningID, "bos_token_id"), atStart: true) }
    if addsEnd ?? false { try add(checked(endID, "eos_token_id"), atStart: false) }
    if special.isEmpty { return .null }
    return [
      "type": "TemplateProcessing", "single": .array(single), "pair": .array(single + [["Sequence": ["id": "B", "type_id": 1]]]),
      "special_tokens": .object(JSONObject(special)),
    ]
  }

  /// llama.cpp puts the start of a text before the ids of these kinds where the file says nothing.
  private var beginsByDefault: Bool { ["llama3", "llama-v3", "llama-bpe", "tekken"].contains(pre ?? "") }

  /// The cutting that each name means, as llama.cpp defines it.
  private func preTokenizer() throws(TokenizerError) -> (file: JSONValue, ignoresMerges: Bool) {
    let gpt2: JSONValue = ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true]
    func pattern(_ regexes: String...) -> JSONValue {
      let cuts: [JSONValue] = regexes.map { regex in
        ["type": "Split", "pattern": ["Regex": .string(regex)], "behavior": "Isolated", "invert": false]
      }
      let last: JSONValue = ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false]
      return ["type": "Sequence", "pretokenizers": .array(cuts + [last])]
    }
    switch pre ?? "" {
    case "gpt-2", "mpt", "olmo", "phi-2": return (gpt2, false)
    case "llama3", "llama-v3", "llama-bpe": return (pattern(SplitPattern.regex(of: .llama3)), true)
    case "dbrx", "smaug-bpe": return (pattern(SplitPattern.regex(of: .llama3)), false)
    case "qwen2", "deepseek-r1-qwen", "megrez", "stablelm2": return (pattern(SplitPattern.regex(of: .qwen2)), false)
    case "gpt-4o", "llama4": return (pattern(SplitPattern.regex(of: .o200k)), false)
    case "qwen35": return (pattern(SplitPattern.qwen35), false)
    case "deepseek-v3": return (pattern(SplitPattern.deepSeek[0], SplitPattern.deepSeek[1], SplitPattern.deepSeek[2]), false)
    case "tekken": return (pattern(SplitPattern.tekken), true)
    case "smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b":
      return (
        ["type": "Sequence", "pretokenizers": [["type": "Digits", "individual_digits": true], gpt2]], false
      )
    default: throw .unsupportedValue(path: "tokenizer.ggml.pre", value: pre.map { "'\($0.prefix(200))'" } ?? "missing")
    }
  }
}

extension GGUFVocabulary {
  /// The `tokenizer.ggml.pre` that means the cutting of a tokenizer of byte pairs of bytes; nil where llama.cpp has no name for it.
  package static func patternName(of tokenizer: Tokenizer) -> String? {
    let wanted = cuts(tokenizer.header["pre_tokenizer"] ?? .null)
    let ignoresMerges = tokenizer.header["model"]?["ignore_merges"]?.bool ?? false
    for name in ["gpt-2", "llama-bpe", "dbrx", "qwen2", "gpt-4o", "qwen35", "deepseek-v3", "tekken", "smollm"] {
      var vocabulary = GGUFVocabulary(model: "gpt2", tokens: [])
      vocabulary.pre = name
      guard let known = try? vocabulary.preTokenizer(), known.ignoresMerges == ignoresMerges else { continue }
      if cuts(known.file) == wanted { return name }
    }
    return nil
  }

  /// Returns the cuts of a pre-tokenizer, step by step; a step that only spells bytes does nothing to the cutting.
  private static func cuts(_ value: JSONValue) -> [String] {
    switch value["type"]?.string {
    case "Sequence": return (value["pretokenizers"]?.array ?? []).flatMap { cuts($0) }
    case "ByteLevel":
      let space = value["add_prefix_space"]?.bool == true ? ["space"] : []
      return space + (value["use_regex"]?.bool == false ? [] : ["bytes"])
    case "Split":
      let pattern = value["pattern"]?["Regex"]?.string ?? "text " + (value["pattern"]?["String"]?.string ?? "")
      return ["split \(value["behavior"]?.string ?? "") \(value["invert"]?.bool ?? false) \(pattern)"]
    case "Digits": return ["digits \(value["individual_digits"]?.bool ?? false)"]
    case let type?: return [type]
    case nil: return []
    }
  }
}
