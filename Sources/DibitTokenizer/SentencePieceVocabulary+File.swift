internal import DibitJSON

// The tokenizer.json of a scored vocabulary: the components that come nearest in Hugging Face's library, and under
// `model.sentencepiece` what makes the difference.

extension SentencePieceVocabulary {
  /// The file without vocabulary and merges.
  func file(unknown: Int32, hasByteFallback: Bool) -> JSONObject {
    let unknownText = text(Int(unknown))
    var model: [(key: String, value: JSONValue)]
    switch kind {
    case .bytePair:
      model = [
        ("type", "BPE"), ("dropout", .null), ("unk_token", .string(unknownText)), ("continuing_subword_prefix", .null),
        ("end_of_word_suffix", .null), ("fuse_unk", true), ("byte_fallback", .bool(hasByteFallback)), ("ignore_merges", false),
        ("vocab", .object(JSONObject())), ("merges", .array([])),
      ]
    case .unigram:
      model = [
        ("type", "Unigram"), ("unk_id", .integer(Int(unknown))), ("vocab", .array([])), ("byte_fallback", .bool(hasByteFallback)),
      ]
    }
    model.append(("sentencepiece", extras))
    return JSONObject([
      ("version", "1.0"), ("truncation", .null), ("padding", .null), ("added_tokens", .array(addedTokens)),
      ("normalizer", normalizerFile), ("pre_tokenizer", .null), ("post_processor", postProcessor),
      ("decoder", decoder(hasByteFallback: hasByteFallback)), ("model", .object(JSONObject(model))),
    ])
  }

  private func text(_ id: Int) -> String { String(decoding: pieces[id].text, as: UTF8.self) }

  private var extras: JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      ("add_dummy_prefix", .bool(normalizer.addsDummyPrefix)),
      ("remove_extra_whitespaces", .bool(normalizer.removesExtraSpaces)),
      ("escape_whitespaces", .bool(normalizer.escapesSpaces)),
      ("merges_unknown_scalars", .bool(mergesUnknownScalars)),
      ("types", .array(pieces.map { .integer($0.type.rawValue) })),
    ]
    if kind == .bytePair { members.append(("scores", .array(pieces.map { .number(Double($0.score)) }))) }
    return .object(JSONObject(members))
  }

  private var addedTokens: [JSONValue] {
    pieces.indices.filter { [.unknown, .control, .userDefined].contains(pieces[$0].type) }.map { id in
      [
        "id": .integer(id), "content": .string(text(id)), "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": .bool(pieces[id].type != .userDefined),
      ]
    }
  }

  private var normalizerFile: JSONValue {
    let mark = normalizer.escapesSpaces ? "\u{2581}" : " "
    var steps: [JSONValue] = []
    func replace(_ regex: String, _ content: String) {
      steps.append(["type": "Replace", "pattern": ["Regex": .string(regex)], "content": .string(content)])
    }
    if let map = normalizer.map { steps.append(["type": "Precompiled", "precompiled_charsmap": .string(Base64.encoded(map.bytes))]) }
    if normalizer.removesExtraSpaces {
      replace(" {2,}", " ")
      replace("\\A +", "")
      replace(normalizer.escapesSpaces ? "[ \u{2581}]+\\z" : " +\\z", "")
    }
    if normalizer.addsDummyPrefix { steps.append(["type": "Prepend", "prepend": .string(mark)]) }
    if normalizer.escapesSpaces {
      steps.append(["type": "Replace", "pattern": ["String": " "], "content": .string(mark)])
    }
    return steps.isEmpty ? .null : ["type": "Sequence", "normalizers": .array(steps)]
  }

  private func decoder(hasByteFallback: Bool) -> JSONValue {
    var steps: [JSONValue] = []
    if normalizer.escapesSpaces { steps.append(["type": "Replace", "pattern": ["String": "\u{2581}"], "content": " "]) }
    if hasByteFallback { steps.append(["type": "ByteFallback"]) }
    steps.append(["type": "Fuse"])
    if normalizer.addsDummyPrefix { steps.append(["type": "Strip", "content": " ", "start": 1, "stop": 0]) }
    return ["type": "Sequence", "decoders": .array(steps)]
  }

  private var postProcessor: JSONValue {
    if prefix.isEmpty, suffix.isEmpty { return .null }
    func special(_ ids: [Int32]) -> [JSONValue] {
      ids.map { id in ["SpecialToken": ["id": .string(text(Int(id))), "type_id": 0]] }
    }
    func sequence(_ name: String, _ type: Int) -> [JSONValue] { [["Sequence": ["id": .string(name), "type_id": .integer(type)]]] }
    let single: [JSONValue] = special(prefix) + sequence("A", 0) + special(suffix)
    var tokens: [(key: String, value: JSONValue)] = []
    for id in Set(prefix + suffix).sorted() {
      tokens.append(
        (text(Int(id)), ["id": .string(text(Int(id))), "ids": [.integer(Int(id))], "tokens": [.string(text(Int(id)))]]))
    }
    return [
      "type": "TemplateProcessing", "single": .array(single), "pair": .array(single + sequence("B", 1)),
      "special_tokens": .object(JSONObject(tokens)),
    ]
  }

  /// Reads a file with `model.sentencepiece`.
  init(_ file: TokenizerField) throws(TokenizerError) {
    let model = try file.required("model")
    let extras = try model.required("sentencepiece")
    let types = try extras.required("types").elements()
    kind = try model.isUnigram() ? .unigram : .bytePair
    pieces = []
    if kind == .unigram {
      for (entry, score) in try model.required("vocab").pieces() {
        pieces.append(Piece(text: entry.spelling, score: Float(score), type: .normal))
      }
    } else {
      let scores = try extras.required("scores").elements()
      let vocabulary = try model.required("vocab").vocabulary()
      guard scores.count == vocabulary.count else { throw .contradiction(path: "model.vocab") }
      pieces = Array(repeating: Piece(text: [], score: 0, type: .normal), count: vocabulary.count)
      for (index, id) in vocabulary.ids.enumerated() {
        guard pieces.indices.contains(Int(id)) else { throw .contradiction(path: "model.vocab") }
        pieces[Int(id)].text = Array(vocabulary.bytes[vocabulary.range(index)])
      }
      for (id, score) in scores.enumerated() {
        guard let value = score.value.double else { throw .malformedPiece(index: id) }
        pieces[id].score = Float(value)
      }
    }
    guard types.count == pieces.count else { throw .contradiction(path: "model.vocab") }
    for (id, field) in types.enumerated() {
      guard let type = PieceType(rawValue: try field.integer()) else { throw field.unsupportedValue }
      pieces[id].type = type
    }
    normalizer = SentencePieceNormalizer()
    normalizer.addsDummyPrefix = try extras.required("add_dummy_prefix").bool()
    normalizer.removesExtraSpaces = try extras.required("remove_extra_whitespaces").bool()
    normalizer.escapesSpaces = try extras.required("escape_whitespaces").bool()
    mergesUnknownScalars = try extras.required("merges_unknown_scalars").bool()
    if let steps = try file.optional("normalizer")?.optional("normalizers")?.elements() {
      for step in steps where try step.type() == "Precompiled" { normalizer.map = try step.characterMap() }
    }
  }
}

extension Tokenizer {
  /// Merges as a file lists them.
  func listed(_ merges: MergeTable) -> [JSONValue] {
    merges.merges.map { merge in .array([.string(token(of: merge.left) ?? ""), .string(token(of: merge.right) ?? "")]) }
  }
}
