package import DibitJSON

extension Tokenizer {
  /// Ids must be below this, so that a damaged file cannot ask for huge tables.
  static let idLimit = 1 << 24

  /// Reads the bytes of a Hugging Face `tokenizer.json` with a BPE model.
  ///
  /// - Throws: ``TokenizerError`` for a file that is malformed, contradicts itself, or asks for something that would change ids
  ///   and that this library does not have.
  package init(parsing bytes: [UInt8]) throws(TokenizerError) {
    if let file = TokenizerFile(reading: bytes), let tokenizer = try? Tokenizer(file) {
      self = tokenizer
      return
    }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: bytes) } catch { throw .json(error) }
    try self.init(parsing: value)
  }

  /// Reads a parsed `tokenizer.json`.
  package init(parsing value: JSONValue) throws(TokenizerError) { try self.init(TokenizerFile(value)) }

  private init(_ source: TokenizerFile) throws(TokenizerError) {
    let file = TokenizerField(value: source.value, path: "")
    // Truncation and padding say how batches were made where the file was saved, not what a text's tokens are: left to the caller.
    let modelField = try file.required("model")
    if try modelField.optional("sentencepiece") != nil {
      self = try Self.sentencePiece(file)
      return
    }
    let isUnigram = try modelField.isUnigram()
    let preTokenizer = try PreTokenizer(file.optional("pre_tokenizer"))
    let normalizer = try Normalizer(file.optional("normalizer"))
    if normalizer.growth > Normalizer.growthLimit, let field = try file.optional("normalizer") { throw field.unsupportedValue }
    if preTokenizer.marksStart, normalizer.mayMoveStart || (preTokenizer.removesBeforeStart && !normalizer.steps.isEmpty),
      let field = try file.optional("pre_tokenizer")
    {
      throw field.unsupportedValue
    }

    let vocabularyField = try modelField.required("vocab")
    let pieces = isUnigram ? try vocabularyField.pieces() : []
    let vocabulary: TokenList
    if isUnigram { vocabulary = TokenList(pieces.map(\.entry)) } else { vocabulary = try vocabularyField.vocabulary(source.vocabulary) }
    let added = try file.optional("added_tokens").map { field throws(TokenizerError) in try field.addedTokens() } ?? []
    let tokens = try Self.table(vocabulary: vocabulary, source.table, added: added)
    var isModelToken = [Bool](repeating: false, count: tokens.count)
    for id in vocabulary.ids { isModelToken[Int(id)] = true }
    let parts = ModelParts(field: modelField, tokens: tokens, isModelToken: isModelToken, merges: source.merges)
    self.init(
      model: isUnigram
        ? .unigram(try parts.unigram(scores: pieces.map(\.score), isByteLevel: preTokenizer.isByteLevel))
        : .bytePair(try parts.bytePair(isByteLevel: preTokenizer.isByteLevel)),
      normalizer: normalizer,
      preTokenizer: preTokenizer,
      postProcessor: try PostProcessor(file.optional("post_processor"), tokens: tokens),
      decoder: try TokenDecoder(file.optional("decoder")),
      addedTokens: added,
      header: source.header)
  }

  /// One table of the model's tokens and the added ones, whose ids must agree and be distinct; `table` is that of the vocabulary
  /// where it was made already.
  static func table(vocabulary: TokenList, _ table: TokenTable? = nil, added: [AddedToken]) throws(TokenizerError) -> TokenTable {
    // Added tokens are few: entries that begin like one of them are looked up, and not the other way round.
    let own = TokenTable(TokenList(added.enumerated().map { ($1.content, Int32($0)) }))
    if let index = own.repeated { throw .duplicateAddedToken(String(decoding: added[Int(index)].content, as: UTF8.self)) }
    var startsOwn = [Bool](repeating: false, count: 256)
    for token in added { if let first = token.content.first { startsOwn[Int(first)] = true } }
    var isNew = [Bool](repeating: true, count: added.count)
    for entry in 0..<vocabulary.count {
      let range = vocabulary.range(entry)
      guard !range.isEmpty, startsOwn[Int(vocabulary.bytes[range.lowerBound])] else { continue }
      guard let index = own.id(of: vocabulary.bytes, in: range) else { continue }
      let (id, other) = (vocabulary.ids[entry], added[Int(index)].id)
      guard id == other else { throw .conflictingID(token: vocabulary.text(entry), vocabulary: Int(id), added: Int(other)) }
      isNew[Int(index)] = false
    }
    let new = zip(added, isNew).filter(\.1).map(\.0)
    let limit = idLimit(for: vocabulary.count + new.count)
    if let index = vocabulary.ids.firstIndex(where: { $0 >= limit }) {
      throw .idOutOfRange(token: vocabulary.text(index), id: Int(vocabulary.ids[index]), limit: limit)
    }
    if let token = new.first(where: { $0.id >= limit }) {
      throw .idOutOfRange(token: String(decoding: token.content, as: UTF8.self), id: Int(token.id), limit: limit)
    }
    if table == nil, let (first, second) = vocabulary.sharedID {
      throw .duplicateID(Int(vocabulary.ids[second]), first: vocabulary.text(first), second: vocabulary.text(second))
    }
    var table = table ?? TokenTable(vocabulary)
    for token in new {
      if let other = table.spelling(of: token.id) {
        throw .duplicateID(
          Int(token.id), first: String(decoding: other, as: UTF8.self), second: String(decoding: token.content, as: UTF8.self))
      }
      table.append(token.content, id: token.id)
    }
    if let id = table.repeated, let spelling = table.spelling(of: id), let first = table.id(of: Array(spelling)) {
      throw .duplicatePiece(String(decoding: spelling, as: UTF8.self), first: Int(first), second: Int(id))
    }
    return table
  }

  /// Tables have a row for every id, so ids may not run far ahead of the tokens that the file has.
  static func idLimit(for tokens: Int) -> Int { min(idLimit, tokens * 8 + 65536) }
}

extension TokenizerField {
  /// Returns true for a unigram model; checks the type and the options of the other kind.
  func isUnigram() throws(TokenizerError) -> Bool {
    let type = try optional("type")?.string()
    if type == "Unigram" { return true }
    if type != nil, type != "BPE" { throw try unsupportedType() }
    if let dropout = try optional("dropout"), dropout.value.double != 0 { throw dropout.unsupportedValue }
    for key in ["continuing_subword_prefix", "end_of_word_suffix"] {
      if let field = try optional(key), try !field.string().isEmpty { throw field.unsupportedValue }
    }
    return false
  }

  /// The pieces of a unigram vocabulary; their ids are their indices.
  func pieces() throws(TokenizerError) -> [(entry: (spelling: [UInt8], id: Int32), score: Double)] {
    guard let array = value.array else { throw .wrongType(path: path, expected: "an array", found: value.kind) }
    guard array.count <= Tokenizer.idLimit else {
      throw .idOutOfRange(token: "the last token", id: array.count - 1, limit: Tokenizer.idLimit)
    }
    var pieces: [(entry: (spelling: [UInt8], id: Int32), score: Double)] = []
    pieces.reserveCapacity(array.count)
    var seen: [[UInt8]: Int] = [:]
    for (index, value) in array.enumerated() {
      guard let pair = value.array, pair.count == 2, let text = pair[0].string, let score = pair[1].double, score.isFinite else {
        throw .malformedPiece(index: index)
      }
      let spelling = Array(text.utf8)
      if let first = seen.updateValue(index, forKey: spelling) { throw .duplicatePiece(text, first: first, second: index) }
      pieces.append(((spelling, Int32(index)), score))
    }
    return pieces
  }

  /// The vocabulary of a byte-pair model, unless it was read already.
  func vocabulary(_ list: TokenList? = nil) throws(TokenizerError) -> TokenList {
    if let list { return list }
    var list = TokenList()
    for (token, value) in try members() {
      let field = TokenizerField(value: value, path: path.isEmpty ? token : "\(path).\(token)")
      list.append(token.utf8, id: try field.tokenID(of: token))
    }
    return list
  }

  func addedTokens() throws(TokenizerError) -> [AddedToken] {
    var tokens: [AddedToken] = []
    for field in try elements() {
      let text = try field.required("content").string()
      let id = try field.required("id").tokenID(of: text)
      if text.isEmpty { throw .emptyAddedToken(id: Int(id)) }
      let isSpecial = try field.bool("special", default: false)
      tokens.append(
        AddedToken(
          id: id,
          content: Array(text.utf8),
          isSpecial: isSpecial,
          stripsLeft: try field.bool("lstrip", default: false),
          stripsRight: try field.bool("rstrip", default: false),
          isSingleWord: try field.bool("single_word", default: false),
          isNormalized: try field.bool("normalized", default: !isSpecial)))
    }
    return tokens
  }

  private func tokenID(of token: String) throws(TokenizerError) -> Int32 {
    let id = try integer()
    guard id >= 0, id < Tokenizer.idLimit else { throw .idOutOfRange(token: token, id: id, limit: Tokenizer.idLimit) }
    return Int32(id)
  }
}
