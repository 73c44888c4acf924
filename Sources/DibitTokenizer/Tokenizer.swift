internal import DibitJSON

/// A tokenizer: text to ids and back, as the `tokenizer.json` of a model defines it.
///
/// Use this for byte-pair vocabularies of bytes (the GPT-2, Llama 3, Qwen and o200k kinds) or of SentencePiece (the Llama 2 and Gemma
/// kinds), and for unigram vocabularies (the T5 and XLM-R kinds). Every part of the file that would change ids is either applied or
/// refused with a ``TokenizerError``; nothing is ignored. The text is a `String`, so it is valid Unicode; `String(decoding:as:)` puts
/// U+FFFD for each maximal part of a scalar in damaged bytes, as Python's `errors="replace"` does.
package struct Tokenizer: Sendable {
  let model: TokenModel
  let normalizer: Normalizer
  let preTokenizer: PreTokenizer
  let postProcessor: PostProcessor
  let decoder: TokenDecoder
  let pieces: PieceTable
  let addedTokens: [AddedToken]
  /// The file without vocabulary and merges, for ``serialized()``.
  let header: JSONObject
  /// The tokens that stand for themselves and for no text.
  package let specialIDs: Set<Int32>
  /// The text of added tokens that the normaliser changes: what decoding starts from, as in Hugging Face's library.
  let respelled: [Int32: [UInt8]]
  private let rawMatcher: AddedTokenMatcher
  private let normalizedMatcher: AddedTokenMatcher

  init(
    model: TokenModel, normalizer: Normalizer, preTokenizer: PreTokenizer, postProcessor: PostProcessor, decoder: TokenDecoder,
    addedTokens: [AddedToken], header: JSONObject, verbatimIDs: Set<Int32> = []
  ) {
    self.model = model
    self.normalizer = normalizer
    self.preTokenizer = preTokenizer.cuttingBeforeMarks(for: model)
    self.postProcessor = postProcessor
    self.decoder = decoder
    self.addedTokens = addedTokens
    self.header = header
    var respelled: [Int32: [UInt8]] = [:]
    for token in addedTokens where token.isNormalized {
      let spelling = normalizer.apply(token.content).text
      if spelling != token.content { respelled[token.id] = spelling }
    }
    self.respelled = respelled
    pieces = PieceTable(tokens: model.tokens, respelled: respelled, decoder: decoder)
    specialIDs = Set(addedTokens.filter(\.isSpecial).map(\.id))
    // Of two tokens that are spelled alike after normalising, a special one is found first.
    // SentencePiece's user-defined pieces are found by its own pre-tokeniser.
    let ordered = (addedTokens.filter(\.isSpecial) + addedTokens.filter { !$0.isSpecial }).filter { !verbatimIDs.contains($0.id) }
    rawMatcher = AddedTokenMatcher(ordered.filter { !$0.isNormalized })
    normalizedMatcher = AddedTokenMatcher(
      ordered.filter(\.isNormalized).map { token in
        var token = token
        token.content = respelled[token.id] ?? token.content
        return token
      })
  }

  /// The highest id plus one, added tokens included: the rows that an embedding needs at least.
  package var vocabularyCount: Int { model.tokens.count }

  /// The id of the token spelled exactly like this in the file, or nil.
  package func id(of token: String) -> Int32? { model.tokens.id(of: Array(token.utf8)) }

  /// The spelling of the token in the file, or nil when no token has this id.
  package func token(of id: Int32) -> String? { model.tokens.spelling(of: id).map { String(decoding: $0, as: UTF8.self) } }

  /// Returns true for a control token, such as the end of a text.
  package func isSpecial(_ id: Int32) -> Bool { specialIDs.contains(id) }

  /// The token that stands for text outside the vocabulary, or nil when every text can be spelled.
  package var unknownToken: Int32? { model.unknownID }

  /// The bytes that a token contributes in the middle of a text; none when no token has this id.
  package func bytes(of id: Int32) -> [UInt8] { model.tokens.spelling(of: id) == nil ? [] : Array(pieces[id].bytes) }

  /// The ids of `text`.
  ///
  /// - Parameters:
  ///   - addingSpecialTokens: Adds what the file's post-processor adds, such as a token for the start of a text.
  ///   - parsingSpecialTokens: Finds special tokens that are spelled out in `text`. Without it they are encoded as the plain text
  ///     that they are, and no special token but the unknown token can come out of `text`: use that for text from users.
  /// - Complexity: O(n log n) in the bytes of `text`.
  package func encode(_ text: String, addingSpecialTokens: Bool = true, parsingSpecialTokens: Bool = true) -> [Int32] {
    let ids = encode(text, blocking: parsingSpecialTokens ? [] : specialIDs)
    return addingSpecialTokens ? postProcessor.prefix + ids + postProcessor.suffix : ids
  }

  /// The ids of `text`, without additions and without the ids in `blocked`.
  func encode(_ text: String, blocking blocked: Set<Int32>) -> [Int32] {
    let bytes = Array(text.utf8)
    var encoder = PieceEncoder(model: model, blocking: blocked)
    for outer in rawMatcher.segments(of: bytes, in: 0..<bytes.count, blocking: blocked) {
      if let id = outer.id {
        encoder.append(id)
        continue
      }
      let (normalized, isAtStart) =
        normalizer.steps.isEmpty ? (bytes, true) : normalizer.apply(Array(bytes[outer.range]), tracksStart: preTokenizer.marksStart)
      let range = normalizer.steps.isEmpty ? outer.range : 0..<normalized.count
      for inner in normalizedMatcher.segments(of: normalized, in: range, blocking: blocked) {
        if let id = inner.id {
          encoder.append(id)
          continue
        }
        let isFirst = isAtStart && outer.range.lowerBound == 0 && inner.range.lowerBound == range.lowerBound
        preTokenizer.forEachPiece(of: normalized, in: inner.range, isFirst: isFirst) { encoder.encode($0, $1) }
      }
    }
    return encoder.output
  }

  /// The text of `ids`; ids without a token add nothing, and bytes that are not UTF-8 become U+FFFD (see ``StreamDecoder``).
  package func decode(_ ids: some Sequence<Int32>, skippingSpecialTokens: Bool = true) -> String {
    var stream = streamDecoder(skippingSpecialTokens: skippingSpecialTokens)
    var text: [UInt8] = []
    for id in ids { stream.append(id, to: &text) }
    stream.flush(into: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// A decoder for ids that come one by one.
  package func streamDecoder(skippingSpecialTokens: Bool = true) -> StreamDecoder {
    StreamDecoder(tokenizer: self, skippingSpecialTokens: skippingSpecialTokens)
  }
}
