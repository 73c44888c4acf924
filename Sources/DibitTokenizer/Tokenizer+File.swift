public import DibitJSON

extension Tokenizer {
  /// Ids must be below this, so that a damaged file cannot ask for huge tables.
  static let idLimit = 1 << 24

  /// Reads the bytes of a Hugging Face `tokenizer.json` with a BPE model.
  ///
  /// - Throws: ``TokenizerError`` for a file that is malformed, contradicts itself, or asks for something that would change ids
  ///   and that this library does not have.
  public init(parsing bytes: [UInt8]) throws(TokenizerError) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: bytes) } catch { throw .json(error) }
    try self.init(parsing: value)
  }

  /// Reads a parsed `tokenizer.json`.
  public init(parsing value: JSONValue) throws(TokenizerError) {
    let file = TokenizerField(value: value, path: "")
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
    let vocabulary = isUnigram ? pieces.map(\.entry) : try vocabularyField.vocabulary()
    let added = try file.optional("added_tokens").map { field throws(TokenizerError) in try field.addedTokens() } ?? []
    let tokens = try Self.table(vocabulary: vocabulary, added: added)
    var isModelToken = [Bool](repeating: false, count: tokens.count)
    for entry in vocabulary { isModelToken[Int(entry.id)] = true }
    let parts = ModelParts(field: modelField, tokens: tokens, isModelToken: isModelToken)
    self.init(
      model: isUnigram
        ? .unigram(try parts.unigram(scores: pieces.map(\.score), isByteLevel: preTokenizer.isByteLevel))
        : .bytePair(try parts.bytePair(isByteLevel: preTokenizer.isByteLevel)),
      normalizer: normalizer,
      preTokenizer: preTokenizer,
      postProcessor: try PostProcessor(file.optional("post_processor"), tokens: tokens),
      decoder: try TokenDecoder(file.optional("decoder")),
      addedTokens: added,
      header: Self.header(of: value))
  }

  /// One table of the model's tokens and the added ones, whose ids must agree and be distinct.
  static func table(
    vocabulary: [(spelling: [UInt8], id: Int32)], added: [AddedToken]
  ) throws(TokenizerError) -> TokenTable {
    var own: [[UInt8]: Int32] = [:]
    for token in added {
      guard own.updateValue(token.id, forKey: token.content) == nil else {
        throw .duplicateAddedToken(String(decoding: token.content, as: UTF8.self))
      }
    }
    // Added tokens are few: they are looked up for each entry, and not the other way round.
    for entry in vocabulary {
      guard let id = own[entry.spelling] else { continue }
      guard id == entry.id else {
        throw .conflictingID(token: String(decoding: entry.spelling, as: UTF8.self), vocabulary: Int(entry.id), added: Int(id))
      }
      own[entry.spelling] = nil
    }
    let entries = vocabulary + added.compactMap { own[$0.content] == nil ? nil : ($0.content, $0.id) }
    // Tables have a row for every id, so ids may not run far ahead of the tokens that the file has.
    let limit = min(idLimit, entries.count * 8 + 65536)
    if let entry = entries.first(where: { $0.id >= limit }) {
      throw .idOutOfRange(token: String(decoding: entry.spelling, as: UTF8.self), id: Int(entry.id), limit: limit)
    }
    var owners = [Int?](repeating: nil, count: entries.reduce(0) { max($0, Int($1.id) + 1) })
    for (place, entry) in entries.enumerated() {
      if let first = owners[Int(entry.id)] {
        throw .duplicateID(
          Int(entry.id), first: String(decoding: entries[first].spelling, as: UTF8.self),
          second: String(decoding: entry.spelling, as: UTF8.self))
      }
      owners[Int(entry.id)] = place
    }
    return TokenTable(entries)
  }

  /// The file with an empty vocabulary and no merges, which are written anew from the tables.
  static func header(of value: JSONValue) -> JSONObject {
    var header = value.object ?? JSONObject()
    if var model = header["model"]?.object {
      model["vocab"] = model["vocab"]?.array == nil ? .object(JSONObject()) : .array([])
      if model["merges"] != nil { model["merges"] = .array([]) }
      header["model"] = .object(model)
    }
    return header
  }
}

extension TokenizerField {
  /// Whether the model is a unigram model; checks the type and the options of the other kind.
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

  /// The pieces of a unigram vocabulary; their ids are their places.
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

  func vocabulary() throws(TokenizerError) -> [(spelling: [UInt8], id: Int32)] {
    var entries: [(spelling: [UInt8], id: Int32)] = []
    for (token, value) in try members() {
      let field = TokenizerField(value: value, path: path.isEmpty ? token : "\(path).\(token)")
      entries.append((Array(token.utf8), try field.tokenID(of: token)))
    }
    return entries
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
