internal import DibitJSON

extension Tokenizer {
  /// Reads a SentencePiece model: the bytes of a `tokenizer.model` of kind BPE or UNIGRAM.
  ///
  /// The ids of ``encode(_:addingSpecialTokens:parsingSpecialTokens:)`` without special tokens are SentencePiece's own on any text.
  /// ``serialized()`` gives the file that Hugging Face's library needs, with what it has no words for under `model.sentencepiece`, so that
  /// reading it back here gives the same ids. That library ignores the addition and has ids of its own for a few texts: combining
  /// sequences that the model's character map changes, text beside user-defined pieces, and, in unigram models with byte fallback, text
  /// that is spelled like `<0x0A>`.
  ///
  /// - Parameters:
  ///   - bytes: The file.
  ///   - addsBeginning: Puts the token for the start of a text, if the model has one, before the ids, as Llama's tokenizer does.
  ///   - addsEnd: Puts the token for the end of a text after the ids, as T5's tokenizer does.
  /// - Throws: ``TokenizerError`` for a file that is damaged, or that asks for what this library does not have.
  package init(sentencePiece bytes: [UInt8], addingBeginning addsBeginning: Bool = false, addingEnd addsEnd: Bool = false)
    throws(TokenizerError)
  {
    var file = SentencePieceModelFile()
    try file.read(bytes)
    try self.init(try file.vocabulary(addingBeginning: addsBeginning, addingEnd: addsEnd))
  }

  init(_ vocabulary: SentencePieceVocabulary) throws(TokenizerError) {
    let (unknown, bytes) = try vocabulary.checked()
    let file = vocabulary.file(unknown: unknown, hasByteFallback: bytes != nil)
    let field = TokenizerField(value: .object(file), path: "")
    let tokens = TokenTable(vocabulary.list())
    let added = try field.required("added_tokens").addedTokens()
    try self.init(
      vocabulary, unknown: unknown, bytes: bytes, tokens: tokens, added: added,
      postProcessor: PostProcessor(prefix: vocabulary.prefix, suffix: vocabulary.suffix),
      decoder: TokenDecoder(field.optional("decoder")), header: file)
  }

  private init(
    _ vocabulary: SentencePieceVocabulary, unknown: Int32, bytes: [Int32?]?, tokens: TokenTable, added: [AddedToken],
    postProcessor: PostProcessor, decoder: TokenDecoder, header: JSONObject
  ) throws(TokenizerError) {
    let isModelToken = (0..<tokens.count).map { $0 < vocabulary.pieces.count }
    let model: TokenModel
    switch vocabulary.kind {
    case .bytePair:
      let (merges, symbols) = try vocabulary.merges()
      model = .bytePair(
        BytePairModel(
          tokens: tokens, isModelToken: isModelToken, merges: merges, isByteLevel: false, unknownID: unknown, fusesUnknown: true,
          ignoresMerges: false, hasByteFallback: bytes != nil, scored: symbols))
    case .unigram:
      let (scores, lowest) = vocabulary.unigramScores()
      model = .unigram(
        UnigramModel(
          tokens: tokens, isModelToken: isModelToken, scores: scores, lowestScore: lowest, unknownID: unknown, fallbackIDs: bytes,
          isSinglePrecision: true, listedScores: vocabulary.pieces.map { Double($0.score) },
          isFound: { vocabulary.isFound(Int($0)) }))
    }
    var trie: ByteTrie?
    var verbatimIDs = Set<Int32>()
    for (id, piece) in vocabulary.pieces.enumerated() where piece.type == .userDefined {
      if trie == nil { trie = ByteTrie() }
      trie?.insert(piece.text[...], Int32(id))
      verbatimIDs.insert(Int32(id))
    }
    let verbatim = trie.map { Normalizer.VerbatimTrie(trie: $0) }
    var preTokenizer = PreTokenizer()
    // Only byte pairs are cut at user-defined pieces; a unigram model finds them by their scores.
    if vocabulary.kind == .bytePair, let verbatim { preTokenizer.steps.append(.verbatim(verbatim)) }
    self.init(
      model: model, normalizer: Normalizer(steps: [.sentencePiece(vocabulary.normalizer, verbatim: verbatim)]),
      preTokenizer: preTokenizer, postProcessor: postProcessor, decoder: decoder, addedTokens: added, header: header,
      verbatimIDs: verbatimIDs)
  }

  /// Reads back what ``serialized()`` wrote of such a tokenizer. The parts that restate the vocabulary must agree with it.
  static func sentencePiece(_ file: TokenizerField) throws(TokenizerError) -> Tokenizer {
    let vocabulary = try SentencePieceVocabulary(file)
    let (unknown, bytes) = try vocabulary.checked()
    let added = try file.optional("added_tokens").map { field throws(TokenizerError) in try field.addedTokens() } ?? []
    let tokens = try table(vocabulary: vocabulary.list(), added: added)
    let result = try Tokenizer(
      vocabulary, unknown: unknown, bytes: bytes, tokens: tokens, added: added,
      postProcessor: try PostProcessor(file.optional("post_processor"), tokens: tokens),
      decoder: try TokenDecoder(file.optional("decoder")), header: TokenizerFile(file.value).header)
    let expected = vocabulary.file(unknown: unknown, hasByteFallback: bytes != nil)
    for key in ["normalizer", "pre_tokenizer"] where (file.value[key] ?? .null) != (expected[key] ?? .null) {
      throw .contradiction(path: key)
    }
    let model = try file.required("model")
    for key in ["unk_token", "unk_id", "byte_fallback", "fuse_unk", "ignore_merges"]
    where (model.value[key] ?? .null) != (expected["model"]?[key] ?? .null) { throw .contradiction(path: "model.\(key)") }
    guard case .bytePair(let made) = result.model else { return result }
    guard try model.required("merges").value == .array(result.listed(made.merges)) else { throw .contradiction(path: "model.merges") }
    return result
  }
}
