internal import DibitJSON

/// The `model` of a tokenizer file with the table of its tokens, from which the models are made.
struct ModelParts {
  let field: TokenizerField
  let tokens: TokenTable
  let isModelToken: [Bool]

  private func modelID(_ token: String) -> Int32? {
    tokens.id(of: Array(token.utf8)).flatMap { isModelToken[Int($0)] ? $0 : nil }
  }

  func bytePair(isByteLevel: Bool) throws(TokenizerError) -> BytePairModel {
    var unknownID: Int32?
    if let unknown = try field.optional("unk_token") {
      let token = try unknown.string()
      guard let id = modelID(token) else { throw .unknownToken(path: unknown.path, token: token) }
      unknownID = id
    }
    return BytePairModel(
      tokens: tokens,
      isModelToken: isModelToken,
      merges: try MergeTable(field.required("merges"), id: modelID),
      isByteLevel: isByteLevel,
      unknownID: unknownID,
      fusesUnknown: try field.bool("fuse_unk", default: false),
      ignoresMerges: try field.bool("ignore_merges", default: false),
      hasByteFallback: try field.bool("byte_fallback", default: false))
  }

  func unigram(scores: [Double], isByteLevel: Bool) throws(TokenizerError) -> UnigramModel {
    // Pieces of bytes would be looked up in their stand-ins.
    if isByteLevel { throw try field.unsupportedType() }
    let unknown = try field.required("unk_id")
    let id = try unknown.integer()
    guard scores.indices.contains(id) else { throw .unknownToken(path: unknown.path, token: String(id)) }
    let read = scores.map(SerdeNumber.reading)
    var fallbackIDs: [Int32?]?
    if try field.bool("byte_fallback", default: false) {
      fallbackIDs = (0..<256).map { modelID(String(decoding: BytePairModel.fallbackSpelling(UInt8($0)), as: UTF8.self)) }
    }
    return UnigramModel(
      tokens: tokens, isModelToken: isModelToken, scores: read, lowestScore: read.min() ?? 0, unknownID: Int32(id),
      fallbackIDs: fallbackIDs, isSinglePrecision: false, listedScores: scores, isFound: { _ in true })
  }
}

extension MergeTable {
  /// Reads `"a b"` strings or `["a", "b"]` pairs; all of their tokens and results must be in the vocabulary.
  fileprivate init(_ field: TokenizerField, id: (String) -> Int32?) throws(TokenizerError) {
    guard let array = field.value.array else { throw .wrongType(path: field.path, expected: "an array", found: field.value.kind) }
    var merges: [Merge] = []
    merges.reserveCapacity(array.count)
    for value in array {
      if let line = value.string, line.utf8.starts(with: "#version".utf8) { continue }
      let rank = merges.count
      guard let (left, right) = Self.pair(value) else { throw .malformedMerge(rank: rank) }
      guard let leftID = id(left) else { throw .unknownMergeToken(rank: rank, token: left) }
      guard let rightID = id(right) else { throw .unknownMergeToken(rank: rank, token: right) }
      guard let result = id(left + right) else { throw .unknownMergeToken(rank: rank, token: left + right) }
      merges.append(Merge(left: leftID, right: rightID, result: result))
    }
    self.init(merges)
  }

  private static func pair(_ value: JSONValue) -> (String, String)? {
    if let line = value.string {
      let parts = line.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      guard parts.count == 2, let left = String(parts[0]), let right = String(parts[1]) else { return nil }
      return (left, right)
    }
    guard let parts = value.array, parts.count == 2, let left = parts[0].string, let right = parts[1].string else { return nil }
    return (left, right)
  }
}
