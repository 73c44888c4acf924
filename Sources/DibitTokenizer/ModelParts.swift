internal import DibitJSON

/// The `model` of a tokenizer file with the table of its tokens, from which the models are made.
struct ModelParts {
  let field: TokenizerField
  let tokens: TokenTable
  let isModelToken: [Bool]
  /// The merges where they are not in the field.
  let merges: PairList?

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
      merges: try mergeTable(field.required("merges")),
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

extension ModelParts {
  /// Reads `"a b"` strings or `["a", "b"]` pairs; all of their tokens and results must be in the vocabulary.
  private func mergeTable(_ field: TokenizerField) throws(TokenizerError) -> MergeTable {
    if let merges { return MergeTable(try resolved(merges)) }
    guard let array = field.value.array else { throw .wrongType(path: field.path, expected: "an array", found: field.value.kind) }
    var result: [MergeTable.Merge] = []
    result.reserveCapacity(array.count)
    for value in array {
      if let line = value.string, line.utf8.starts(with: "#version".utf8) { continue }
      guard let (left, right) = Self.pair(value) else { throw .malformedMerge(rank: result.count) }
      let bytes = Array(left.utf8) + Array(right.utf8)
      try append(bytes, 0..<left.utf8.count, left.utf8.count..<bytes.count, (-1, -1), to: &result)
    }
    return MergeTable(result)
  }

  /// The merges of pairs.
  private func resolved(_ pairs: PairList) throws(TokenizerError) -> [MergeTable.Merge] {
    var result: [MergeTable.Merge] = []
    result.reserveCapacity(pairs.count)
    // A few at a time, so that the table's slots come from memory side by side.
    let chunk = 128
    var suggestions = [(left: Int32, right: Int32)](repeating: (-1, -1), count: chunk)
    for start in stride(from: 0, to: pairs.count, by: chunk) {
      let indices = start..<min(start + chunk, pairs.count)
      for index in indices {
        let (left, right) = pairs.ranges(index)
        suggestions[index - start] = (tokens.suggestion(for: pairs.bytes, in: left), tokens.suggestion(for: pairs.bytes, in: right))
      }
      for index in indices {
        let (left, right) = pairs.ranges(index)
        try append(pairs.bytes, left, right, suggestions[index - start], to: &result)
      }
    }
    return result
  }

  /// Appends the merge of two tokens whose spellings lie side by side.
  private func append(
    _ bytes: [UInt8], _ left: Range<Int>, _ right: Range<Int>, _ suggestions: (left: Int32, right: Int32),
    to merges: inout [MergeTable.Merge]
  ) throws(TokenizerError) {
    func id(_ range: Range<Int>, _ suggestion: Int32) throws(TokenizerError) -> Int32 {
      guard let id = tokens.id(of: bytes, in: range, suggestion: suggestion), isModelToken[Int(id)] else {
        throw .unknownMergeToken(rank: merges.count, token: String(decoding: bytes[range], as: UTF8.self))
      }
      return id
    }
    let leftID = try id(left, suggestions.left)
    let rightID = try id(right, suggestions.right)
    let result = left.lowerBound..<right.upperBound
    // Files list merges in the order of their results.
    let last = merges.last?.result ?? -1
    for guess in last...last + 1 where tokens.isSpelled(guess, bytes, result) && isModelToken[Int(guess)] {
      return merges.append(MergeTable.Merge(left: leftID, right: rightID, result: guess))
    }
    merges.append(MergeTable.Merge(left: leftID, right: rightID, result: try id(result, -1)))
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
